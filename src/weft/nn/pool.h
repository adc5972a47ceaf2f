// Poolings and their counterpart: modules without parameters. Options and shapes: op/pool.h.
#pragma once

#include <cstdint>

#include "weft/array/pair.h"
#include "weft/nn/module.h"
#include "weft/op/pool.h"

namespace weft {

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

class MaxPool1d : public Module {
 public:
  explicit MaxPool1d(const Pool1dOptions& options) : options_(options) {}
  Tensor forward(const Tensor& x) override { return max_pool1d(x, options_); }

 private:
  Pool1dOptions options_;
};

class AvgPool1d : public Module {
 public:
  explicit AvgPool1d(const Pool1dOptions& options) : options_(options) {}
  Tensor forward(const Tensor& x) override { return avg_pool1d(x, options_); }

 private:
  Pool1dOptions options_;
};

class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(const Pair& size) : size_(size) {}
  Tensor forward(const Tensor& x) override { return adaptive_avg_pool2d(x, size_); }

 private:
  Pair size_;
};

class AdaptiveMaxPool2d : public Module {
 public:
  explicit AdaptiveMaxPool2d(const Pair& size) : size_(size) {}
  Tensor forward(const Tensor& x) override { return adaptive_max_pool2d(x, size_); }

 private:
  Pair size_;
};

class AdaptiveAvgPool1d : public Module {
 public:
  explicit AdaptiveAvgPool1d(std::int64_t size) : size_(size) {}
  Tensor forward(const Tensor& x) override { return adaptive_avg_pool1d(x, size_); }

 private:
  std::int64_t size_;
};

class AdaptiveMaxPool1d : public Module {
 public:
  explicit AdaptiveMaxPool1d(std::int64_t size) : size_(size) {}
  Tensor forward(const Tensor& x) override { return adaptive_max_pool1d(x, size_); }

 private:
  std::int64_t size_;
};

// [N, C, H, W] -> [N, C, 1, 1].
class GlobalAvgPool2d : public Module {
 public:
  Tensor forward(const Tensor& x) override { return global_avg_pool2d(x); }
};

class GlobalMaxPool2d : public Module {
 public:
  Tensor forward(const Tensor& x) override { return global_max_pool2d(x); }
};

// Resizes to a multiple of the image's size.
class Upsample2d : public Module {
 public:
  explicit Upsample2d(std::int64_t factor, UpsampleMode mode = UpsampleMode::kNearest)
      : factor_(factor), mode_(mode) {}
  Tensor forward(const Tensor& x) override {
    return upsample2d(x, {{x.dim(2) * factor_, x.dim(3) * factor_}, mode_});
  }

 private:
  std::int64_t factor_;
  UpsampleMode mode_;
};

}  // namespace weft
