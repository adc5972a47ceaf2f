// Any bytes as an ONNX model and as one of its tensors: parsed or refused, and what is parsed can
// be written and read again. Small models are run, too: they give values or say why not.
#include <algorithm>

#include "weft/base/check.h"
#include "weft/io/onnx_import.h"

namespace {

constexpr std::int64_t kValuesMax = 1 << 12;

bool is_expected(const weft::Status& status) {
  return status.code() == weft::Code::kCorrupt || status.code() == weft::Code::kInvalidArgument;
}

// Operators whose results no few bytes can make large, or slow.
bool is_small(const weft::OnnxGraph& graph) {
  constexpr std::string_view kLarge[] = {
      "ConstantOfShape", "Expand",   "Tile", "Pad",    "Range",  "OneHot",
      "Resize",          "Upsample", "Loop", "If",     "Conv",   "ConvTranspose",
      "AveragePool",     "MaxPool",  "LRN",  "Einsum", "EyeLike"};
  if (graph.nodes.size() > 8) return false;
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const weft::OnnxNode& node) {
    return std::find(std::begin(kLarge), std::end(kLarge), node.op) != std::end(kLarge);
  });
}

void run(weft::OnnxModel model) {
  if (!is_small(model.graph)) return;
  weft::Result<weft::OnnxProgram> program = weft::OnnxProgram::make(std::move(model));
  if (!program.ok()) {
    WEFT_CHECK(is_expected(program.status()));
    return;
  }
  std::vector<weft::Array> inputs;
  for (const weft::OnnxValue& value : program->inputs()) {
    weft::Shape shape;
    std::int64_t values = 1;
    if (value.shape && value.shape->size() > 4) return;
    for (const weft::OnnxSize& size : value.shape.value_or(std::vector<weft::OnnxSize>())) {
      const std::int64_t length = size.size.value_or(2);
      if (length < 0 || length > 16) return;
      shape.push_back(length);
      values *= std::max<std::int64_t>(length, 1);
    }
    if (values > kValuesMax) return;
    inputs.push_back(weft::Array::full(shape, 1.0, value.dtype.value_or(weft::DType::kF32)));
  }
  const weft::Result<std::vector<weft::Array>> outputs = program->run(inputs);
  WEFT_CHECK(outputs.ok() || outputs.status().code() != weft::Code::kInternal);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ByteSpan bytes(data, size);
  weft::Result<weft::OnnxModel> model = weft::parse_onnx(bytes);
  if (model.ok()) {
    const weft::Bytes written = weft::onnx_bytes(*model);
    const weft::Result<weft::OnnxModel> again = weft::parse_onnx(written);
    WEFT_CHECK(again.ok() && weft::onnx_bytes(*again) == written);
    run(std::move(*model));
  } else {
    WEFT_CHECK(is_expected(model.status()));
  }
  const weft::Result<weft::OnnxTensor> tensor = weft::parse_onnx_tensor(bytes);
  WEFT_CHECK(tensor.ok() || is_expected(tensor.status()));
  return 0;
}
