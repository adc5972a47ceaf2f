// What ONNX Runtime says of a model: reads {"model": PATH, "inputs": {NAME: {"type", "dims", "data"}}}
// from standard input, null for NaN, and prints {NAME: [numbers]} of the outputs.
"use strict";

const fs = require("node:fs");
const ort = require("onnxruntime-node");

function tensor({type, dims, data}) {
  if (type === "int64") return new ort.Tensor(type, BigInt64Array.from(data.map(BigInt)), dims);
  return new ort.Tensor(type, Float32Array.from(data.map((value) => value ?? NaN)), dims);
}

async function main() {
  const asked = JSON.parse(fs.readFileSync(0, "utf8"));
  const session = await ort.InferenceSession.create(asked.model);
  const inputs = Object.entries(asked.inputs).map(([name, value]) => [name, tensor(value)]);
  const results = await session.run(Object.fromEntries(inputs));
  const outputs = Object.entries(results).map(([name, {data}]) => [name, Array.from(data, Number)]);
  console.log(JSON.stringify(Object.fromEntries(outputs)));
}

main();
