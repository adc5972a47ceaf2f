// Dropout.
#pragma once

#include "weft/nn/module.h"

namespace weft {

// In training it zeroes each value with `probability` in [0, 1) and scales the rest; otherwise it
// is the identity. The mask is a function of the step context, this layer's position and the row.
class Dropout : public Module {
 public:
  explicit Dropout(double probability);
  Tensor forward(const Tensor& x) override;

 private:
  double probability_;
};

}  // namespace weft
