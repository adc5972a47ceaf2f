// The loops of optimizer_loops.h, compiled once for each instruction set.
#include "weft/kernel/optimizer/optimizer_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

inline float root_of(float x) { return __builtin_sqrtf(x); }
inline double root_of(double x) { return __builtin_sqrt(x); }

template <bool kNesterov, class Value>
void sgd_momentum(const SgdPass<Value>& pass, std::int64_t begin, std::int64_t end) {
  const Value* __restrict const gradients = pass.gradients;
  Value* __restrict const state = pass.momentum_state;
  Value* __restrict const parameters = pass.parameters;
  const Value rate = pass.learning_rate;
  const Value momentum = pass.momentum;
  const Value share = pass.gradient_share;
  const Value decay = pass.weight_decay;
  for (std::int64_t i = begin; i < end; ++i) {
    const Value gradient = gradients[i] + decay * parameters[i];
    const Value m = momentum * state[i] + share * gradient;
    state[i] = m;
    parameters[i] -= rate * (kNesterov ? gradient + momentum * m : m);
  }
}

template <class Value>
void sgd(const SgdPass<Value>& pass, std::int64_t begin, std::int64_t end) {
  if (pass.momentum_state != nullptr) {
    if (pass.nesterov) {
      sgd_momentum<true>(pass, begin, end);
    } else {
      sgd_momentum<false>(pass, begin, end);
    }
    return;
  }
  const Value* __restrict const gradients = pass.gradients;
  Value* __restrict const parameters = pass.parameters;
  const Value rate = pass.learning_rate;
  const Value decay = pass.weight_decay;
  for (std::int64_t i = begin; i < end; ++i) {
    parameters[i] -= rate * (gradients[i] + decay * parameters[i]);
  }
}

template <class Value>
void adam(const AdamPass<Value>& given, std::int64_t begin, std::int64_t end) {
  const AdamPass<Value> pass = given;
  const Value* __restrict const gradients = pass.gradients;
  Value* __restrict const mean = pass.mean;
  Value* __restrict const variance = pass.variance;
  Value* __restrict const parameters = pass.parameters;
  for (std::int64_t i = begin; i < end; ++i) {
    const Value gradient = gradients[i] + pass.weight_decay * parameters[i];
    const Value m = mean[i] * pass.beta1 + gradient * pass.mean_share;
    const Value v = variance[i] * pass.beta2 + pass.variance_share * gradient * gradient;
    mean[i] = m;
    variance[i] = v;
    const Value root = root_of(v) / pass.root_correction + pass.epsilon;
    parameters[i] = parameters[i] * pass.shrink - pass.step_size * (m / root);
  }
}

template <class Value>
void amsgrad(const AmsgradPass<Value>& given, std::int64_t begin, std::int64_t end) {
  const AdamPass<Value> pass = given.adam;
  const Value* __restrict const gradients = pass.gradients;
  Value* __restrict const mean = pass.mean;
  Value* __restrict const variance = pass.variance;
  Value* __restrict const variance_max = given.variance_max;
  Value* __restrict const parameters = pass.parameters;
  for (std::int64_t i = begin; i < end; ++i) {
    const Value gradient = gradients[i] + pass.weight_decay * parameters[i];
    const Value m = mean[i] * pass.beta1 + gradient * pass.mean_share;
    const Value v = variance[i] * pass.beta2 + pass.variance_share * gradient * gradient;
    const Value largest = v > variance_max[i] ? v : variance_max[i];
    mean[i] = m;
    variance[i] = v;
    variance_max[i] = largest;
    const Value root = root_of(largest) / pass.root_correction + pass.epsilon;
    parameters[i] = parameters[i] * pass.shrink - pass.step_size * (m / root);
  }
}

template <class Value>
void adagrad(const AdagradPass<Value>& given, std::int64_t begin, std::int64_t end) {
  const AdagradPass<Value> pass = given;
  const Value* __restrict const gradients = pass.gradients;
  Value* __restrict const square_sum = pass.square_sum;
  Value* __restrict const parameters = pass.parameters;
  for (std::int64_t i = begin; i < end; ++i) {
    const Value gradient = gradients[i] + pass.weight_decay * parameters[i];
    const Value sum = square_sum[i] + gradient * gradient;
    square_sum[i] = sum;
    parameters[i] -= pass.learning_rate * (gradient / (root_of(sum) + pass.epsilon));
  }
}

