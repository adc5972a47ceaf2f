// Convolutions and their transposes, over images and sequences. Pairs are {height, width}.
#pragma once

#include <cstdint>

#include "weft/array/pair.h"
#include "weft/nn/module.h"
#include "weft/op/conv.h"

namespace weft {

// The common part of all of them: weight, whose layout each class defines, and bias [outputs].
class ConvModule : public Module {
 protected:
  // Makes both parameters, with PyTorch's initialisers.
  void register_filters(const Shape& weight, std::int64_t outputs, bool bias);

  Tensor weight_;
  Tensor bias_;
};

struct Conv2dShape {
  std::int64_t inputs = 1;   // channels
  std::int64_t outputs = 1;  // channels
  Pair kernel = 3;
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

// weight [outputs, inputs / groups, kernel height, kernel width].
class Conv2d : public ConvModule {
 public:
  explicit Conv2d(const Conv2dShape& shape);
  Tensor forward(const Tensor& x) override;
  Tensor forward_relu(const Tensor& x) override;
  bool fuses_relu() const override { return true; }
  Tensor forward_normalized(const Tensor& x, Module& norm, bool relu) override;

 private:
  Conv2dOptions options_;
};

struct Conv1dShape {
  std::int64_t inputs = 1;
  std::int64_t outputs = 1;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

// weight [outputs, inputs / groups, kernel].
class Conv1d : public ConvModule {
 public:
  explicit Conv1d(const Conv1dShape& shape);
  Tensor forward(const Tensor& x) override;
  Tensor forward_relu(const Tensor& x) override;
  bool fuses_relu() const override { return true; }

 private:
  Conv1dOptions options_;
};

struct ConvTranspose2dShape {
  std::int64_t inputs = 1;
  std::int64_t outputs = 1;
  Pair kernel = 3;
  Pair stride = 1;
  Pair padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

// weight [inputs, outputs / groups, kernel height, kernel width].
class ConvTranspose2d : public ConvModule {
 public:
  explicit ConvTranspose2d(const ConvTranspose2dShape& shape);
  Tensor forward(const Tensor& x) override;

 private:
  ConvTranspose2dOptions options_;
};

struct ConvTranspose1dShape {
  std::int64_t inputs = 1;
  std::int64_t outputs = 1;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t output_padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

// weight [inputs, outputs / groups, kernel].
class ConvTranspose1d : public ConvModule {
 public:
  explicit ConvTranspose1d(const ConvTranspose1dShape& shape);
  Tensor forward(const Tensor& x) override;

 private:
  ConvTranspose1dOptions options_;
};

}  // namespace weft
