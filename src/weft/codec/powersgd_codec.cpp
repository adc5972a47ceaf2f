// powersgd: one factor of each matrix of the vector; the other one all members share.
//
//   powersgd := mark:u32 rest factors
//   rest     := f32 for each value that is in no matrix, in their order
//   factors  := for each matrix `rank` vectors, f32: in even steps of a value for each row, in odd
//               steps of one for each column; finite, or NaN where the matrix is not
//
// In even steps all members share for each matrix orthonormal vectors Q of a value for each column.
// A member with the matrix M sends P = M Q, which decodes to P Q^T, the projection of M on them.
// The sum of all these, the result, has the columns that the sum of the P has; orthonormal vectors
// of these are the shared ones of the odd step that follows, in which a member sends M^T P in the
// same way. So the exchanges are steps of one power iteration on the sum of the members' matrices,
// which goes on from step to step (warm start), and what a projection drops comes back by error
// feedback. The mark is that of the shared vectors: a payload against others is refused.
//
// The matrices are those of the layout; of a vector without one, one of as many rows as columns, or
// nearly so. A matrix that would not become half as long, of both kinds of steps, counts as rest.
//
// IMPLEMENTATION: T. Vogels, S. P. Karimireddy, M. Jaggi, "PowerSGD: practical low-rank gradient
// compression for distributed optimization", NeurIPS 2019, algorithm 1, but with one exchange for
// each step instead of two, so that a round has one payload: each step does half an iteration. The
// residual is what a member's own payload lacks, not what the mean lacks. Vectors begin uniform,
// not normal. Where a column of the sum depends on others, or is no number, one is drawn for it.
// Time O(rank x elements), and O(rank^2 x (rows + cols)) for the vectors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/codec/codec_def.h"
#include "weft/codec/codec_parts.h"
#include "weft/codec/loops/low_rank_loops.h"

namespace weft {
namespace {

constexpr Option kPowersgdOptions[] = {
    {.name = "rank",
     .fallback = 4,
     .min = 1,
     .max = 128,
     .whole = true,
     .help = "Vectors of each matrix that are sent; a matrix that gains less than half travels as "
             "it is."},
};

// Which factor of a matrix.
enum class Side { kLeft, kRight };  // a value for each row; for each column

Side sent_side(std::uint64_t steps) { return steps % 2 == 0 ? Side::kLeft : Side::kRight; }
Side shared_side(std::uint64_t steps) { return steps % 2 == 0 ? Side::kRight : Side::kLeft; }
std::size_t length_of(const VectorMatrix& matrix, Side side) {
  return side == Side::kLeft ? matrix.rows : matrix.cols;
}

VectorMatrix nearly_square(std::size_t elements) {
  auto rows = static_cast<std::size_t>(std::sqrt(static_cast<double>(elements)));
  rows = std::max<std::size_t>(rows, 1);
  return {0, rows, elements / rows};
}

// What of a vector travels as factors.
struct FactorPlan {
  FactorPlan(const CodecInput& input, std::size_t elements)
      : rank(static_cast<std::size_t>(input.options[0])), rest(elements) {
    if (input.layout != nullptr && input.layout->elements == elements) {
      for (const VectorMatrix& matrix : input.layout->matrices) add(matrix, elements);
    } else {
      add(nearly_square(elements), elements);
    }
  }
  std::size_t factor_values(Side side) const {
    std::size_t values = 0;
    for (const VectorMatrix& matrix : matrices) values += rank * length_of(matrix, side);
    return values;
  }
  std::size_t bytes(Side side) const {
    return sizeof(std::uint32_t) + (rest + factor_values(side)) * sizeof(float);
  }

  std::size_t rank;
  // Ascending.
  std::vector<VectorMatrix> matrices;
  // How many values are in none of them.
  std::size_t rest;