template <bool kCentred, bool kMomentum, class Value>
void rms_prop_as(const RmsPropPass<Value>& given, std::int64_t begin, std::int64_t end) {
  const RmsPropPass<Value> pass = given;
  const Value* __restrict const gradients = pass.gradients;
  Value* __restrict const square_mean = pass.square_mean;
  Value* __restrict const mean = pass.mean;
  Value* __restrict const momentum = pass.momentum;
  Value* __restrict const parameters = pass.parameters;
  for (std::int64_t i = begin; i < end; ++i) {
    const Value gradient = gradients[i] + pass.weight_decay * parameters[i];
    const Value squares = square_mean[i] * pass.smoothing + pass.share * gradient * gradient;
    square_mean[i] = squares;
    Value spread = squares;
    if (kCentred) {
      const Value m = mean[i] * pass.smoothing + pass.share * gradient;
      mean[i] = m;
      spread = squares - m * m;
    }
    // Rounding may leave a constant gradient a variance just below 0.
    const Value root = root_of(spread > Value(0) ? spread : Value(0)) + pass.epsilon;
    Value update = gradient / root;
    if (kMomentum) {
      update = pass.momentum_factor * momentum[i] + update;
      momentum[i] = update;
    }
    parameters[i] -= pass.learning_rate * update;
  }
}

template <class Value>
void rms_prop(const RmsPropPass<Value>& pass, std::int64_t begin, std::int64_t end) {
  const bool momentum = pass.momentum != nullptr;
  if (pass.mean != nullptr) {
    if (momentum) {
      rms_prop_as<true, true>(pass, begin, end);
    } else {
      rms_prop_as<true, false>(pass, begin, end);
    }
  } else if (momentum) {
    rms_prop_as<false, true>(pass, begin, end);
  } else {
    rms_prop_as<false, false>(pass, begin, end);
  }
}

template <class Value>
void adadelta(const AdadeltaPass<Value>& given, std::int64_t begin, std::int64_t end) {
  const AdadeltaPass<Value> pass = given;
  const Value* __restrict const gradients = pass.gradients;
  Value* __restrict const square_mean = pass.square_mean;
  Value* __restrict const delta_square_mean = pass.delta_square_mean;
  Value* __restrict const parameters = pass.parameters;
  for (std::int64_t i = begin; i < end; ++i) {
    const Value gradient = gradients[i] + pass.weight_decay * parameters[i];
    const Value squares = square_mean[i] * pass.smoothing + pass.share * gradient * gradient;
    const Value before = delta_square_mean[i];
    const Value root = root_of(squares + pass.epsilon);
    const Value delta = root_of(before + pass.epsilon) / root * gradient;
    square_mean[i] = squares;
    delta_square_mean[i] = before * pass.smoothing + pass.share * delta * delta;
    parameters[i] -= pass.learning_rate * delta;
  }
}

template <class Value>
void lion(const LionPass<Value>& given, std::int64_t begin, std::int64_t end) {
  const LionPass<Value> pass = given;
  const Value* __restrict const gradients = pass.gradients;
  Value* __restrict const mean = pass.mean;
  Value* __restrict const parameters = pass.parameters;
  for (std::int64_t i = begin; i < end; ++i) {
    const Value gradient = gradients[i];
    const Value m = mean[i];
    const Value direction = m * pass.beta1 + gradient * pass.share1;
    const Value up = direction > Value(0) ? pass.learning_rate : Value(0);
    const Value down = direction < Value(0) ? pass.learning_rate : Value(0);
    parameters[i] = parameters[i] * pass.shrink - (up - down);
    mean[i] = m * pass.beta2 + gradient * pass.share2;
  }
}

template <class Value>
void blend(const BlendPass<Value>& pass, std::int64_t begin, std::int64_t end) {
  const auto [a, first, b, second, out] = pass;
  for (std::int64_t i = begin; i < end; ++i) out[i] = first * a[i] + second * b[i];
}

