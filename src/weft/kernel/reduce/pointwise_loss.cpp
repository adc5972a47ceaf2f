#include "weft/kernel/reduce/pointwise_loss.h"

#include <algorithm>
#include <cmath>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

constexpr std::int64_t kLossGrain = 4'096;

template <class T>
T sign(T x) {
  return static_cast<T>((x > 0) - (x < 0));
}

// ln(1 + e^-x)
template <class T>
T softplus_of_negative(T x) {
  return std::log1p(std::exp(-std::abs(x))) + std::max(-x, T{0});
}

template <class T>
T sigmoid_of_negative(T x) {
  const T e = std::exp(-std::abs(x));
  return x < 0 ? 1 / (1 + e) : e / (1 + e);
}

// Each loss: value, derivative by x, derivative by the target t; w is the third operand and c the
// parameter.
struct Squared {
  template <class T>
  static T value(T x, T t, T, T) {
    return (x - t) * (x - t);
  }
  template <class T>
  static T by_input(T x, T t, T, T) {
    return 2 * (x - t);
  }
  template <class T>
  static T by_target(T x, T t, T, T) {
    return 2 * (t - x);
  }
};

struct Absolute {
  template <class T>
  static T value(T x, T t, T, T) {
    return std::abs(x - t);
  }
  template <class T>
  static T by_input(T x, T t, T, T) {
    return sign(x - t);
  }
  template <class T>
  static T by_target(T x, T t, T, T) {
    return sign(t - x);
  }
};

struct Huber {
  template <class T>
  static T value(T x, T t, T, T c) {
    const T d = std::abs(x - t);
    return d <= c ? d * d / 2 : c * (d - c / 2);
  }
  template <class T>
  static T by_input(T x, T t, T, T c) {
    const T d = x - t;
    return d < -c ? -c : d > c ? c : d;
  }
  template <class T>
  static T by_target(T x, T t, T w, T c) {
    return -by_input(x, t, w, c);
  }
};

struct BceLogits {
  template <class T>
  static T value(T x, T t, T w, T) {
    return (1 - t) * x + (1 + (w - 1) * t) * softplus_of_negative(x);
  }
  template <class T>
  static T by_input(T x, T t, T w, T) {
    return (1 - t) - (1 + (w - 1) * t) * sigmoid_of_negative(x);
  }
  template <class T>
  static T by_target(T x, T, T w, T) {
    return (w - 1) * softplus_of_negative(x) - x;
  }
};

struct Bce {
  template <class T>
  static T held_log(T x) {
    return std::max(std::log(x), T{-100});
  }
  template <class T>
  static T value(T x, T t, T, T) {
    return (t - 1) * held_log(1 - x) - t * held_log(x);
  }
  template <class T>
  static T by_input(T x, T t, T, T) {
    return (x - t) / std::max(x * (1 - x), static_cast<T>(1e-12));
  }
  template <class T>
  static T by_target(T x, T, T, T) {
    return held_log(1 - x) - held_log(x);
  }
};

struct Kl {
  template <class T>
  static T value(T x, T t, T, T) {
    return t == 0 ? T{0} : t * (std::log(t) - x);
  }
  template <class T>
  static T by_input(T, T t, T, T) {
    return -t;
  }
  template <class T>
  static T by_target(T x, T t, T, T) {
    return t == 0 ? T{0} : std::log(t) + 1 - x;
  }
};

struct KlLog {
  template <class T>
  static T value(T x, T t, T, T) {
    return std::exp(t) * (t - x);
  }
  template <class T>
  static T by_input(T, T t, T, T) {
    return -std::exp(t);
  }
  template <class T>
  static T by_target(T x, T t, T, T) {
    return std::exp(t) * (t - x + 1);
  }
};

template <class Body>
void with_loss(PointwiseLoss kind, const Body& body) {
  switch (kind) {
    case PointwiseLoss::kSquared:
      return body(Squared{});
    case PointwiseLoss::kAbsolute:
      return body(Absolute{});
    case PointwiseLoss::kHuber:
      return body(Huber{});
    case PointwiseLoss::kBceLogits:
      return body(BceLogits{});
    case PointwiseLoss::kBce:
      return body(Bce{});
    case PointwiseLoss::kKl:
      return body(Kl{});
    case PointwiseLoss::kKlLog:
      break;
  }
  body(KlLog{});
}

template <class T, class F>
void each_value(LaunchArrays in, LaunchArrays out, const F& f) {
  const T* const x = in[0].data<T>();
  const T* const t = in[1].data<T>();
  const T* const weight = in[2].defined() ? in[2].data<T>() : nullptr;
  const T* const factor = in[3].defined() ? in[3].data<T>() : nullptr;
  T* const y = out[0].data<T>();
  parallel_for(in[0].size(), kLossGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T value = f(x[i], t[i], weight == nullptr ? T{1} : weight[i]);
      y[i] = factor == nullptr ? value : factor[i] * value;
    }
  });
}

template <class T>
void compute_loss(const PointwiseLossRule& rule, LossPart part, LaunchArrays in, LaunchArrays out) {
  const T c = static_cast<T>(rule.parameter);
  with_loss(rule.kind, [&](auto loss) {
    using Loss = decltype(loss);
    if (part == LossPart::kValue) {
      each_value<T>(in, out, [c](T x, T t, T w) { return Loss::value(x, t, w, c); });
    } else if (part == LossPart::kByInput) {
      each_value<T>(in, out, [c](T x, T t, T w) { return Loss::by_input(x, t, w, c); });
    } else {
      each_value<T>(in, out, [c](T x, T t, T w) { return Loss::by_target(x, t, w, c); });
    }
  });
}

Array dense_as(const Array& x, DType dtype) {
  return x.defined() ? x.to(dtype).contiguous() : Array();
}

}  // namespace

Array pointwise_loss(const PointwiseLossRule& rule, LossPart part, const Array& x,
                     const Array& target, const Array& weight, const Array& factor) {
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Array from = dense_as(x, wide);
  const Array to = dense_as(target, wide);
  const Array weights = dense_as(weight, wide);
  const Array factors = dense_as(factor, wide);
  Array y = Array::empty(x.shape(), wide, x.device());
  launch("pointwise_loss", {&from, &to, &weights, &factors}, {&y},
         [rule, part](LaunchArrays in, LaunchArrays out) {
           if (out[0].dtype() == DType::kF64) {
             compute_loss<double>(rule, part, in, out);
           } else {
             compute_loss<float>(rule, part, in, out);
           }
         });
  return y.to(x.dtype());
}

}  // namespace weft
