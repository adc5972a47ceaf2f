// The fully connected layer.
#pragma once

#include <cstdint>

#include "weft/nn/module.h"

namespace weft {

// Computes y = x weight^T + bias for x [..., inputs]; weight [outputs, inputs], bias [outputs].
class Linear : public Module {
 public:
  Linear(std::int64_t inputs, std::int64_t outputs, bool bias = true);
  Tensor forward(const Tensor& x) override;
  Tensor forward_relu(const Tensor& x) override;
  bool fuses_relu() const override { return true; }

 private:
  Tensor weight_;
  Tensor bias_;
};

}  // namespace weft
