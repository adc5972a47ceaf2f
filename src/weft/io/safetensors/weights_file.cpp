#include "weft/io/weights_file.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/io/hugging_face_names.h"
#include "weft/io/safetensors.h"
#include "weft/io/safetensors_digest.h"

namespace weft {
namespace {

Status check_format(const WeightsFormat& format) {
  if (format.names == WeightNames::kWeft) return {};
  return check_hugging_face_model(format.model);
}

// What `name` of a file is in Weft.
ForeignName own_name(const WeightsFormat& format, const std::string& name) {
  if (format.names == WeightNames::kHuggingFace) return from_hugging_face(format.model, name);
  return {name, false, name.starts_with("optimizer/")};
}

// The head shares the embedding's values where the file has none of its own.
void tie_head(const WeightsFormat& format, std::vector<NamedValue>& values) {
  if (format.names != WeightNames::kHuggingFace) return;
  const char* const embedding =
      format.model == "llama" ? "model.embed_tokens.weight" : "transformer.wte.weight";
  const auto find = [&](std::string_view name) {
    return std::find_if(values.begin(), values.end(),
                        [&](const NamedValue& value) { return value.name == name; });
  };
  const auto shared = find(embedding);
  if (shared == values.end() || find("lm_head.weight") != values.end()) return;
  values.push_back({"lm_head.weight", ParameterKind::kWeight, shared->value});
}

}  // namespace

Result<Bytes> weights_bytes(const Module& module, const WeightsFormat& format) {
  WEFT_TRY(check_format(format));
  std::vector<Array> kept;  // the tensors borrow
  std::vector<SafetensorsTensor> tensors;
  for (const NamedValue& value : module.values()) {
    ForeignName foreign = {value.name};
    if (format.names == WeightNames::kHuggingFace) {
      foreign = to_hugging_face(format.model, value.name);
    }
    const Array turned = foreign.transposed ? value.value.transpose(0, 1) : value.value;
    const Array& dense = kept.emplace_back(turned.contiguous());
    tensors.push_back({foreign.name,
                       dense.dtype(),
                       dense.shape(),
                       {static_cast<const std::uint8_t*>(dense.raw_data()), dense.size_bytes()}});
  }
  // Hugging Face's loader asks which framework's order of axes this is.
  return write_safetensors(tensors, {{"format", "pt"}});
}

Status load_weights(ByteSpan bytes, Module& module, const WeightsFormat& format) {
  WEFT_TRY(check_format(format));
  WEFT_TRY_ASSIGN(const SafetensorsView view, parse_safetensors(bytes));
  WEFT_TRY(check_digests(bytes, view));
  std::vector<NamedValue> values;
  for (const SafetensorsEntry& entry : view.entries) {
    const ForeignName own = own_name(format, entry.name);
    if (own.ignored) continue;
    WEFT_TRY_ASSIGN(Array value, to_array(entry));
    if (!is_floating(value.dtype())) {
      return invalid_argument(fmt::format("{}: expected floating values, got {}", entry.name,
                                          to_string(value.dtype())));
    }
    if (own.transposed && value.ndim() == 2) value = value.transpose(0, 1).contiguous();
    values.push_back({own.name, ParameterKind::kWeight, value});
  }
  tie_head(format, values);
  try {
    module.load_values(values);
  } catch (const std::invalid_argument& error) {
    return invalid_argument(error.what());
  }
  return {};
}

}  // namespace weft