template <class Value>
double squares_sum(const Value* x, std::int64_t begin, std::int64_t end) {
  double sums[8] = {};
  std::int64_t i = begin;
  for (; i + 8 <= end; i += 8) {
    for (std::int64_t lane = 0; lane < 8; ++lane) {
      const double value = static_cast<double>(x[i + lane]);
      sums[lane] += value * value;
    }
  }
  for (; i < end; ++i) {
    const double value = static_cast<double>(x[i]);
    sums[i % 8] += value * value;
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

template <class Value>
void column_squares(const FactoredPass<Value>& pass, std::int64_t rows, double* __restrict sums,
                    std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const Value* __restrict const row = pass.gradients + i * pass.columns;
    for (std::int64_t j = begin; j < end; ++j) {
      const double value = static_cast<double>(row[j]);
      sums[j] += value * value;
    }
  }
}

template <class Value>
double scaled_squares(const FactoredPass<Value>& pass, std::int64_t row) {
  const Value* __restrict const gradients = pass.gradients + row * pass.columns;
  const Value* __restrict const factors = pass.column_factors;
  double sums[8] = {};
  std::int64_t j = 0;
  for (; j + 8 <= pass.columns; j += 8) {
    for (std::int64_t lane = 0; lane < 8; ++lane) {
      const double value = static_cast<double>(gradients[j + lane] * factors[j + lane]);
      sums[lane] += value * value;
    }
  }
  for (; j < pass.columns; ++j) {
    const double value = static_cast<double>(gradients[j] * factors[j]);
    sums[j % 8] += value * value;
  }
  const double factor = static_cast<double>(pass.row_factors[row]);
  const double sum =
      ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  return sum * factor * factor;
}

template <class Value>
void factored_update(const FactoredPass<Value>& pass, Value shrink, Value* parameters,
                     std::int64_t begin, std::int64_t end) {
  const Value* __restrict const factors = pass.column_factors;
  for (std::int64_t i = begin; i < end; ++i) {
    const Value* __restrict const row = pass.gradients + i * pass.columns;
    Value* __restrict const out = parameters + i * pass.columns;
    const Value factor = pass.row_factors[i];
    for (std::int64_t j = 0; j < pass.columns; ++j) {
      out[j] = shrink * out[j] - factor * (factors[j] * row[j]);
    }
  }
}

// Values of one row of c, or of b, that lie side by side.
template <class Value>
struct LanesOf {
  using Type [[gnu::vector_size(32)]] = Value;
};
template <class Value>
using Lanes = typename LanesOf<Value>::Type;
template <class Value>
constexpr std::int64_t kLanes = 32 / sizeof(Value);

template <class Value>
inline Lanes<Value> load_lanes(const Value* from) {
  Lanes<Value> lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

template <class Value>
inline void store_product(const ProductPass<Value>& pass, const Lanes<Value>& sum, Value* to) {
  Lanes<Value> out = sum * pass.scale_product;
  if (pass.scale_c != Value(0)) out = out + load_lanes(to) * pass.scale_c;
  __builtin_memcpy(to, &out, sizeof out);
}

// Rows [row, row + kRows) of c, columns [column, column + 2 kLanes), in registers.
template <int kRows, class Value>
void product_tile(const ProductPass<Value>& pass, std::int64_t row, std::int64_t column) {
  Lanes<Value> left[kRows] = {};
  Lanes<Value> right[kRows] = {};
  const Value* a = pass.a + row * pass.k;
  const Value* b = pass.b + column;
  for (std::int64_t k = 0; k < pass.k; ++k, b += pass.n) {
    const Lanes<Value> b_left = load_lanes(b);
    const Lanes<Value> b_right = load_lanes(b + kLanes<Value>);
    for (int i = 0; i < kRows; ++i) {
      const Value value = a[i * pass.k + k];
      left[i] = left[i] + b_left * value;
      right[i] = right[i] + b_right * value;
    }
  }
  for (int i = 0; i < kRows; ++i) {
    Value* const to = pass.c + (row + i) * pass.n + column;
    store_product(pass, left[i], to);
    store_product(pass, right[i], to + kLanes<Value>);
  }
}

template <class Value>
void product_element(const ProductPass<Value>& pass, std::int64_t row, std::int64_t column) {
  Value sum = Value(0);
  for (std::int64_t k = 0; k < pass.k; ++k) {
    sum = sum + pass.b[k * pass.n + column] * pass.a[row * pass.k + k];
  }
  Value* const to = pass.c + row * pass.n + column;
  Value out = sum * pass.scale_product;
  if (pass.scale_c != Value(0)) out = out + *to * pass.scale_c;
  *to = out;
}

template <class Value>
void product(const ProductPass<Value>& pass, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kWidth = 2 * kLanes<Value>;
  const std::int64_t whole = pass.n / kWidth * kWidth;
  std::int64_t row = begin;
  for (; row + 4 <= end; row += 4) {
    for (std::int64_t j = 0; j < whole; j += kWidth) product_tile<4>(pass, row, j);
  }
  for (; row < end; ++row) {
    for (std::int64_t j = 0; j < whole; j += kWidth) product_tile<1>(pass, row, j);
  }
  for (row = begin; row < end; ++row) {
    for (std::int64_t j = whole; j < pass.n; ++j) product_element(pass, row, j);
  }
}

#define WEFT_OPTIMIZER_LOOPS_OF(Value)                                                         \
  {                                                                                            \
    sgd<Value>, adam<Value>, amsgrad<Value>, adagrad<Value>, rms_prop<Value>, adadelta<Value>, \
        lion<Value>, blend<Value>, squares_sum<Value>, column_squares<Value>,                  \
        scaled_squares<Value>, factored_update<Value>, product<Value>                          \
  }
#define WEFT_OPTIMIZER_LOOPS \
  { WEFT_OPTIMIZER_LOOPS_OF(float), WEFT_OPTIMIZER_LOOPS_OF(double) }

}  // namespace

extern const OptimizerBuild WEFT_LOOPS_NAME(optimizer_build) = WEFT_OPTIMIZER_LOOPS;

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
