// Convolutions and their gradients as sums in f64, written down once more for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/kernel/conv/conv.h"

namespace weft::conv_oracle {

struct Problem {
  Shape x;
  Shape weight;
  Conv2dGeometry geometry;
};

inline std::string describe(const Problem& p) {
  const auto pair = [](const Pair& v) { return std::to_string(v[0]) + "," + std::to_string(v[1]); };
  return "x " + to_string(p.x) + " weight " + to_string(p.weight) + " stride " +
         pair(p.geometry.stride) + " padding " + pair(p.geometry.padding) + " dilation " +
         pair(p.geometry.dilation) + " groups " + std::to_string(p.geometry.groups);
}

// Row-major places of an index in four dimensions.
struct Place {
  std::int64_t at[4];
};
inline Place place_of(const Shape& shape, std::int64_t index) {
  Place place{};
  for (int axis = 3; axis >= 0; --axis) {
    place.at[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return place;
}

// The operands in f64, and sums over them.
class Oracle {
 public:
  Oracle(const Problem& problem, const Array& x, const Array& weight, const Array& dy)
      : p_(problem),
        x_(x.to_vector<float>()),
        weight_(weight.to_vector<float>()),
        dy_(dy.to_vector<float>()),
        y_(dy.shape()) {}

  double y(std::int64_t index) const {
    const Place at = place_of(y_, index);
    const std::int64_t first = at.at[1] / (p_.weight[0] / p_.geometry.groups) * p_.weight[1];
    double sum = 0;
    for (std::int64_t c = 0; c < p_.weight[1]; ++c) {
      for_each_tap([&](std::int64_t i, std::int64_t j) {
        sum += x(at.at[0], first + c, row(at.at[2], i), column(at.at[3], j)) *
               weight(at.at[1], c, i, j);
      });
    }
    return sum;
  }

  double dx(std::int64_t index) const {
    const Place at = place_of(p_.x, index);
    const std::int64_t group = at.at[1] / p_.weight[1];
    const std::int64_t each = p_.weight[0] / p_.geometry.groups;
    double sum = 0;
    for (std::int64_t o = group * each; o < (group + 1) * each; ++o) {
      for_each_tap([&](std::int64_t i, std::int64_t j) {
        const std::int64_t r = from(at.at[2], i, 0);
        const std::int64_t s = from(at.at[3], j, 1);
        if (r < 0 || s < 0 || r >= y_[2] || s >= y_[3]) return;
        sum += dy(at.at[0], o, r, s) * weight(o, at.at[1] % p_.weight[1], i, j);
      });
    }
    return sum;
  }

  double dweight(std::int64_t index) const {
    const Place at = place_of(p_.weight, index);
    const std::int64_t c = at.at[0] / (p_.weight[0] / p_.geometry.groups) * p_.weight[1] + at.at[1];
    double sum = 0;
    for (std::int64_t n = 0; n < y_[0]; ++n) {
      for (std::int64_t r = 0; r < y_[2]; ++r) {
        for (std::int64_t s = 0; s < y_[3]; ++s) {
          sum += dy(n, at.at[0], r, s) * x(n, c, row(r, at.at[2]), column(s, at.at[3]));
        }
      }
    }
    return sum;
  }

  double dbias(std::int64_t o) const {
    double sum = 0;
    for (std::int64_t n = 0; n < y_[0]; ++n) {
      for (std::int64_t i = 0; i < y_[2] * y_[3]; ++i) sum += dy(n, o, i / y_[3], i % y_[3]);
    }
    return sum;
  }

 private:
  template <class Body>
  void for_each_tap(Body body) const {
    for (std::int64_t i = 0; i < p_.weight[2]; ++i) {
      for (std::int64_t j = 0; j < p_.weight[3]; ++j) body(i, j);
    }
  }
  std::int64_t row(std::int64_t out, std::int64_t tap) const {
    return out * p_.geometry.stride[0] - p_.geometry.padding[0] + tap * p_.geometry.dilation[0];
  }
  std::int64_t column(std::int64_t out, std::int64_t tap) const {
    return out * p_.geometry.stride[1] - p_.geometry.padding[1] + tap * p_.geometry.dilation[1];
  }
  // The output that sees pixel `in` through `tap`, or -1.
  std::int64_t from(std::int64_t in, std::int64_t tap, std::size_t axis) const {
    const std::int64_t place = in + p_.geometry.padding[axis] - tap * p_.geometry.dilation[axis];
    return place >= 0 && place % p_.geometry.stride[axis] == 0 ? place / p_.geometry.stride[axis]
                                                               : -1;
  }
  static double at(const std::vector<float>& values, const Shape& shape, std::int64_t a,
                   std::int64_t b, std::int64_t c, std::int64_t d) {
    return values[static_cast<std::size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] + d)];
  }
  double x(std::int64_t n, std::int64_t c, std::int64_t r, std::int64_t s) const {
    if (r < 0 || s < 0 || r >= p_.x[2] || s >= p_.x[3]) return 0;
    return at(x_, p_.x, n, c, r, s);
  }
  double weight(std::int64_t o, std::int64_t c, std::int64_t i, std::int64_t j) const {
    return at(weight_, p_.weight, o, c, i, j);
  }
  double dy(std::int64_t n, std::int64_t o, std::int64_t r, std::int64_t s) const {
    return at(dy_, y_, n, o, r, s);
  }

  Problem p_;
  std::vector<float> x_;
  std::vector<float> weight_;
  std::vector<float> dy_;
  Shape y_;
};

// Uniform in [low, high].
inline std::int64_t between(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng.uniform() * static_cast<double>(high - low + 1));
}

}  // namespace weft::conv_oracle