 private:
  void add(const VectorMatrix& matrix, std::size_t elements) {
    const std::size_t values = matrix.rows * matrix.cols;
    if (values == 0 || rank * (matrix.rows + matrix.cols) > values) return;
    const std::size_t begin = matrices.empty() ? 0 : end_of(matrices.back());
    WEFT_CHECK(matrix.offset >= begin && matrix.offset + values <= elements);
    matrices.push_back(matrix);
    rest -= values;
  }
  static std::size_t end_of(const VectorMatrix& matrix) {
    return matrix.offset + matrix.rows * matrix.cols;
  }
};

// Calls body(offset, count) for each stretch of values that are in no matrix.
template <class Body>
void for_rest(const FactorPlan& plan, std::size_t elements, Body body) {
  std::size_t at = 0;
  for (const VectorMatrix& matrix : plan.matrices) {
    if (matrix.offset > at) body(at, matrix.offset - at);
    at = matrix.offset + matrix.rows * matrix.cols;
  }
  if (elements > at) body(at, elements - at);
}

// --- Vectors.

double norm_of_vector(std::span<const double> vector) {
  double squares = 0;
  for (const double value : vector) squares += value * value;
  return std::sqrt(squares);
}

// Takes the parts along `others`, which are orthonormal and stand one after the other, out of
// `vector`; twice, so that roundings leave nothing.
void project_out(std::span<const double> others, std::span<double> vector) {
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t at = 0; at < others.size(); at += vector.size()) {
      const auto other = others.subspan(at, vector.size());
      double along = 0;
      for (std::size_t i = 0; i < vector.size(); ++i) along += vector[i] * other[i];
      for (std::size_t i = 0; i < vector.size(); ++i) vector[i] -= along * other[i];
    }
  }
}

// Makes vectors of this length, which stand one after the other, orthonormal (Gram-Schmidt), and
// draws one for each that depends on those before it, or has no finite length.
// REQUIRES: fewer vectors than values in each.
void orthonormalise(std::span<double> vectors, std::size_t length, Rng& rng) {
  // What is left of a vector that is the sum of others, but for the roundings of floats.
  constexpr double kIndependent = 1e-6;
  for (std::size_t at = 0; at < vectors.size(); at += length) {
    const auto vector = vectors.subspan(at, length);
    for (;;) {
      const double before = norm_of_vector(vector);
      if (before > 0 && std::isfinite(before)) {
        project_out(vectors.first(at), vector);
        const double after = norm_of_vector(vector);
        if (after > kIndependent * before) {
          for (double& value : vector) value /= after;
          break;
        }
      }
      for (double& value : vector) value = 2 * rng.uniform() - 1;
    }
  }
}

// The one NaN that factors have: which of them an operation gives differs between processors.
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

// At most the largest float; NaN for what is not finite.
float to_float(double value) {
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<float>::max());
  if (!std::isfinite(value)) return kNotANumber;
  return static_cast<float>(std::clamp(value, -kLargest, kLargest));
}

// For each of the shared vectors its product with the matrix.
std::vector<double> times_shared(const VectorMatrix& matrix, const float* values,
                                 const float* shared, Side side, std::size_t rank) {
  const MatrixValues given = {values + matrix.offset, matrix.rows, matrix.cols};
  const std::size_t taken = length_of(matrix, side);
  const std::size_t made = matrix.rows + matrix.cols - taken;
  std::vector<double> products(rank * made);
  for (std::size_t k = 0; k < rank; ++k) {
    const auto loop =
        side == Side::kRight ? low_rank_loops().times_right : low_rank_loops().times_left;
    loop(given, shared + k * taken, products.data() + k * made);
  }
  return products;
}

// --- What members share.

std::uint32_t mark_of(const FactorPlan& plan, const SharedFactors& shared) {
  Bytes bytes;
  append_value(std::uint64_t{shared.elements}, bytes);
  append_value(shared.steps, bytes);
  for (const VectorMatrix& each : plan.matrices) {
    for (const std::uint64_t value : {each.offset, each.rows, each.cols}) {
      append_value(value, bytes);
    }
  }
  append_value(xxh3_128(as_bytes(std::span<const float>(shared.values))), bytes);
  const Hash128 hash = xxh3_128(bytes);
  std::uint32_t mark = 0;
  std::memcpy(&mark, hash.data(), sizeof mark);
  return mark;
}

SharedFactors powersgd_begin(const CodecInput& input, std::size_t elements) {
  const FactorPlan plan(input, elements);
  SharedFactors shared;
  shared.elements = elements;
  Rng rng(input.seed);
  for (const VectorMatrix& matrix : plan.matrices) {
    // Zeros, for which others are drawn.
    std::vector<double> vectors(plan.rank * matrix.cols);
    orthonormalise(vectors, matrix.cols, rng);
    for (const double value : vectors) shared.values.push_back(to_float(value));
  }
  shared.mark = mark_of(plan, shared);
  return shared;
}

