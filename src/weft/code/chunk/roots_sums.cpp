// Cyclic code from roots of unity: every worker has the coefficients of one polynomial g, and a
// decoder's coefficients are a closed form.
//
// With w = exp(2 pi i / n), g has the s roots w^f whose f are nearest to n / 2, and g(1) = 1. The
// sum over all workers is then that of all chunks, and it stays so if the coefficient of the worker
// at position p becomes 1 + z^f q(z), z = w^-p, for the least f of the roots and any polynomial q
// of degree s - 1. q is chosen, by Lagrange's formula, so that the coefficients of the missing are
// 0. If fewer than s are missing, only as many of the roots are used, the middle ones.
//
// The farther apart on the circle those missing are, the smaller the coefficients; they are large
// where all are beside each other. Workers with consecutive numbers are often on one machine, so
// they are placed apart: worker i stands at the position i * stride.
//
// IMPLEMENTATION: N. Raviv, I. Tamo, R. Tandon, A. Dimakis, "Gradient coding from cyclic MDS codes
// and expander graphs", ICML 2018, section 4, a cyclic code over the complex numbers. The choice of
// roots, the stride and Lagrange's formula are ours. O(n s^2) for a decoder.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "weft/base/portable_math.h"
#include "weft/code/chunk/chunk_sums.h"

namespace weft {
namespace {

// w^power for `size` positions on the circle.
Coefficient unit_root(std::size_t size, std::size_t power) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(power % size) / static_cast<double>(size);
  return {portable_cos(angle), portable_cos(angle - std::numbers::pi / 2)};
}

// The operator's bits are those of a function of the compiler's library.
Coefficient divided(const Coefficient& a, const Coefficient& b) {
  return a * std::conj(b) / std::norm(b);
}

// The number without a common divisor with `workers` that is nearest to the golden section of it.
std::size_t position_stride(std::size_t workers) {
  auto stride = static_cast<std::size_t>(0.618 * static_cast<double>(workers));
  while (stride > 1 && std::gcd(stride, workers) != 1) --stride;
  return std::max<std::size_t>(1, stride);
}

class RootsSums final : public ChunkSums {
 public:
  RootsSums(const ChunkCodeSize& size, std::size_t first, std::vector<std::vector<ChunkTerm>> rows)
      : ChunkSums(size, size.workers, std::move(rows)),
        first_(first),
        stride_(position_stride(size.workers)) {}

 private:
  // z of a worker.
  Coefficient place(std::size_t worker) const {
    return std::conj(unit_root(workers(), worker * stride_));
  }

  // (place(worker) / place(missing))^power.
  Coefficient quotient(std::size_t worker, std::size_t missing, std::size_t power) const {
    const std::size_t apart = (missing + workers() - worker) * stride_;
    return unit_root(workers(), apart % workers() * power);
  }

  Result<std::vector<Coefficient>> solve(const std::vector<bool>& came) const override {
    WEFT_TRY(check_missing({workers(), stragglers()}, came));
    std::vector<std::size_t> missing;
    for (std::size_t worker = 0; worker < workers(); ++worker) {
      if (!came[worker]) missing.push_back(worker);
    }
    const std::size_t power = first_ + (stragglers() - missing.size()) / 2;
    std::vector<Coefficient> coefficients(workers());
    for (std::size_t worker = 0; worker < workers(); ++worker) {
      if (!came[worker]) continue;
      Coefficient sum = 1;
      for (const std::size_t one : missing) {
        Coefficient product = quotient(worker, one, power);
        for (const std::size_t other : missing) {
          if (other == one) continue;
          product *= divided(place(worker) - place(other), place(one) - place(other));
        }
        sum -= product;
      }
      coefficients[worker] = sum;
    }
    return coefficients;
  }

  std::size_t first_;
  std::size_t stride_;
};

// `roots` in an order that keeps the coefficients of the products small: each is the one farthest
// from those before it (Leja's order).
std::vector<Coefficient> spread_out(std::vector<Coefficient> roots) {
  std::vector<double> distance(roots.size(), 1);
  for (std::size_t k = 0; k < roots.size(); ++k) {
    const auto farthest =
        std::max_element(distance.begin() + static_cast<std::ptrdiff_t>(k), distance.end());
    const auto at = static_cast<std::size_t>(farthest - distance.begin());
    std::swap(roots[k], roots[at]);
    std::swap(distance[k], distance[at]);
    for (std::size_t i = k + 1; i < roots.size(); ++i)
      distance[i] *= std::norm(roots[i] - roots[k]);
  }
  return roots;
}

// The coefficients, constant first, of the polynomial with these roots and the value 1 at 1.
std::vector<Coefficient> polynomial_of(const std::vector<Coefficient>& roots) {
  std::vector<Coefficient> values = {1};
  for (const Coefficient& root : roots) {
    // (x - root) / (1 - root).
    const Coefficient scale = divided(1.0, 1.0 - root);
    values.push_back(0);
    for (std::size_t k = values.size(); k-- > 0;) {
      values[k] = ((k > 0 ? values[k - 1] : Coefficient(0)) - root * values[k]) * scale;
    }
  }
  return values;
}

}  // namespace

Result<std::unique_ptr<const ChunkSums>> roots_sums(const ChunkCodeSize& size) {
  WEFT_TRY(check_chunk_code(size));
  if (size.stragglers > kSolvedStragglersMax) {
    return invalid_argument(fmt::format("stragglers: expected at most {}, got {}",
                                        kSolvedStragglersMax, size.stragglers));
  }
  const std::size_t first = (size.workers - size.stragglers + 1) / 2;
  std::vector<Coefficient> roots;
  for (std::size_t k = 0; k < size.stragglers; ++k) {
    roots.push_back(unit_root(size.workers, first + k));
  }
  std::vector<Coefficient> values = polynomial_of(spread_out(std::move(roots)));
  // The roots come in conjugate pairs, so that the exact coefficients are real.
  if ((size.workers - size.stragglers) % 2 == 1) {
    for (Coefficient& value : values) value = value.real();
  }
  const std::size_t stride = position_stride(size.workers);
  std::vector<std::vector<ChunkTerm>> rows(size.workers);
  for (std::size_t worker = 0; worker < size.workers; ++worker) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      rows[worker].push_back({(worker * stride + k) % size.workers, values[k]});
    }
  }
  return std::unique_ptr<const ChunkSums>(
      std::make_unique<RootsSums>(size, first, std::move(rows)));
}

}  // namespace weft
