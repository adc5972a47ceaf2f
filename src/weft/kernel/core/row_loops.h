// RowLoops: a dense f32 or f64 array as rows along its last axis, with the loops of its type.
//
// For the kernels that work row by row (softmax, cross-entropy). Rows are split over the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/array/array.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/rows.h"

namespace weft {

class RowLoops {
 public:
  RowLoops(const char* name, const Array& x)
      : type_(float_index(name, x.dtype())),
        row_bytes_(x.shape().back() * static_cast<std::int64_t>(size_of(x.dtype()))),
        count_(x.shape().back()),
        rows_(count_ == 0 ? 0 : x.size() / count_),
        kernels_(row_kernels()) {}

  std::int64_t count() const { return count_; }
  std::int64_t rows() const { return rows_; }
  // Row i of an array of the same shape and type.
  std::uint8_t* row(const Array& array, std::int64_t i) const {
    return static_cast<std::uint8_t*>(array.raw_data()) + i * row_bytes_;
  }
  double value(const void* row, std::int64_t i) const {
    return type_ == 0 ? static_cast<double>(static_cast<const float*>(row)[i])
                      : static_cast<const double*>(row)[i];
  }
  void add(void* row, std::int64_t i, double value) const {
    if (type_ == 0) {
      static_cast<float*>(row)[i] += static_cast<float>(value);
    } else {
      static_cast<double*>(row)[i] += value;
    }
  }
  double max(const void* x) const { return kernels_.reduce_row[1][type_](x, 1, count_); }
  double sum(const void* x) const { return kernels_.reduce_row[0][type_](x, 1, count_); }
  // softmax of one row.
  RowTotal softmax(const void* x, void* out) const {
    RowTotal total{};
    kernels_.softmax[type_](x, out, {1, count_}, &total);
    return total;
  }
  // out = x scale + shift
  void affine(const void* x, double scale, double shift, void* out) const {
    kernels_.affine[type_](x, {scale, shift}, out, count_);
  }
  // Calls body(i) for every row.
  template <class Body>
  void each(const Body& body) const {
    each_part([&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }
  // softmax, or its logarithm, of all rows of x; and the gradients of x from y and dy.
  void softmax(const Array& x, const Array& out) const {
    each_part([&](std::int64_t begin, std::int64_t end) {
      kernels_.softmax[type_](row(x, begin), row(out, begin), {end - begin, count_}, nullptr);
    });
  }
  void log_softmax(const Array& x, const Array& out) const {
    each_part([&](std::int64_t begin, std::int64_t end) {
      kernels_.log_softmax[type_](row(x, begin), row(out, begin), {end - begin, count_});
    });
  }
  void softmax_gradient(const Array& y, const Array& dy, const Array& dx) const {
    run(kernels_.softmax_gradient[type_], y, dy, dx);
  }
  void log_softmax_gradient(const Array& y, const Array& dy, const Array& dx) const {
    run(kernels_.log_softmax_gradient[type_], y, dy, dx);
  }

 private:
  // Values a thread takes at least.
  static constexpr std::int64_t kGrainValues = 8'192;

  // Calls body(begin, end) for parts of the rows.
  template <class Body>
  void each_part(const Body& body) const {
    const std::int64_t grain =
        std::max<std::int64_t>(1, kGrainValues / std::max<std::int64_t>(1, count_));
    parallel_for(rows_, grain, body);
  }
  void run(SoftmaxGradientRows loop, const Array& y, const Array& dy, const Array& dx) const {
    each_part([&](std::int64_t begin, std::int64_t end) {
      loop({row(y, begin), row(dy, begin), row(dx, begin)}, {end - begin, count_});
    });
  }

  std::size_t type_;
  std::int64_t row_bytes_;
  std::int64_t count_;
  std::int64_t rows_;
  const RowKernels& kernels_;
};

}  // namespace weft
