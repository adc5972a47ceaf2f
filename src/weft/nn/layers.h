// Layers: modules without parts. Shapes and defaults are PyTorch's; images are [N, C, H, W].
//
// Constructors throw std::invalid_argument on sizes below 1.
#pragma once

#include <array>
#include <cstdint>

#include "weft/nn/module.h"
#include "weft/op/conv.h"
#include "weft/op/pool.h"

namespace weft {

// y = x weight^T + bias; weight [outputs, inputs], bias [outputs].
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

struct Conv2dShape {
  std::int64_t inputs = 1;   // channels
  std::int64_t outputs = 1;  // channels
  std::array<std::int64_t, 2> kernel = {3, 3};
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};
  std::array<std::int64_t, 2> dilation = {1, 1};
  std::int64_t groups = 1;
  bool bias = true;
};

// weight [outputs, inputs / groups, kernel height, kernel width], bias [outputs].
class Conv2d : public Module {
 public:
  explicit Conv2d(const Conv2dShape& shape);
  Tensor forward(const Tensor& x) override;
  Tensor forward_relu(const Tensor& x) override;
  bool fuses_relu() const override { return true; }

 private:
  Conv2dOptions options_;
  Tensor weight_;
  Tensor bias_;
};

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const Pool2dOptions& options) : options_(options) {}
  explicit MaxPool2d(std::int64_t side) : options_{.kernel = {side, side}} {}
  Tensor forward(const Tensor& x) override { return max_pool2d(x, options_); }

 private:
  Pool2dOptions options_;
};

class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(const Pool2dOptions& options) : options_(options) {}
  explicit AvgPool2d(std::int64_t side) : options_{.kernel = {side, side}} {}
  Tensor forward(const Tensor& x) override { return avg_pool2d(x, options_); }

 private:
  Pool2dOptions options_;
};

class ReLU : public Module {
 public:
  Tensor forward(const Tensor& x) override;
  bool is_relu() const override { return true; }
};

class Tanh : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class Sigmoid : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

// Joins all axes but the first.
class Flatten : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

// In training zeroes each value with `probability` in [0, 1) and scales the rest; otherwise the
// identity. The mask is a function of the step context, this layer's place and the row.
class Dropout : public Module {
 public:
  explicit Dropout(double probability);
  Tensor forward(const Tensor& x) override;

 private:
  double probability_;
};

struct BatchNormShape {
  std::int64_t channels = 1;
  double eps = 1e-5;
  double momentum = 0.1;
};

// Normalises each channel: over the batch in training, by running statistics otherwise. The
// statistics are of the rows given here: peers that split a batch normalise their own shards.
class BatchNorm : public Module {
 public:
  Tensor forward(const Tensor& x) override;

 protected:
  BatchNorm(const BatchNormShape& shape, int ndim_min, int ndim_max, const char* name);

 private:
  BatchNormShape shape_;
  int ndim_min_;
  int ndim_max_;
  const char* name_;
  Tensor weight_;
  Tensor bias_;
  Array running_mean_;
  Array running_var_;
};

// x [N, C] or [N, C, L].
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(std::int64_t channels) : BatchNorm1d(BatchNormShape{channels}) {}
  explicit BatchNorm1d(const BatchNormShape& shape) : BatchNorm(shape, 2, 3, "batch_norm1d") {}
};

// x [N, C, H, W].
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(std::int64_t channels) : BatchNorm2d(BatchNormShape{channels}) {}
  explicit BatchNorm2d(const BatchNormShape& shape) : BatchNorm(shape, 4, 4, "batch_norm2d") {}
};

// Normalises over the last axes, which have the sizes `normalized`.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const Shape& normalized, double eps = 1e-5);
  Tensor forward(const Tensor& x) override;

 private:
  int axes_;
  double eps_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace weft
