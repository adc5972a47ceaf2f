#include "weft/code/chunk/chunk_sums.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {
namespace {

// How far from 1 the coefficient of a chunk may be in a decoded sum: about the rounding of float.
constexpr double kCoefficientErrorMax = 1e-7;

}  // namespace

ChunkSums::ChunkSums(ChunkCodeSize size, std::size_t chunks,
                     std::vector<std::vector<ChunkTerm>> rows)
    : size_(size), chunks_(chunks), rows_(std::move(rows)) {
  WEFT_CHECK(rows_.size() == size.workers);
}

Result<ChunkDecode> ChunkSums::decode(const std::vector<bool>& came) const {
  WEFT_CHECK(came.size() == size_.workers);
  ChunkDecode decoded;
  WEFT_TRY_ASSIGN(decoded.coefficients, solve(came));
  std::vector<Coefficient> sums(chunks_);
  std::vector<double> magnitudes(chunks_);
  for (std::size_t worker = 0; worker < size_.workers; ++worker) {
    const Coefficient factor = decoded.coefficients[worker];
    WEFT_CHECK(came[worker] || factor == Coefficient(0));
    decoded.largest_coefficient = std::max(decoded.largest_coefficient, std::abs(factor));
    for (const ChunkTerm& term : rows_[worker]) {
      sums[term.chunk] += factor * term.coefficient;
      magnitudes[term.chunk] += std::abs(factor * term.coefficient);
    }
  }
  for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
    decoded.amplification = std::max(decoded.amplification, magnitudes[chunk]);
    const double error = std::abs(sums[chunk] - 1.0);
    if (!(error <= kCoefficientErrorMax)) {
      return unavailable(fmt::format(
          "not decodable: rounding leaves an error of {:.1e} in chunk {}, more than {:.0e}; wait "
          "for more workers, or tolerate fewer stragglers",
          error, chunk, kCoefficientErrorMax));
    }
  }
  return decoded;
}

Status check_chunk_code(const ChunkCodeSize& size) {
  if (size.workers < 1 || size.workers > kCodedWorkersMax) {
    return invalid_argument(
        fmt::format("workers: expected 1 to {}, got {}", kCodedWorkersMax, size.workers));
  }
  if (size.stragglers >= size.workers) {
    return invalid_argument(fmt::format("stragglers: expected fewer than the {} workers, got {}",
                                        size.workers, size.stragglers));
  }
  return {};
}

Status check_missing(const ChunkCodeSize& size, const std::vector<bool>& came) {
  const auto missing = static_cast<std::size_t>(std::count(came.begin(), came.end(), false));
  if (missing <= size.stragglers) return {};
  return unavailable(fmt::format("not decodable: {} of {} workers are missing, at most {} may be",
                                 missing, size.workers, size.stragglers));
}

Result<std::unique_ptr<const ChunkSums>> any_sums(const ChunkCodeSize& size) {
  WEFT_TRY(check_chunk_code(size));
  return size.workers % (size.stragglers + 1) == 0 ? repetition_sums(size) : cyclic_sums(size);
}

}  // namespace weft
