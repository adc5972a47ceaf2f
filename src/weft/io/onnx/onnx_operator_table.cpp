#include <algorithm>

#include "weft/io/onnx/onnx_operator.h"

namespace weft {
namespace {

std::vector<OnnxOperator> all_sorted() {
  std::vector<OnnxOperator> all;
  for (const std::span<const OnnxOperator> part :
       {onnx_elementwise_ops(), onnx_shape_ops(), onnx_index_ops(), onnx_reduce_ops(),
        onnx_window_ops(), onnx_norm_ops(), onnx_recurrent_ops(), onnx_quantize_ops(),
        onnx_resize_ops()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end(),
            [](const OnnxOperator& a, const OnnxOperator& b) { return a.name < b.name; });
  return all;
}

}  // namespace

std::span<const OnnxOperator> onnx_operators() {
  static const std::vector<OnnxOperator> all = all_sorted();
  return all;
}

const OnnxOperator* find_onnx_operator(std::string_view name) {
  const std::span<const OnnxOperator> all = onnx_operators();
  const auto found =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const OnnxOperator& op, std::string_view key) { return op.name < key; });
  return found == all.end() || found->name != name ? nullptr : &*found;
}

}  // namespace weft
