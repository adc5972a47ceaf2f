// export_onnx(): a module as an ONNX model, for other runtimes.
//
//   WEFT_TRY_ASSIGN(const OnnxModel onnx, export_onnx(model, sample, {.name = "cnn"}));
//   WEFT_TRY(write_onnx("cnn.onnx", onnx));
//
// Where it stands: the module runs as in evaluation while an OpTrace (autograd/op_trace.h) notes
// its operations; each becomes nodes by the table of onnx_emitter.h. Parameters and buffers become
// initializers under their own names ("conv1.weight"). The module runs twice, with 2 and with 3
// rows: a size that differs is the batch, and stays open in the model where every shape that
// depends on it allows that. The same goes for an OnnxComputation, which is any other code.
// Writes of whole tensors in place are nodes, too; what shows memory of which a part was written is
// refused. Computation outside of operations, and decisions that depend on values, are not in the
// trace: onnx_difference() runs the written model and returns its error, with other values and
// another number of rows. Threads: the thread that owns the module. Fails: kInvalidArgument if an
// operation has no counterpart (docs/onnx.md), or if the module refuses the sample; what the code
// of a computation throws and is no std::invalid_argument goes through.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/io/onnx_model.h"
#include "weft/nn/module.h"

namespace weft {

struct OnnxExportOptions {
  std::string name = "model";
  std::string input = "input";
  std::string output = "output";
};

// `sample` [N, ...] with N >= 1 gives type and sizes; its values do not matter if the module
// accepts any. The opset is kOnnxOpset.
Result<OnnxModel> export_onnx(Module& module, const Array& sample,
                              const OnnxExportOptions& options = {});

// What is exported where there is no Module: `run` takes an array for each input and returns one
// for each output, both in order; `values` are its parameters and buffers.
struct OnnxComputation {
  std::function<std::vector<Array>(std::span<const Array>)> run;
  std::vector<NamedValue> values;
};

struct OnnxSignature {
  std::string name = "model";
  std::vector<std::string> inputs = {"input"};
  std::vector<std::string> outputs = {"output"};
  // Whether the first axis of each input is the batch, whose size stays open; otherwise all sizes
  // are those of the samples.
  bool has_batch = true;
};

// `samples`: one for each input, [N, ...] with N >= 1 where there is a batch. As many outputs as
// the signature names.
Result<OnnxModel> export_onnx(const OnnxComputation& computation, std::span<const Array> samples,
                              const OnnxSignature& signature);

// The largest difference between the outputs of the module and of the exported model for `input`,
// relative to the largest output (at least 1). Fails like OnnxProgram.
Result<double> onnx_difference(Module& module, const OnnxModel& model, const Array& input);
// The same if the outputs are known: `want`.
Result<double> onnx_difference(const OnnxModel& model, const Array& input, const Array& want);

}  // namespace weft
