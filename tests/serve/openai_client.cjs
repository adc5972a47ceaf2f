// The client of OpenAI's API from npm, unchanged, against `weft serve`.
//
// usage: NODE_PATH=FOLDER/node_modules node openai_client.cjs TEXT_URL IMAGES_URL
// The text model reads bytes and has a context of 256 tokens.
"use strict";

const assert = require("node:assert/strict");
const OpenAI = require("openai");

const [text_url, images_url] = process.argv.slice(2);
const client = new OpenAI({apiKey: "none", baseURL: `${text_url}/v1`, maxRetries: 0});
const images = new OpenAI({apiKey: "none", baseURL: `${images_url}/v1`, maxRetries: 0});
const model = "a-small-text-of-Jürgen";

const complete = (settings) => client.completions.create({model, prompt: "the ", ...settings});

async function collected(settings) {
  const texts = [], reasons = [], usages = [];
  for await (const piece of await complete({...settings, stream: true})) {
    for (const choice of piece.choices) {
      texts[choice.index] = (texts[choice.index] ?? "") + choice.text;
      if (choice.finish_reason !== null) reasons[choice.index] = choice.finish_reason;
    }
    usages.push(piece.usage);
  }
  return {texts, reasons, usages};
}

async function refused(kind, settings) {
  try {
    await complete(settings);
  } catch (error) {
    assert.ok(error instanceof kind, `${error}`);
    assert.equal(error.type, "invalid_request_error");
    return error;
  }
  assert.fail(`${JSON.stringify(settings)} was not refused`);
}

