// Activations as modules; op/activation.h defines what each computes. Flatten, Identity and Lambda
// are here too; they have no parameters either.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "weft/nn/module.h"
#include "weft/op/activation.h"

namespace weft {

class ReLU : public Module {
 public:
  Tensor forward(const Tensor& x) override { return relu(x); }
  bool is_relu() const override { return true; }
};

class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double slope = 0.01) : slope_(slope) {}
  Tensor forward(const Tensor& x) override { return leaky_relu(x, slope_); }

 private:
  double slope_;
};

// The slope below 0 is learned: one for all channels, or one for each (axis 1 of x).
class PReLU : public Module {
 public:
  explicit PReLU(std::int64_t channels = 1, double slope = 0.25);
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
};

class ELU : public Module {
 public:
  explicit ELU(double alpha = 1.0) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) override { return elu(x, alpha_); }

 private:
  double alpha_;
};

// Klambauer et al., "Self-normalizing neural networks", NeurIPS 2017, equation 2.
class SELU : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class GELU : public Module {
 public:
  explicit GELU(GeluForm form = GeluForm::kErf) : form_(form) {}
  Tensor forward(const Tensor& x) override { return gelu(x, form_); }

 private:
  GeluForm form_;
};

class SiLU : public Module {
 public:
  Tensor forward(const Tensor& x) override { return silu(x); }
};

class Mish : public Module {
 public:
  Tensor forward(const Tensor& x) override { return mish(x); }
};

class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1.0, double threshold = 20.0)
      : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) override { return softplus(x, beta_, threshold_); }

 private:
  double beta_;
  double threshold_;
};

class Softsign : public Module {
 public:
  Tensor forward(const Tensor& x) override { return softsign(x); }
};

class LogSigmoid : public Module {
 public:
  Tensor forward(const Tensor& x) override { return log_sigmoid(x); }
};

class Hardtanh : public Module {
 public:
  explicit Hardtanh(double low = -1.0, double high = 1.0) : low_(low), high_(high) {}
  Tensor forward(const Tensor& x) override { return hardtanh(x, low_, high_); }

 private:
  double low_;
  double high_;
};

class ReLU6 : public Module {
 public:
  Tensor forward(const Tensor& x) override { return hardtanh(x, 0.0, 6.0); }
};

// x / 6 + 1 / 2 between 0 and 1.
class Hardsigmoid : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

// x hardsigmoid(x).
class Hardswish : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class Tanh : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class Sigmoid : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class Softmax : public Module {
 public:
  explicit Softmax(int axis = -1) : axis_(axis) {}
  Tensor forward(const Tensor& x) override;

 private:
  int axis_;
};

class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(int axis = -1) : axis_(axis) {}
  Tensor forward(const Tensor& x) override;

 private:
  int axis_;
};

// Joins all axes but the first.
class Flatten : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) override { return x; }
};

// Applies any function of a Tensor.
class Lambda : public Module {
 public:
  using Function = std::function<Tensor(const Tensor&)>;
  explicit Lambda(Function function) : function_(std::move(function)) {}
  Tensor forward(const Tensor& x) override { return function_(x); }

 private:
  Function function_;
};

}  // namespace weft
