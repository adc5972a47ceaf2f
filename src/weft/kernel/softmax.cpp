#include "weft/kernel/softmax.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernel/rows.h"

namespace weft {
namespace {

constexpr std::size_t kSum = 0;
constexpr std::size_t kMax = 1;
constexpr std::size_t kMulRow = 2;  // BinaryOp::kMul
// Values a thread takes at least.
constexpr std::int64_t kGrainValues = 8'192;

// The loops of one type over rows of `count` values.
struct RowLoops {
  RowLoops(const char* name, const Array& x)
      : type(float_index(name, x.dtype())),
        item(static_cast<std::int64_t>(size_of(x.dtype()))),
        count(x.shape().back()),
        rows(count == 0 ? 0 : x.size() / count),
        kernels(row_kernels()) {}

  const std::uint8_t* row(const Array& array, std::int64_t i) const {
    return static_cast<const std::uint8_t*>(array.raw_data()) + i * count * item;
  }
  std::uint8_t* out_row(Array& array, std::int64_t i) const {
    return static_cast<std::uint8_t*>(array.raw_data()) + i * count * item;
  }
  double max(const void* x) const { return kernels.reduce_row[kMax][type](x, 1, count); }
  double sum(const void* x) const { return kernels.reduce_row[kSum][type](x, 1, count); }
  void exp(const void* x, double shift, void* out) const {
    kernels.exp_shifted[type](x, shift, out, count);
  }
  void affine(const void* x, double scale, double shift, void* out) const {
    kernels.affine[type](x, {scale, shift}, out, count);
  }
  void multiply(const void* a, const void* b, void* out) const {
    kernels.binary[kMulRow][type]({a, 1}, {b, 1}, out, count);
  }

  template <class Body>
  void each(const Body& body) const {
    const std::int64_t grain =
        std::max<std::int64_t>(1, kGrainValues / std::max<std::int64_t>(1, count));
    parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }

  std::size_t type;
  std::int64_t item;
  std::int64_t count;
  std::int64_t rows;
  const RowKernels& kernels;
};

double value_at(const std::uint8_t* row, std::size_t type, std::int64_t i) {
  return type == 0 ? static_cast<double>(reinterpret_cast<const float*>(row)[i])
                   : reinterpret_cast<const double*>(row)[i];
}

template <class T>
void subtract_at_targets(Array& gradient, const std::int64_t* targets, double scale) {
  const std::int64_t count = gradient.shape().back();
  T* const values = gradient.data<T>();
  for (std::int64_t i = 0; i < gradient.dim(0); ++i) {
    values[i * count + targets[i]] -= static_cast<T>(scale);
  }
}

void check_targets(const Array& targets, std::int64_t classes) {
  for (const std::int64_t target : targets.flat<std::int64_t>()) {
    if (target >= 0 && target < classes) continue;
    throw std::invalid_argument("[cross_entropy] expected targets in [0, " +
                                std::to_string(classes) + "), got " + std::to_string(target));
  }
}

}  // namespace

Array softmax_rows(const Array& x) {
  const Array in = x.contiguous();
  Array out = Array::empty(in.shape(), in.dtype());
  const RowLoops loops("softmax", in);
  loops.each([&](std::int64_t i) {
    std::uint8_t* const y = loops.out_row(out, i);
    loops.exp(loops.row(in, i), loops.max(loops.row(in, i)), y);
    loops.affine(y, 1.0 / loops.sum(y), 0.0, y);
  });
  return out;
}

Array log_softmax_rows(const Array& x) {
  const Array in = x.contiguous();
  Array out = Array::empty(in.shape(), in.dtype());
  const RowLoops loops("log_softmax", in);
  loops.each([&](std::int64_t i) {
    const std::uint8_t* const row = loops.row(in, i);
    std::uint8_t* const y = loops.out_row(out, i);
    const double largest = loops.max(row);
    loops.exp(row, largest, y);
    const double log_sum = std::log(loops.sum(y));
    // In two steps: largest + log_sum would lose the small digits of log_sum.
    loops.affine(row, 1.0, -largest, y);
    loops.affine(y, 1.0, -log_sum, y);
  });
  return out;
}

Array softmax_rows_gradient(const Array& y, const Array& dy) {
  const Array from = dy.contiguous();
  Array out = Array::empty(y.shape(), y.dtype());
  const RowLoops loops("softmax", y);
  loops.each([&](std::int64_t i) {
    std::uint8_t* const dx = loops.out_row(out, i);
    loops.multiply(loops.row(from, i), loops.row(y, i), dx);
    const double dot = loops.sum(dx);
    loops.affine(loops.row(from, i), 1.0, -dot, dx);
    loops.multiply(dx, loops.row(y, i), dx);
  });
  return out;
}

Array log_softmax_rows_gradient(const Array& y, const Array& dy) {
  const Array from = dy.contiguous();
  Array out = Array::empty(y.shape(), y.dtype());
  const RowLoops loops("log_softmax", y);
  const BinaryRow add = loops.kernels.binary[0][loops.type];
  loops.each([&](std::int64_t i) {
    std::uint8_t* const dx = loops.out_row(out, i);
    const double total = loops.sum(loops.row(from, i));
    loops.exp(loops.row(y, i), 0.0, dx);
    loops.affine(dx, -total, 0.0, dx);
    add({dx, 1}, {loops.row(from, i), 1}, dx, loops.count);
  });
  return out;
}

CrossEntropyRows cross_entropy_rows(const Array& logits, const Array& targets,
                                    bool with_probabilities) {
  check_targets(targets, logits.dim(1));
  const Array in = logits.contiguous();
  Array exps = Array::empty(in.shape(), in.dtype());
  const RowLoops loops("cross_entropy", in);
  const std::int64_t* const classes = targets.data<std::int64_t>();
  std::vector<double> losses(static_cast<std::size_t>(loops.rows));
  loops.each([&](std::int64_t i) {
    const std::uint8_t* const row = loops.row(in, i);
    std::uint8_t* const y = loops.out_row(exps, i);
    const double largest = loops.max(row);
    loops.exp(row, largest, y);
    const double total = loops.sum(y);
    losses[static_cast<std::size_t>(i)] =
        std::log(total) + (largest - value_at(row, loops.type, classes[i]));
    if (with_probabilities) loops.affine(y, 1.0 / total, 0.0, y);
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return {sum, with_probabilities ? exps : Array()};
}

Array cross_entropy_rows_gradient(const Array& probabilities, const Array& targets, double scale) {
  Array out = Array::empty(probabilities.shape(), probabilities.dtype());
  const RowLoops loops("cross_entropy", probabilities);
  loops.each([&](std::int64_t i) {
    loops.affine(loops.row(probabilities, i), scale, 0.0, loops.out_row(out, i));
  });
  const std::int64_t* const classes = targets.data<std::int64_t>();
  if (out.dtype() == DType::kF32) {
    subtract_at_targets<float>(out, classes, scale);
  } else {
    subtract_at_targets<double>(out, classes, scale);
  }
  return out;
}

}  // namespace weft
