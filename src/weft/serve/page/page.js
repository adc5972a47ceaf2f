// The page of `weft serve`: asks the server which model it has, shows what fits, and shows answers.
// What comes from the server or from a person becomes text of elements, never HTML.
"use strict";

const OUTPUTS_SHOWN = 20;
const FIELDS_MAX = 60;
const element = (id) => document.getElementById(id);
let model = null;
let running = null;
let fields = [];

function show(id, text) {
  element(id).textContent = text;
}

function make(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

async function problem_of(answer) {
  try {
    return (await answer.json()).error.message;
  } catch {
    return `The server answered ${answer.status}.`;
  }
}

async function ask(path, body, signal) {
  const answer = await fetch(path, {
    method: "POST", headers: {"Content-Type": "application/json"},
    body: JSON.stringify(body), signal});
  if (!answer.ok) throw new Error(await problem_of(answer));
  return answer;
}

// Runs one request at a time; what goes wrong is shown.
async function run(work) {
  if (running !== null) running.abort();
  const mine = running = new AbortController();
  show("problem", "");
  try {
    await work(mine.signal);
  } catch (error) {
    if (error.name !== "AbortError") show("problem", error.message);
  } finally {
    if (running === mine) running = null;
    element("halt").disabled = running === null;
  }
}

// The data of server-sent events, one after another.
async function* events_of(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) yield event.replace(/^data: /, "");
  }
}

function completion_request() {
  const number = (id) => Number(element(id).value);
  const prompt = element("prompt").value;
  const request = {
    model: model.id, stream: true, max_tokens: number("max_tokens"),
    temperature: number("temperature"), top_p: number("top_p"),
    prompt: model.tokenizer ? prompt : prompt.split(/[\s,]+/).filter((part) => part).map(Number)};
  if (element("seed").value !== "") request.seed = number("seed");
  if (element("stop").value !== "") request.stop = element("stop").value;
  return request;
}

async function continue_text(signal) {
  const request = completion_request();
  const out = element("continued");
  out.replaceChildren();
  element("halt").disabled = false;
  const answer = await ask("/v1/completions", request, signal);
  const given = make("span", model.tokenizer ? request.prompt : "");
  given.className = "given";
  out.append(given);
  for await (const data of events_of(answer)) {
    if (data === "[DONE]") return;
    const piece = JSON.parse(data);
    if (piece.error) throw new Error(piece.error.message);
    for (const choice of piece.choices) {
      out.append(model.tokenizer ? choice.text : `${choice.tokens.join(" ")} `);
    }
  }
}

function softmax(values) {
  const largest = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - largest));
  const sum = powers.reduce((all, power) => all + power, 0);
  return powers.map((power) => power / sum);
}

function show_outputs(answer) {
  const values = answer.outputs[0];
  const classes = answer.classes !== undefined;
  const names = (classes ? model.classes : model.targets) ?? [];
  const shares = classes ? softmax(values) : [];
  const order = values.map((_, place) => place);
  if (classes) order.sort((a, b) => values[b] - values[a]);
  const rows = order.slice(0, OUTPUTS_SHOWN).map((place, rank) => {
    const name = names[place] ?? (rank === 0 && answer.labels ? answer.labels[0] : null);
    const row = document.createElement("tr");
    const what = classes ? `class ${place}` : `output ${place}`;
    row.append(make("td", name === null || name === undefined ? what : String(name)),
               make("td", values[place] === null ? "not a number" : String(values[place])));
    if (classes) {
      const share = make("td", `${(shares[place] * 100).toFixed(2)} % `);
      const bar = document.createElement("progress");
      bar.max = 1;
      bar.value = Number.isFinite(shares[place]) ? shares[place] : 0;
      share.append(bar);
      row.append(share);
    }
    return row;
  });
  element("output_rows").replaceChildren(...rows);
  element("share_head").hidden = !classes;
  element("outputs").hidden = false;
}

async function predict(row, signal) {
  element("outputs").hidden = true;
  show_outputs(await (await ask("/v1/predict", {inputs: [row], model: model.id}, signal)).json());
}

