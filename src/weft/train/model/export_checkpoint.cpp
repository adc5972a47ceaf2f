#include "weft/train/model/export_checkpoint.h"

#include <filesystem>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/io/hugging_face_names.h"
#include "weft/io/onnx_card.h"
#include "weft/io/weights_file.h"
#include "weft/train/model/checkpoint_model.h"

namespace weft {
namespace {

constexpr double kDifferenceMax = 1e-4;
constexpr std::uint64_t kCheckSeed = 2;

Result<std::string> write_model(const CheckpointModel& opened, const std::string& path) {
  WEFT_TRY_ASSIGN(const OnnxModel onnx, export_loaded(opened));
  WEFT_TRY_ASSIGN(const double off, onnx_difference(opened, onnx, kCheckSeed));
  if (!(off <= kDifferenceMax)) {
    return internal_error(fmt::format(
        "export: the ONNX model differs from the checkpoint's by {:.2g}; nothing was written",
        off));
  }
  WEFT_TRY(write_onnx(path, onnx));
  return fmt::format("{}: {} as ONNX, opset {}, {} nodes; run again it differs by {:.1e}\n", path,
                     opened.architecture, onnx.opset, onnx.graph.nodes.size(), off);
}

Result<std::string> write_weights(const CheckpointModel& opened, const ExportRequest& request) {
  const std::string& model = opened.architecture;
  WeightsFormat format;
  std::string also;
  if (request.hugging_face_names) {
    format = {WeightNames::kHuggingFace, model};
    WEFT_TRY_ASSIGN(const std::string config,
                    hugging_face_config(model, opened.options, opened.model->layout()));
    const std::filesystem::path beside =
        std::filesystem::path(request.safetensors).parent_path() / "config.json";
    WEFT_TRY(write_output_file(beside.string(), as_bytes(config)));
    also = fmt::format("{}: its configuration\n", beside.string());
  }
  WEFT_TRY_ASSIGN(const Bytes bytes, weights_bytes(*opened.model, format));
  WEFT_TRY(write_output_file(request.safetensors, bytes));
  return fmt::format("{}: the parameters of {}, {} bytes{}\n", request.safetensors, model,
                     bytes.size(), request.hugging_face_names ? ", Hugging Face's names" : "") +
         also;
}

}  // namespace

Result<std::string> export_checkpoint(const ExportRequest& request, const DataPlaces& places) {
  if (request.onnx.empty() && request.safetensors.empty()) {
    return invalid_argument("export: expected --onnx FILE or --safetensors FILE, got neither");
  }
  if (request.hugging_face_names && request.safetensors.empty()) {
    return invalid_argument("export: --names huggingface goes with --safetensors FILE");
  }
  WEFT_TRY_ASSIGN(const CheckpointModel opened, open_checkpoint_model(request.checkpoint, places));
  std::string text;
  if (!request.onnx.empty()) {
    WEFT_TRY_ASSIGN(text, write_model(opened, request.onnx));
  }
  if (!request.safetensors.empty()) {
    WEFT_TRY_ASSIGN(const std::string more, write_weights(opened, request));
    text += more;
  }
  return text;
}

}  // namespace weft