const tests = {
  async models_are_listed_and_retrieved() {
    const listed = [];
    for await (const each of client.models.list()) listed.push(each);
    assert.equal(listed.length, 1);
    assert.equal(listed[0].id, model);
    assert.deepEqual({...await client.models.retrieve(model)}, {...listed[0]});
    assert.deepEqual({...await client.models.retrieve("a small text of Jürgen")}, {...listed[0]});
    await assert.rejects(client.models.retrieve("gpt-4"), (error) =>
        error instanceof OpenAI.NotFoundError && error.code === "model_not_found" &&
        error.param === "model");
  },

  async a_completion_has_the_documented_shape() {
    const answer = await complete({max_tokens: 12, seed: 1, user: "somebody"});
    assert.match(answer.id, /^cmpl-/);
    assert.equal(answer.object, "text_completion");
    assert.equal(answer.model, model);
    assert.ok(Math.abs(answer.created - Date.now() / 1000) < 600);
    assert.deepEqual({...answer.usage},
                     {prompt_tokens: 4, completion_tokens: 12, total_tokens: 16});
    const [choice] = answer.choices;
    assert.equal(choice.index, 0);
    assert.equal(choice.finish_reason, "length");
    assert.equal(choice.logprobs, null);
    assert.ok(choice.text.length > 0);
  },

  async a_seed_repeats_and_choices_differ() {
    const settings = {max_tokens: 30, seed: 5, n: 3};
    const first = (await complete(settings)).choices;
    assert.deepEqual(first.map((choice) => choice.index), [0, 1, 2]);
    assert.equal(new Set(first.map((choice) => choice.text)).size, 3);
    assert.deepEqual((await complete(settings)).choices, first);
    const other = (await complete({...settings, seed: 6})).choices;
    assert.notEqual(other[0].text, first[0].text);
  },

  async prompts_may_be_texts_or_tokens_or_several() {
    const greedy = {max_tokens: 8, temperature: 0};
    const texts = async (prompt) =>
        (await complete({...greedy, prompt})).choices.map((choice) => choice.text);
    const [one] = await texts("one ");
    const [two] = await texts("two");
    assert.deepEqual(await texts([111, 110, 101, 32]), [one]);
    assert.deepEqual(await texts(["one ", "two"]), [one, two]);
    assert.deepEqual(await texts([[116, 119, 111], [111, 110, 101, 32]]), [two, one]);
    const answer = await complete({...greedy, prompt: ["one ", "two"], n: 2});
    assert.deepEqual(answer.choices.map((choice) => choice.text), [one, one, two, two]);
    assert.deepEqual(answer.choices.map((choice) => choice.index), [0, 1, 2, 3]);
    assert.equal(answer.usage.prompt_tokens, 7);
    assert.equal(answer.usage.completion_tokens, 32);
  },

  async a_stop_text_ends_a_text() {
    const settings = {max_tokens: 60, seed: 9};
    const whole = (await complete(settings)).choices[0].text;
    const letters = [...whole];
    const stop = letters.slice(20, 23).join("");
    for (const given of [stop, ["never to be found", stop]]) {
      const [choice] = (await complete({...settings, stop: given})).choices;
      assert.equal(choice.text, whole.slice(0, whole.indexOf(stop)));
      assert.equal(choice.finish_reason, "stop");
      const streamed = await collected({...settings, stop: given});
      assert.deepEqual(streamed.texts, [choice.text]);
      assert.deepEqual(streamed.reasons, ["stop"]);
    }
  },

  async top_p_and_temperature_narrow_the_draw() {
    const likeliest = (await complete({max_tokens: 20, temperature: 0})).choices[0].text;
    assert.equal((await complete({max_tokens: 20, top_p: 0, seed: 3})).choices[0].text, likeliest);
    assert.equal((await complete({max_tokens: 20, top_p: 1e-9})).choices[0].text, likeliest);
  },

  async logprobs_come_by_token() {
    const [choice] = (await complete({max_tokens: 10, temperature: 0, logprobs: 3})).choices;
    const {tokens, token_logprobs, top_logprobs, text_offset} = choice.logprobs;
    for (const list of [tokens, token_logprobs, top_logprobs, text_offset]) {
      assert.equal(list.length, 10);
    }
    assert.equal(text_offset[0], 0);
    for (const [place, token] of tokens.entries()) {
      const shares = Object.values(top_logprobs[place]);
      assert.equal(shares.length, 3);
      assert.ok(token_logprobs[place] <= 0);
      // The likeliest was taken.
      assert.equal(top_logprobs[place][token], token_logprobs[place]);
      assert.equal(Math.max(...shares), token_logprobs[place]);
      assert.ok(shares.reduce((sum, share) => sum + Math.exp(share), 0) <= 1 + 1e-9);
    }
    assert.equal((await complete({logprobs: 0, max_tokens: 2})).choices[0].logprobs.tokens.length, 2);
  },

  async a_stream_is_the_text_that_comes_whole() {
    const settings = {max_tokens: 40, seed: 4, n: 2};
    const whole = await complete(settings);
    const wanted = whole.choices.map((choice) => choice.text);
    const plain = await collected(settings);
    assert.deepEqual(plain.texts, wanted);
    assert.deepEqual(plain.reasons, ["length", "length"]);
    assert.ok(plain.usages.every((usage) => usage === undefined));
    const counted = await collected({...settings, stream_options: {include_usage: true}});
    assert.deepEqual(counted.texts, wanted);
    const last = counted.usages.pop();
    assert.deepEqual({...last}, {...whole.usage});
    assert.ok(counted.usages.every((usage) => usage === null));
  },

  async a_stream_can_be_left() {
    const stream = await complete({max_tokens: 200, stream: true});
    for await (const piece of stream) {
      assert.equal(piece.object, "text_completion");
      break;
    }
    assert.equal((await complete({max_tokens: 1})).choices.length, 1);
  },

  async tokens_are_clipped_to_the_context() {
    const prompt = "a".repeat(250);
    for (const settings of [{prompt}, {prompt, max_tokens: 100000}]) {
      const answer = await complete(settings);
      assert.equal(answer.usage.completion_tokens, 6);
      assert.equal(answer.choices[0].finish_reason, "length");
    }
    const error = await refused(OpenAI.BadRequestError, {prompt: "a".repeat(256)});
    assert.equal(error.code, "context_length_exceeded");
    assert.equal(error.param, "prompt");
  },

  async what_cannot_be_done_is_an_error_of_the_documented_shape() {
    const cases = [
      [{temperature: -1}, "temperature", null], [{n: 0}, "n", null],
      [{echo: true}, "echo", "unsupported_value"], [{suffix: "x"}, "suffix", "unsupported_value"],
      [{stream_options: {include_usage: true}}, "stream_options", null],
      [{tempurature: 1}, "tempurature", "unknown_parameter"]];
    for (const [settings, param, code] of cases) {
      const error = await refused(OpenAI.BadRequestError, settings);
      assert.equal(error.status, 400);
      assert.equal(error.param, param);
      assert.equal(error.code, code);
      assert.ok(error.message.includes(`${param}: `), error.message);
    }
    const other = await refused(OpenAI.NotFoundError, {model: "gpt-4"});
    assert.equal(other.code, "model_not_found");
    assert.ok(other.message.includes(model), other.message);
  },

  async chat_says_what_to_use_instead() {
    const asked = {model, messages: [{role: "user", content: "hello"}]};
    await assert.rejects(client.chat.completions.create(asked), (error) =>
        error instanceof OpenAI.NotFoundError && error.message.includes("/v1/completions"));
    await assert.rejects(images.chat.completions.create(asked), (error) =>
        error instanceof OpenAI.NotFoundError && error.message.includes("/v1/predict"));
  },

  async a_model_of_images_is_listed_and_answers_its_own_route() {
    const [only] = (await images.models.list()).data;
    assert.equal(only.id, "images");
    const answer = await images.post("/predict", {body: {inputs: [new Array(784).fill(7)]}});
    assert.equal(answer.outputs[0].length, 10);
    await assert.rejects(images.completions.create({model: "images", prompt: "a"}), (error) =>
        error instanceof OpenAI.NotFoundError && error.message.includes("/v1/predict"));
  },
};

async function main() {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      console.log(`ok   ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${name}: ${error.stack}`);
    }
  }
  console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

main();
