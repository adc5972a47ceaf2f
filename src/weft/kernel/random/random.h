// Random arrays from Philox: every value is a function of (seed, offset, position), so it is the
// same for any thread count, instruction set and device.
//
// A Generator holds its seed and its offset in a small array, which every fill reads and advances
// as a launch: each replay of a captured graph continues with new numbers.
// IMPLEMENTATION: Philox4x32-10 (base/rng.h) with the key `seed` and the counter {block, domain};
// value i of a fill uses word i of the blocks from `offset` on, in the order of rows.h (or words 2i
// and 2i + 1 where it needs 64 bits); a fill takes whole groups of 16 blocks.
// f64 normals use the C library's log and cos, whose last bit may differ between libraries.
// Threads: a Generator belongs to one thread.
// Fails: types that a distribution lacks throw std::invalid_argument.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

class Generator {
 public:
  // `offset` is rounded up to a multiple of 16.
  explicit Generator(std::uint64_t seed, std::uint64_t offset = 0);
  // Starts over; arrays made before do not change.
  void set(std::uint64_t seed, std::uint64_t offset = 0);
  std::uint64_t seed() const;
  // In Philox blocks; (seed, offset) is the complete state.
  std::uint64_t offset() const;
  // i64 [2]: seed, offset; for the kernels.
  Array& state() { return state_; }

 private:
  Array state_;
};

// All fill `out`, which is contiguous.

// Uniform in [0, 1): 24 bits of f32, 53 of f64, 8 of bf16, 11 of f16.
void fill_uniform(Array& out, Generator& generator);
// Standard normal; bf16 and f16 are rounded from f32.
void fill_normal(Array& out, Generator& generator);
// Integers in [low, high), of any type that holds them; a bias of at most (high - low) / 2^64.
// REQUIRES: low < high.
void fill_integers(Array& out, std::int64_t low, std::int64_t high, Generator& generator);
// 1 with `probability`, in steps of 2^-32, else 0; any type.
void fill_bernoulli(Array& out, double probability, Generator& generator);
// 1 with the probability at the same place of `probabilities` (floating, same shape); any type.
void fill_bernoulli(Array& out, const Array& probabilities, Generator& generator);
// The integers below the length of `out` (i64, one axis) in random order.
void fill_permutation(Array& out, Generator& generator);

}  // namespace weft
