// Embedding: a table of learned rows.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/nn/module.h"

namespace weft {

// Maps tokens, integers in [0, count), to [tokens' shape..., width]; weight [count, width] is
// standard normal at first, with zeros in the padding row, which gets no gradient.
class Embedding : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t width,
            std::optional<std::int64_t> padding_index = std::nullopt);
  Tensor forward(const Tensor& tokens) override;
  // For a head that shares the table: linear(x, weight()).
  const Tensor& weight() const { return weight_; }

 private:
  std::optional<std::int64_t> padding_index_;
  Tensor weight_;
};

}  // namespace weft
