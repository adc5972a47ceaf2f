#include "weft/io/onnx_export.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/io/onnx/onnx_emitter.h"
#include "weft/io/onnx_import.h"

namespace weft {
namespace {

// Evaluation while one lives.
class Evaluating {
 public:
  explicit Evaluating(Module& module) : module_(module), was_training_(module.is_training()) {
    module_.train(false);
  }
  ~Evaluating() { module_.train(was_training_); }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  Module& module_;
  bool was_training_;
};

// `count` rows of the sample, again from the first where it has fewer.
Array rows_of(const Array& sample, std::int64_t count) {
  Shape shape = sample.shape();
  shape[0] = count;
  Array rows = Array::empty(shape, sample.dtype());
  for (std::int64_t i = 0; i < count; ++i) {
    rows.slice(0, i, i + 1).copy_from(sample.slice(0, i % sample.dim(0), i % sample.dim(0) + 1));
  }
  return rows;
}

struct TracedRun {
  std::vector<Array> inputs;
  std::vector<Array> outputs;
  std::vector<TracedOp> ops;
  std::uint64_t first_inside = 0;
};

TracedRun traced_run(const OnnxComputation& computation, std::vector<Array> inputs) {
  TracedRun run;
  run.inputs = std::move(inputs);
  const OpTrace trace;
  run.first_inside = Storage::made() + 1;
  run.outputs = computation.run(run.inputs);
  run.ops = trace.ops();
  return run;
}

// The samples with `count` rows, or as they are where there is no batch; copies.
std::vector<Array> inputs_of(std::span<const Array> samples, const OnnxSignature& signature,
                             std::int64_t count) {
  std::vector<Array> inputs;
  for (const Array& sample : samples) {
    inputs.push_back(signature.has_batch ? rows_of(sample, count) : sample.contiguous().clone());
  }
  return inputs;
}

OnnxValue value_of(const std::string& name, const Array& array, const Array& other) {
  OnnxValue value;
  value.name = name;
  value.dtype = array.dtype();
  value.shape.emplace();
  for (int i = 0; i < array.ndim(); ++i) {
    OnnxSize& size = value.shape->emplace_back();
    if (array.dim(i) == other.dim(i)) {
      size.size = array.dim(i);
    } else {
      size.name = "batch";
    }
  }
  return value;
}

std::vector<OnnxValue> values_of(const std::vector<std::string>& names,
                                 const std::vector<Array>& arrays,
                                 const std::vector<Array>& others) {
  std::vector<OnnxValue> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    values.push_back(value_of(names[i], arrays[i], others[i]));
  }
  return values;
}

void check_runs(const TracedRun& run, const TracedRun& other, const OnnxSignature& signature) {
  if (run.outputs.size() != signature.outputs.size() ||
      other.outputs.size() != signature.outputs.size()) {
    throw std::invalid_argument(fmt::format("[export_onnx] expected {} outputs, got {}",
                                            signature.outputs.size(), run.outputs.size()));
  }
  bool same = run.ops.size() == other.ops.size();
  for (std::size_t i = 0; same && i < run.ops.size(); ++i) {
    same = run.ops[i].name == other.ops[i].name;
  }
  for (std::size_t i = 0; same && i < run.outputs.size(); ++i) {
    same = run.outputs[i].ndim() == other.outputs[i].ndim();
  }
  if (!same) {
    throw std::invalid_argument("[export_onnx] expected the same operations for every batch");
  }
}

OnnxModel exported(const OnnxComputation& computation, std::span<const Array> samples,
                   const OnnxSignature& signature) {
  const NoGrad no_grad;
  const TracedRun run = traced_run(computation, inputs_of(samples, signature, 2));
  const TracedRun other = traced_run(computation, inputs_of(samples, signature, 3));
  check_runs(run, other, signature);
  OnnxEmitter emitter;
  for (const NamedValue& value : computation.values) emitter.bind(value.value, value.name);
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    emitter.bind_input(run.inputs[i], signature.inputs[i]);
  }
  const std::vector<bool> needed = OnnxEmitter::needed(run.ops, run.outputs);
  for (std::size_t i = 0; i < run.ops.size(); ++i) {
    if (needed[i]) emitter.emit(run.ops[i], other.ops[i], run.first_inside);
    emitter.note_write(run.ops[i]);
  }
  OnnxGraph graph = emitter.finish(run.outputs, signature.outputs);
  OnnxModel model;
  model.producer = "weft";
  model.graph.name = signature.name;
  model.graph.inputs = values_of(signature.inputs, run.inputs, other.inputs);
  model.graph.nodes = std::move(graph.nodes);
  model.graph.initializers = std::move(graph.initializers);
  model.graph.outputs = values_of(signature.outputs, run.outputs, other.outputs);
  return model;
}

