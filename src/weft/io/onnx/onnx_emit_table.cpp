#include <algorithm>

#include "weft/io/onnx/onnx_emitter.h"

namespace weft {

std::span<const OnnxRule> onnx_rules() {
  static const std::vector<OnnxRule> all = [] {
    std::vector<OnnxRule> rules;
    for (const std::span<const OnnxRule> part :
         {onnx_plain_rules(), onnx_layer_rules(), onnx_sequence_rules(), onnx_in_place_rules(),
          onnx_choice_rules()}) {
      rules.insert(rules.end(), part.begin(), part.end());
    }
    std::sort(rules.begin(), rules.end(),
              [](const OnnxRule& a, const OnnxRule& b) { return a.op < b.op; });
    return rules;
  }();
  return all;
}

}  // namespace weft
