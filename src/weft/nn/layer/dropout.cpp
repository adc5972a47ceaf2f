#include "weft/nn/dropout.h"

#include <stdexcept>

#include <fmt/format.h>

#include "weft/op/dropout.h"

namespace weft {

Dropout::Dropout(double probability) : probability_(probability) {
  if (!(probability >= 0.0 && probability < 1.0)) {
    throw std::invalid_argument(
        fmt::format("[dropout] expected a probability in [0, 1), got {}", probability));
  }
}

Tensor Dropout::forward(const Tensor& x) {
  return dropout(x, probability_, step_words(), place(), is_training());
}

}  // namespace weft
