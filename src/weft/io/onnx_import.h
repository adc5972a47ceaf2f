// OnnxProgram: an ONNX model that Weft runs.
//
//   WEFT_TRY_ASSIGN(OnnxModel model, read_onnx("resnet.onnx"));
//   WEFT_TRY_ASSIGN(OnnxProgram program, OnnxProgram::make(std::move(model)));
//   WEFT_TRY_ASSIGN(const std::vector<Array> outputs, program.run({image}));
//
// Where it stands: each node runs as operations of Weft, by the tables of onnx_operator.h; If and
// Loop run inner graphs. It records no history: it is for inference. A value is dropped after its
// last use. A model may come from anywhere: its nodes are checked when it is made, sizes when it
// runs, so that an invalid one fails and never reads beyond its values. The number of a loop's
// iterations is bounded, and so are the bytes that its values hold at once; the time that a valid
// model computes is not. Threads: run() may be called on several threads at once. Fails: make():
// kInvalidArgument if the model has operators that Weft lacks (all are named) or is no graph;
// run(): kInvalidArgument if an input does not fit or a node fails; the message names the node, its
// place in the file and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/io/onnx_model.h"

namespace weft {

inline constexpr std::int64_t kOnnxLoopStepsMax = 100'000;
// Bounds of the bytes that the values of one run hold at once: this multiple of the bytes of the
// model's tensors and of the inputs, and at least the minimum. A few bytes of a file can ask for
// any shape.
inline constexpr std::size_t kOnnxBytesFactor = 64;
inline constexpr std::size_t kOnnxBytesMin = std::size_t{1} << 30U;

class OnnxProgram {
 public:
  static Result<OnnxProgram> make(OnnxModel model);

  const OnnxModel& model() const { return *model_; }
  // The inputs of run(): the graph's inputs without those that initializers fill.
  const std::vector<OnnxValue>& inputs() const { return inputs_; }
  const std::vector<OnnxValue>& outputs() const { return model_->graph.outputs; }

  // Takes one array for each of inputs(), in order, with their types and sizes; returns one for
  // each of outputs(), contiguous.
  Result<std::vector<Array>> run(std::span<const Array> inputs) const;
  // Replaces the bound that kOnnxBytesFactor and kOnnxBytesMin give.
  void set_bytes_max(std::size_t bytes_max) { bytes_max_ = bytes_max; }
  Result<std::vector<Array>> run(std::initializer_list<Array> inputs) const {
    return run(std::span<const Array>(inputs.begin(), inputs.size()));
  }

 private:
  std::shared_ptr<const OnnxModel> model_;
  std::size_t bytes_max_for(std::span<const Array> inputs) const;

  std::vector<OnnxValue> inputs_;
  std::size_t bytes_max_ = 0;  // 0: by the size of model and inputs
};

}  // namespace weft
