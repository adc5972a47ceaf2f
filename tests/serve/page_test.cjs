// The script of the page at "/", as the server gives it, with a document of a few lines: what it
// asks the server, and that what it shows is text.
//
// usage: node page_test.cjs TEXT_URL IMAGES_URL ROWS_URL
"use strict";

const assert = require("node:assert/strict");
const vm = require("node:vm");

const [text_url, images_url, rows_url] = process.argv.slice(2);
const HOSTILE = "<img src=x onerror=alert(1)>";
const CLASSES = Array.from({length: 10}, (_, place) => `${HOSTILE} ${place}`);

class Element {
  constructor(tag) {
    Object.assign(this, {tag, own: "", children: [], hidden: false, value: "", listeners: {}});
  }
  get textContent() {
    return this.own + this.children.map((child) => child.textContent ?? child).join("");
  }
  set textContent(text) {
    this.own = String(text);
    this.children = [];
  }
  set innerHTML(_) { assert.fail("innerHTML was set"); }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { [this.own, this.children] = ["", children]; }
  addEventListener(event, work) { (this.listeners[event] ??= []).push(work); }
  async fire(event, more = {}) {
    for (const work of this.listeners[event]) work({preventDefault() {}, ...more});
  }
  getContext() {
    return {fillRect() {}, putImageData() {}, drawImage(...given) { this.drawn = given; },
            getImageData: (_x, _y, width, height) => ({
              data: new Uint8ClampedArray(width * height * 4).map((_, i) => i % 4 === 3 ? 255 : i)})};
  }
}

// The page on a server, whose answers `change` may alter; `asked` are the bodies it was sent.
async function open(url, change = (_path, answer) => answer) {
  const page = {elements: {}, asked: [], title: ""};
  const element = (id) => page.elements[id] ??= new Element(id);
  const document = {
    getElementById: element, createElement: (tag) => new Element(tag),
    set title(text) { page.title = text; }};
  const ask = async (path, options) => {
    if (options?.body) page.asked.push(JSON.parse(options.body));
    return change(path, await fetch(url + path, options));
  };
  const script = await (await fetch(`${url}/page.js`)).text();
  vm.runInNewContext(script, {
    document, fetch: ask, AbortController, TextDecoderStream, Uint8ClampedArray,
    createImageBitmap: async () => ({width: 40, height: 20})});
  await until(() => page.elements.facts?.own.includes("parameters") || page.elements.problem?.own);
  return Object.assign(page, {element});
}

async function until(holds) {
  for (const deadline = Date.now() + 30000; !holds();) {
    assert.ok(Date.now() < deadline, `expected ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function texts_are_continued_as_the_server_says() {
  const page = await open(text_url);
  assert.equal(page.element("problem").own, "");
  const settings = {prompt: "<b>the ", max_tokens: "20", temperature: "0.5", top_p: "0.9",
                    seed: "7", stop: ""};
  for (const [id, value] of Object.entries(settings)) page.element(id).value = value;
  await page.element("text").fire("submit");
  await until(() => page.element("halt").disabled === true && page.asked.length === 1);
  const asked = {prompt: "<b>the ", max_tokens: 20, temperature: 0.5, top_p: 0.9, seed: 7};
  const answer = await fetch(`${text_url}/v1/completions`, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(asked)});
  const wanted = (await answer.json()).choices[0].text;
  await until(() => page.element("continued").textContent === `<b>the ${wanted}`);
  page.element("max_tokens").value = "0";
  await page.element("text").fire("submit");
  await until(() => page.element("problem").own.startsWith("max_tokens: expected"));
}

async function images_are_predicted_and_names_are_texts() {
  const page = await open(images_url, async (path, answer) => {
    if (path === "/page.js") return answer;
    const body = await answer.json();
    if (path === "/v1/models") Object.assign(body.data[0], {name: HOSTILE, classes: CLASSES});
    return {ok: answer.ok, json: async () => body};
  });
  assert.equal(page.element("name").own, HOSTILE);
  page.element("file").files = [];
  await page.element("file").fire("change");
  page.element("file").files = [{name: "a.png"}];
  await page.element("file").fire("change");
  await until(() => page.element("output_rows").children.length === 10);
  assert.equal(page.asked[0].inputs[0].length, 784);
  const rows = page.element("output_rows").children;
  assert.ok(rows.every((row) => row.tag === "tr" && row.children.length === 3));
  assert.deepEqual(rows.map((row) => row.children[0].own).sort(), CLASSES);
  const shares = rows.map((row) => parseFloat(row.children[2].own));
  assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) < 0.1, `${shares}`);
}

async function tables_have_a_field_for_each_column() {
  const page = await open(rows_url);
  const fields = page.element("fields").children;
  assert.deepEqual(fields.map((label) => label.own), ["district", "heating", "area", "age"]);
  assert.equal(page.element("row_line").hidden, true);
  const [district, heating, area, age] = fields.map((label) => label.children[0]);
  assert.deepEqual([district.tag, heating.tag, area.tag, age.tag],
                   ["select", "select", "input", "input"]);
  assert.equal(district.children[0].value, "");
  assert.ok(district.children.some((option) => option.value === "Mill Quarter"));
  [district.value, heating.value, area.value, age.value] = ["Mill Quarter", "", " 122,5", ""];
  await page.element("rows").fire("submit");
  await until(() => page.element("output_rows").children.length === 1);
  assert.deepEqual(page.asked[0].inputs, [["Mill Quarter", null, 122.5, null]]);
  assert.equal(page.element("output_rows").children[0].children[0].own, "rent");
  area.value = "large";
  await page.element("rows").fire("submit");
  await until(() => page.element("problem").own === "area: large is no number.");
}

async function main() {
  await tables_have_a_field_for_each_column();
  await texts_are_continued_as_the_server_says();
  await images_are_predicted_and_names_are_texts();
}

main().catch((error) => {
  console.error(error.stack);
  process.exitCode = 1;
});
