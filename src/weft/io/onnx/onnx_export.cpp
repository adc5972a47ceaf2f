#include "weft/io/onnx_export.h"

#include <algorithm>
#include <cmath>
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
  Array input;
  Array output;
  std::vector<TracedOp> ops;
  std::uint64_t first_inside = 0;
};

TracedRun traced_run(Module& module, const Array& input) {
  TracedRun run;
  run.input = input;
  const OpTrace trace;
  run.first_inside = Storage::made() + 1;
  run.output = module.forward(Tensor(input)).array();
  run.ops = trace.ops();
  return run;
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

OnnxModel exported(Module& module, const Array& sample, const OnnxExportOptions& options) {
  const NoGrad no_grad;
  const Evaluating evaluating(module);
  const TracedRun run = traced_run(module, rows_of(sample, 2));
  const TracedRun other = traced_run(module, rows_of(sample, 3));
  if (run.ops.size() != other.ops.size()) {
    throw std::invalid_argument("[export_onnx] expected the same operations for every batch");
  }
  OnnxEmitter emitter;
  for (const NamedValue& value : module.values()) emitter.bind(value.value, value.name);
  OnnxModel model;
  model.producer = "weft";
  model.graph.inputs = {value_of(options.input, run.input, other.input)};
  emitter.bind_input(run.input, options.input);
  const std::vector<bool> needed = OnnxEmitter::needed(run.ops, run.output);
  for (std::size_t i = 0; i < run.ops.size(); ++i) {
    if (needed[i]) emitter.emit(run.ops[i], other.ops[i], run.first_inside);
  }
  OnnxGraph graph = emitter.finish(run.output, options.output);
  model.graph.name = options.name;
  model.graph.nodes = std::move(graph.nodes);
  model.graph.initializers = std::move(graph.initializers);
  model.graph.outputs = {value_of(options.output, run.output, other.output)};
  return model;
}

}  // namespace

Result<OnnxModel> export_onnx(Module& module, const Array& sample,
                              const OnnxExportOptions& options) {
  if (sample.ndim() < 1 || sample.dim(0) < 1) {
    return invalid_argument(
        fmt::format("export_onnx: expected a sample [N, ...], got {}", to_string(sample.shape())));
  }
  try {
    return exported(module, sample, options);
  } catch (const std::invalid_argument& error) {
    return invalid_argument(error.what());
  }
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