// The largest part of the middle that has the model's sides, as [channels][height][width] in one.
function pixels_of(bitmap, [channels, height, width], inverted) {
  const canvas = element("seen");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", {willReadFrequently: true});
  const scale = Math.max(width / bitmap.width, height / bitmap.height);
  const [wide, high] = [bitmap.width * scale, bitmap.height * scale];
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, (width - wide) / 2, (height - high) / 2, wide, high);
  const image = context.getImageData(0, 0, width, height);
  const pixels = new Array(channels * height * width);
  for (let place = 0; place < height * width; ++place) {
    const colours = Array.from(image.data.subarray(place * 4, place * 4 + 3));
    const grey = Math.round(0.299 * colours[0] + 0.587 * colours[1] + 0.114 * colours[2]);
    for (let channel = 0; channel < 3; ++channel) {
      const value = channels === 1 ? grey : colours[channel];
      image.data[place * 4 + channel] = inverted ? 255 - value : value;
      if (channel < channels) {
        pixels[channel * height * width + place] = image.data[place * 4 + channel];
      }
    }
  }
  context.putImageData(image, 0, 0);
  return pixels;
}

let last_file = null;

async function predict_file(signal) {
  if (last_file === null) return;
  if (![1, 3].includes(model.input[0])) {
    throw new Error(`This model takes images of ${model.input[0]} channels, which no file has.`);
  }
  let bitmap = null;
  try {
    bitmap = await createImageBitmap(last_file, {imageOrientation: "from-image"});
  } catch {
    throw new Error(`${last_file.name} is no image that this browser can read.`);
  }
  await predict(pixels_of(bitmap, model.input, element("invert").checked), signal);
}

function take_file(files) {
  if (files.length === 0) return;
  last_file = files[0];
  run(predict_file);
}

// Numbers as numbers, nothing as a missing value, words as they stand: the server says what it
// expected instead.
function row_of(text) {
  const separator = /[,;\t]/.test(text) ? /[,;\t]/ : /\s+/;
  return text.trim().split(separator).map((part) => part.trim()).map(
      (part) => part === "" ? null : Number.isFinite(Number(part)) ? Number(part) : part);
}

// A field for each column: a choice of its words where they are told, else what is typed.
function make_fields(columns) {
  fields = columns.map((column) => {
    const field = document.createElement(column.words ? "select" : "input");
    if (column.words) {
      const none = make("option", "(missing)");
      none.value = "";
      field.append(none, ...column.words.map((word) => {
        const option = make("option", word);
        option.value = word;
        return option;
      }));
    } else {
      field.type = "text";
      field.autocomplete = "off";
      field.placeholder = "missing";
      if (column.kind === "numbers") field.inputMode = "decimal";
    }
    return field;
  });
  element("fields").append(...fields.map((field, place) => {
    const label = make("label", columns[place].name);
    label.append(field);
    return label;
  }));
  element("row_line").hidden = true;
}

// Numbers with a point or a comma; nothing is a missing value.
function row_of_fields() {
  return fields.map((field, place) => {
    const text = field.value.trim();
    if (text === "") return null;
    const column = model.columns[place];
    if (column.kind === "words") return text;
    const number = Number(text.replace(",", "."));
    if (!Number.isFinite(number)) throw new Error(`${column.name}: ${text} is no number.`);
    return number;
  });
}

function listen() {
  const on = (id, event, work) => element(id).addEventListener(event, work);
  for (const id of ["text", "images", "rows"]) on(id, "submit", (event) => event.preventDefault());
  on("text", "submit", () => run(continue_text));
  on("halt", "click", () => running?.abort());
  on("rows", "submit", () => run((signal) => predict(
      fields.length > 0 ? row_of_fields() : row_of(element("row").value), signal)));
  on("file", "change", () => take_file(element("file").files));
  on("invert", "change", () => run(predict_file));
  on("drop", "dragover", (event) => {
    event.preventDefault();
    element("drop").className = "over";
  });
  on("drop", "dragleave", () => { element("drop").className = ""; });
  on("drop", "drop", (event) => {
    event.preventDefault();
    element("drop").className = "";
    take_file(event.dataTransfer.files);
  });
}

async function begin() {
  listen();
  const answer = await fetch("/v1/models");
  if (!answer.ok) throw new Error(await problem_of(answer));
  model = (await answer.json()).data[0];
  show("name", model.name ?? model.id);
  const takes = model.kind === "text"
      ? `texts${model.context > 0 ? ` of up to ${model.context} tokens` : ""}`
      : `${model.kind} of ${model.input.join(" x ")}`;
  show("facts", `${model.architecture}, ${model.parameters} parameters, step ${model.step}; ` +
       `takes ${takes}`);
  document.title = model.name ?? model.id;
  if (model.kind === "rows") {
    element("row").placeholder = `${model.input[0]} numbers`;
    const columns = model.columns ?? [];
    if (columns.length > 0 && columns.length <= FIELDS_MAX) make_fields(columns);
  }
  if (model.kind === "text" && !model.tokenizer) element("stop").disabled = true;
  element(model.kind).hidden = false;
}

begin().catch((error) => show("problem", error.message));
