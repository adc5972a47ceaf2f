// ChunkSums: which chunks of a batch each worker sums, with which coefficients, so that the sums of
// some of the workers give the sum over all chunks.
//
// Worker i computes the gradients g_c of its chunks and sends sum_c B_ic g_c. With coefficients a_i
// of the workers whose messages came, sum_i a_i B_ic = 1 for every chunk c, and the sum of a_i
// times their messages is the sum of all g_c.
//
// Coefficients are complex: a vector of values counts as one of complex numbers, v[2k] + i v[2k+1],
// with a zero after an odd length. A message is as long as a gradient, so this costs no traffic.
//
// IMPLEMENTATION: R. Tandon, Q. Lei, A. Dimakis, N. Karampatziakis, "Gradient coding: avoiding
// stragglers in distributed learning", ICML 2017, section 2.
// Where it stands: one round of the codes in code/rounds. Threads: immutable.
// Fails: kInvalidArgument for sizes that a construction does not have; kUnavailable where too few
// messages came, or where rounding leaves no sum. A decoder never returns coefficients of another
// sum: decode() checks them against the chunks.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/status.h"

namespace weft {

using Coefficient = std::complex<double>;

inline constexpr std::size_t kCodedWorkersMax = 512;
// The limit of cyclic_sums() and roots_sums(), whose rounding errors grow with the stragglers.
inline constexpr std::size_t kSolvedStragglersMax = 64;

// The gradient of a chunk times a coefficient.
struct ChunkTerm {
  std::size_t chunk = 0;
  Coefficient coefficient = 1;
};

struct ChunkCodeSize {
  std::size_t workers = 1;
  // How many messages may be missing, less than the workers.
  std::size_t stragglers = 0;
};

struct ChunkDecode {
  // For each worker; 0 for those whose messages are not used.
  std::vector<Coefficient> coefficients;
  // The largest magnitude of these.
  double largest_coefficient = 0;
  // By how much a rounding error of the messages, relative to the largest product of a coefficient
  // and a chunk's gradient in them, may grow: the maximum over chunks c of sum_i |a_i B_ic|.
  double amplification = 0;
};

class ChunkSums {
 public:
  // `rows[i]` are the terms of worker i. REQUIRES: as many rows as workers.
  ChunkSums(ChunkCodeSize size, std::size_t chunks, std::vector<std::vector<ChunkTerm>> rows);
  virtual ~ChunkSums() = default;
  ChunkSums(const ChunkSums&) = delete;
  ChunkSums& operator=(const ChunkSums&) = delete;

  std::size_t workers() const { return size_.workers; }
  std::size_t stragglers() const { return size_.stragglers; }
  std::size_t chunks() const { return chunks_; }
  const std::vector<ChunkTerm>& row(std::size_t worker) const { return rows_[worker]; }

  // `came` has whether each worker's message is there. Any stragglers() may be missing.
  // REQUIRES: as many as workers().
  Result<ChunkDecode> decode(const std::vector<bool>& came) const;

 private:
  // Coefficients of each worker, 0 where `came` is false; kUnavailable if there are none.
  virtual Result<std::vector<Coefficient>> solve(const std::vector<bool>& came) const = 0;

  ChunkCodeSize size_;
  std::size_t chunks_;
  std::vector<std::vector<ChunkTerm>> rows_;
};

// What is wrong with `size` for any construction.
Status check_chunk_code(const ChunkCodeSize& size);
// kUnavailable where more messages are missing than `size` allows.
Status check_missing(const ChunkCodeSize& size, const std::vector<bool>& came);

// Groups of stragglers + 1 workers that sum the same: workers / (stragglers + 1) chunks, and
// coefficients 1. As long as one of each group came, more may be missing.
// REQUIRES of the caller's size: stragglers + 1 divides the workers, else kInvalidArgument.
Result<std::unique_ptr<const ChunkSums>> repetition_sums(const ChunkCodeSize& size);
// As many chunks as workers; worker i sums the chunks from i to i + stragglers (modulo the
// workers).
Result<std::unique_ptr<const ChunkSums>> cyclic_sums(const ChunkCodeSize& size);
// As cyclic_sums(), with the workers in another order, and coefficients from a polynomial.
Result<std::unique_ptr<const ChunkSums>> roots_sums(const ChunkCodeSize& size);
// repetition_sums() where that exists, else cyclic_sums().
Result<std::unique_ptr<const ChunkSums>> any_sums(const ChunkCodeSize& size);

}  // namespace weft
