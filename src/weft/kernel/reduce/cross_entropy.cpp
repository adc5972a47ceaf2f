#include "weft/kernel/reduce/cross_entropy.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "weft/array/launch.h"
#include "weft/kernel/core/row_loops.h"

namespace weft {
namespace {

const double* doubles(const Array& array) { return static_cast<const double*>(array.raw_data()); }
double* writable_doubles(const Array& array) { return static_cast<double*>(array.raw_data()); }
const std::int64_t* indexes(const Array& array) {
  return static_cast<const std::int64_t*>(array.raw_data());
}

// In the order of the rows.
double sum_of(const Array& values) {
  double sum = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) sum += doubles(values)[i];
  return sum;
}

void check_targets(const Array& targets, std::int64_t classes, std::int64_t ignore_index) {
  for (std::int64_t i = 0; i < targets.size(); ++i) {
    const std::int64_t target = indexes(targets)[i];
    if (target == ignore_index || (target >= 0 && target < classes)) continue;
    throw std::invalid_argument("[cross_entropy] expected targets in [0, " +
                                std::to_string(classes) + "), got " + std::to_string(target));
  }
}

// What is taken off the loss of a row per unit of -log p: `target` at the target, `each` times the
// class weight at every class.
struct Shares {
  Shares(const CrossEntropyRule& rule, std::int64_t classes)
      : target(1.0 - rule.label_smoothing),
        each(rule.label_smoothing / static_cast<double>(classes)) {}
  double target;
  double each;
};

// The weights of the classes: all 1 for none.
struct ClassWeights {
  explicit ClassWeights(const Array& array, std::int64_t classes)
      : values(array.defined() ? doubles(array) : nullptr), sum(static_cast<double>(classes)) {
    if (values != nullptr) sum = sum_of(array);
  }
  double operator[](std::int64_t i) const { return values == nullptr ? 1.0 : values[i]; }
  const double* values;
  double sum;
};

double weighted_sum(const RowLoops& loops, const void* row, const ClassWeights& weights) {
  if (weights.values == nullptr) return loops.sum(row);
  double sum = 0;
  for (std::int64_t j = 0; j < loops.count(); ++j) sum += weights[j] * loops.value(row, j);
  return sum;
}

void forward_rows(const CrossEntropyRule& rule, LaunchArrays in, LaunchArrays out) {
  const RowLoops loops("cross_entropy", in[0]);
  check_targets(in[1], loops.count(), rule.ignore_index);
  const ClassWeights weights(in[2], loops.count());
  const Shares shares(rule, loops.count());
  loops.each([&](std::int64_t i) {
    const void* const row = loops.row(in[0], i);
    const RowTotal total = loops.softmax(row, loops.row(out[2], i));
    const std::int64_t target = indexes(in[1])[i];
    const bool ignored = target == rule.ignore_index;
    const double weight = ignored ? 0.0 : weights[target];
    double loss = 0;
    if (!ignored) {
      const double log_total = std::log(total.sum);
      loss = shares.target * weight * (log_total + (total.largest - loops.value(row, target)));
      if (shares.each != 0) {
        loss += shares.each *
                (weights.sum * (total.largest + log_total) - weighted_sum(loops, row, weights));
      }
    }
    writable_doubles(out[0])[i] = loss;
    writable_doubles(out[1])[i] = weight;
  });
}

void backward_rows(const CrossEntropyRule& rule, double scale, LaunchArrays in, LaunchArrays out) {
  const RowLoops loops("cross_entropy", in[0]);
  const ClassWeights weights(in[2], loops.count());
  const Shares shares(rule, loops.count());
  const double all = !in[4].defined() ? scale : scale / sum_of(in[4]);
  const bool each_row = in[3].size() != 1 || loops.rows() == 1;
  loops.each([&](std::int64_t i) {
    void* const dx = loops.row(out[0], i);
    const std::int64_t target = indexes(in[1])[i];
    if (target == rule.ignore_index) {
      loops.affine(loops.row(in[0], i), 0.0, 0.0, dx);
      return;
    }
    const double by = all * doubles(in[3])[each_row ? i : 0];
    const double of_target = by * shares.target * weights[target];
    const double of_each = by * shares.each;
    const bool plain = weights.values == nullptr;
    loops.affine(loops.row(in[0], i), of_target + of_each * weights.sum, plain ? -of_each : 0.0,
                 dx);
    if (!plain && of_each != 0) {
      for (std::int64_t j = 0; j < loops.count(); ++j) loops.add(dx, j, -of_each * weights[j]);
    }
    loops.add(dx, target, -of_target);
  });
}

}  // namespace

CrossEntropyRows cross_entropy_rows(const Array& logits, const Array& targets,
                                    const Array& class_weights, const CrossEntropyRule& rule) {
  const bool narrow = size_of(logits.dtype()) < sizeof(float);
  const Array wide = narrow ? logits.to(DType::kF32) : logits.contiguous();
  CrossEntropyRows rows{Array::empty({logits.dim(0)}, DType::kF64, logits.device()),
                        Array::empty({logits.dim(0)}, DType::kF64, logits.device()),
                        Array::empty(wide.shape(), wide.dtype(), wide.device())};
  launch("cross_entropy", {&wide, &targets, &class_weights},
         {&rows.losses, &rows.weights, &rows.probabilities},
         [rule](LaunchArrays in, LaunchArrays out) { forward_rows(rule, in, out); });
  return rows;
}

Array cross_entropy_sum(const CrossEntropyRows& rows, bool divide, double scale, DType dtype) {
  Array loss = Array::empty({}, DType::kF64, rows.losses.device());
  launch("cross_entropy_sum", {&rows.losses, &rows.weights}, {&loss},
         [divide, scale](LaunchArrays in, LaunchArrays out) {
           const double sum = scale * sum_of(in[0]);
           *writable_doubles(out[0]) = divide ? sum / sum_of(in[1]) : sum;
         });
  return loss.to(dtype);
}

Array cross_entropy_gradient(const Array& probabilities, const Array& targets,
                             const Array& class_weights, const CrossEntropyRule& rule,
                             const CrossEntropyScale& scale) {
  const Array dy = scale.dy.to(DType::kF64).contiguous();
  Array dx = Array::empty(probabilities.shape(), probabilities.dtype(), probabilities.device());
  launch("cross_entropy_gradient", {&probabilities, &targets, &class_weights, &dy, &scale.weights},
         {&dx}, [rule, factor = scale.scale](LaunchArrays in, LaunchArrays out) {
           backward_rows(rule, factor, in, out);
         });
  return dx.to(scale.dy.dtype());
}

}  // namespace weft