SharedFactors powersgd_next(const CodecInput& input, std::span<const float> result) {
  const FactorPlan plan(input, result.size());
  const SharedFactors& now = *input.shared;
  const Side side = shared_side(now.steps);
  SharedFactors next;
  next.elements = result.size();
  next.steps = now.steps + 1;
  next.values.reserve(plan.factor_values(sent_side(now.steps)));
  Rng rng(input.seed, next.steps);
  const float* vectors = now.values.data();
  for (const VectorMatrix& matrix : plan.matrices) {
    std::vector<double> made = times_shared(matrix, result.data(), vectors, side, plan.rank);
    vectors += plan.rank * length_of(matrix, side);
    orthonormalise(made, length_of(matrix, sent_side(now.steps)), rng);
    for (const double value : made) next.values.push_back(to_float(value));
  }
  next.mark = mark_of(plan, next);
  return next;
}

// --- Payloads.

std::size_t powersgd_bytes_max(const CodecInput& input, std::size_t elements) {
  const FactorPlan plan(input, elements);
  return std::max(plan.bytes(Side::kLeft), plan.bytes(Side::kRight));
}

void powersgd_encode(const CodecInput& input, std::span<const float> values, Bytes& out) {
  const FactorPlan plan(input, values.size());
  const SharedFactors& shared = *input.shared;
  const Side side = shared_side(shared.steps);
  append_value(shared.mark, out);
  for_rest(plan, values.size(), [&](std::size_t offset, std::size_t count) {
    const ByteSpan part = as_bytes(values.subspan(offset, count));
    out.insert(out.end(), part.begin(), part.end());
  });
  const float* vectors = shared.values.data();
  for (const VectorMatrix& matrix : plan.matrices) {
    const std::vector<double> factor =
        times_shared(matrix, values.data(), vectors, side, plan.rank);
    vectors += plan.rank * length_of(matrix, side);
    for (const double value : factor) append_value(to_float(value), out);
  }
}

Status powersgd_decode(const CodecInput& input, ByteSpan bytes, std::span<float> out) {
  const FactorPlan plan(input, out.size());
  const SharedFactors& shared = *input.shared;
  const Side side = sent_side(shared.steps);
  if (bytes.size() != plan.bytes(side)) {
    return corrupt(fmt::format("powersgd: expected {} bytes for {} values, got {}",
                               plan.bytes(side), out.size(), bytes.size()));
  }
  std::uint32_t mark = 0;
  std::memcpy(&mark, bytes.data(), sizeof mark);
  if (mark != shared.mark) {
    return corrupt(fmt::format("powersgd: expected a factor against {:08x}, got one against {:08x}",
                               shared.mark, mark));
  }
  const std::uint8_t* from = bytes.data() + sizeof mark;
  const auto take = [&](float* to, std::size_t count) {
    std::memcpy(to, from, count * sizeof(float));
    from += count * sizeof(float);
  };
  for_rest(plan, out.size(),
           [&](std::size_t offset, std::size_t count) { take(&out[offset], count); });
  const float* vectors = shared.values.data();
  std::vector<float> factor;
  for (const VectorMatrix& matrix : plan.matrices) {
    factor.resize(plan.rank * length_of(matrix, side));
    take(factor.data(), factor.size());
    for (float& value : factor) {
      if (std::isinf(value)) return corrupt("powersgd: a factor has an infinite value");
      if (std::isnan(value)) value = kNotANumber;
    }
    const float* const left = side == Side::kLeft ? factor.data() : vectors;
    const float* const right = side == Side::kLeft ? vectors : factor.data();
    low_rank_loops().outer(left, right, plan.rank, matrix.rows, matrix.cols, &out[matrix.offset]);
    vectors += plan.rank * length_of(matrix, shared_side(shared.steps));
  }
  return {};
}

// A projection drops no more than there is, but for the roundings of the factors.
double powersgd_loss(const CodecInput& input, std::span<const float> values) {
  const FactorPlan plan(input, values.size());
  double loss = 0;
  for (const VectorMatrix& matrix : plan.matrices) {
    const auto part = values.subspan(matrix.offset, matrix.rows * matrix.cols);
    loss += sum_of_squares(part) * (1 + 1e-5) + static_cast<double>(part.size()) * 1e-88;
  }
  return loss;
}

}  // namespace

extern const CodecDef powersgd_codec = {
    .name = "powersgd",
    .summary =
        "One factor of low rank of each matrix, in turns the left and the right one; the "
        "other one is shared (Vogels et al. 2019).",
    .options = kPowersgdOptions,
    .feedback = true,
    .bytes_max = powersgd_bytes_max,
    .encode = powersgd_encode,
    .decode = powersgd_decode,
    .loss_max = powersgd_loss,
    .begin_shared = powersgd_begin,
    .next_shared = powersgd_next,
};

}  // namespace weft
