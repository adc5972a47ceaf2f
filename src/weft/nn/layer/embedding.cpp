#include "weft/nn/embedding.h"

#include <stdexcept>

#include <fmt/format.h>

#include "weft/nn/layer/sizes.h"
#include "weft/op/embedding.h"

namespace weft {

Embedding::Embedding(std::int64_t count, std::int64_t width,
                     std::optional<std::int64_t> padding_index)
    : padding_index_(padding_index) {
  require_positive("embedding", {{"count", count}, {"width", width}});
  if (padding_index && (*padding_index < -count || *padding_index >= count)) {
    throw std::invalid_argument(fmt::format(
        "[embedding] expected a padding index in [{}, {}), got {}", -count, count, *padding_index));
  }
  const std::optional<std::int64_t> zero_row =
      padding_index && *padding_index < 0 ? *padding_index + count : padding_index;
  register_parameter("weight", weight_, {count, width}, ParameterKind::kWeight,
                     [zero_row](Array& values, Rng& rng) {
                       fill_normal(values, rng, 1.0);
                       if (zero_row) values.select(0, *zero_row).fill(0.0);
                     });
}

Tensor Embedding::forward(const Tensor& tokens) {
  return embedding(weight_, tokens, {.padding_index = padding_index_});
}

}  // namespace weft