Status check_samples(std::span<const Array> samples, const OnnxSignature& signature) {
  if (samples.size() != signature.inputs.size() || samples.empty() || signature.outputs.empty()) {
    return invalid_argument(fmt::format(
        "export_onnx: expected a sample for each of {} inputs and a name for each output, got {} "
        "samples and {} outputs",
        signature.inputs.size(), samples.size(), signature.outputs.size()));
  }
  std::set<std::string> names(signature.inputs.begin(), signature.inputs.end());
  names.insert(signature.outputs.begin(), signature.outputs.end());
  if (names.size() != signature.inputs.size() + signature.outputs.size() || names.contains("")) {
    return invalid_argument("export_onnx: expected names of inputs and outputs that differ");
  }
  for (const Array& sample : samples) {
    if (signature.has_batch && (sample.ndim() < 1 || sample.dim(0) < 1)) {
      return invalid_argument(fmt::format("export_onnx: expected a sample [N, ...], got {}",
                                          to_string(sample.shape())));
    }
  }
  return {};
}

}  // namespace

Result<OnnxModel> export_onnx(const OnnxComputation& computation, std::span<const Array> samples,
                              const OnnxSignature& signature) {
  WEFT_TRY(check_samples(samples, signature));
  try {
    return exported(computation, samples, signature);
  } catch (const std::invalid_argument& error) {
    return invalid_argument(error.what());
  }
}

Result<OnnxModel> export_onnx(Module& module, const Array& sample,
                              const OnnxExportOptions& options) {
  const Evaluating evaluating(module);
  OnnxComputation computation;
  computation.run = [&module](std::span<const Array> inputs) {
    return std::vector<Array>{module.forward(Tensor(inputs[0])).array()};
  };
  computation.values = module.values();
  return export_onnx(
      computation, std::span(&sample, 1),
      {.name = options.name, .inputs = {options.input}, .outputs = {options.output}});
}

Result<double> onnx_difference(const OnnxModel& model, const Array& input, const Array& want) {
  WEFT_TRY_ASSIGN(const OnnxModel again, parse_onnx(onnx_bytes(model)));
  WEFT_TRY_ASSIGN(const OnnxProgram program, OnnxProgram::make(again));
  WEFT_TRY_ASSIGN(const std::vector<Array> results, program.run({input}));
  if (results.size() != 1 || results[0].shape() != want.shape()) {
    return internal_error("export_onnx: the exported model gives another shape");
  }
  const std::vector<double> a = results[0].to(DType::kF64).to_vector<double>();
  const std::vector<double> b = want.to(DType::kF64).to_vector<double>();
  double largest = 1.0;
  double off = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    off = std::isfinite(a[i]) && std::isfinite(b[i]) ? std::max(off, std::abs(a[i] - b[i]))
                                                     : HUGE_VAL;
  }
  return off / largest;
}

Result<double> onnx_difference(Module& module, const OnnxModel& model, const Array& input) {
  Array want;
  try {
    const NoGrad no_grad;
    const Evaluating evaluating(module);
    want = module.forward(Tensor(input)).array().strided();
  } catch (const std::invalid_argument& error) {
    return invalid_argument(error.what());
  }
  return onnx_difference(model, input, want);
}

}  // namespace weft
