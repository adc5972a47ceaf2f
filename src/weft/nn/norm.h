// Normalisations; op/norm.h defines what each computes.
#pragma once

#include <cstdint>

#include "weft/nn/module.h"
#include "weft/op/conv.h"

namespace weft {

struct BatchNormShape {
  std::int64_t channels = 1;
  double eps = 1e-5;
  double momentum = 0.1;
};

// Normalises each channel: over the batch in training, by running statistics otherwise. The
// statistics cover the rows given here: peers that split a batch normalise their own shards.
class BatchNorm : public Module {
 public:
  Tensor forward(const Tensor& x) override;
  Tensor forward_relu(const Tensor& x) override;
  bool fuses_relu() const override { return true; }
  bool is_batch_norm() const override { return true; }
  // What it normalises with in evaluation.
  EvaluatedNorm evaluated() { return {weight_, bias_, running_mean_, running_var_, shape_.eps}; }

 protected:
  BatchNorm(const BatchNormShape& shape, int ndim_min, int ndim_max, const char* name);

 private:
  Tensor normalize(const Tensor& x, bool relu);

  BatchNormShape shape_;
  int ndim_min_;
  int ndim_max_;
  const char* name_;
  Tensor weight_;
  Tensor bias_;
  Array running_mean_;
  Array running_var_;
};

// For x [N, C] or [N, C, L].
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(std::int64_t channels) : BatchNorm1d(BatchNormShape{channels}) {}
  explicit BatchNorm1d(const BatchNormShape& shape) : BatchNorm(shape, 2, 3, "batch_norm1d") {}
};

// For x [N, C, H, W].
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(std::int64_t channels) : BatchNorm2d(BatchNormShape{channels}) {}
  explicit BatchNorm2d(const BatchNormShape& shape) : BatchNorm(shape, 4, 4, "batch_norm2d") {}
};

struct NormOptions {
  double eps = 1e-5;
  bool affine = true;  // with weight and bias
};

// Normalises over the last axes, which have the sizes `normalized`.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const Shape& normalized, double eps = 1e-5)
      : LayerNorm(normalized, NormOptions{eps}) {}
  LayerNorm(const Shape& normalized, const NormOptions& options);
  Tensor forward(const Tensor& x) override;

 private:
  Shape normalized_;
  double eps_;
  Tensor weight_;
  Tensor bias_;
};

// Divides by the root mean square instead, with a weight only.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(const Shape& normalized, double eps = 1e-6);
  Tensor forward(const Tensor& x) override;

 private:
  Shape normalized_;
  double eps_;
  Tensor weight_;
};

// Normalises x [N, C, ...] by image, with its channels in `groups` groups.
class GroupNorm : public Module {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, const NormOptions& options = {});
  Tensor forward(const Tensor& x) override;

 private:
  std::int64_t groups_;
  double eps_;
  Tensor weight_;
  Tensor bias_;
};

// Normalises each channel of each image by itself; without weight and bias by default, as in
// PyTorch.
class InstanceNorm : public Module {
 public:
  explicit InstanceNorm(std::int64_t channels, const NormOptions& options = {1e-5, false});
  Tensor forward(const Tensor& x) override;

 private:
  double eps_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace weft
