// Rng: counter-based random numbers (Philox4x32-10): the same key gives the same numbers on
// every machine and for any thread count.
//
// IMPLEMENTATION: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011, section 3.3; ten rounds. The test has the paper's known-answer vectors. Do not use it
// for secrets: those come from OpenSSL.
// Threads: one Rng belongs to one thread; philox4x32() is pure.
#pragma once

#include <array>
#include <cstdint>

namespace weft {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Four random words for `counter` under `key`.
PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key);

// [0, 1) with 24 bits.
float to_unit_float(std::uint32_t word);

class Rng {
 public:
  // Streams of one seed are independent: (seed, stream) names the whole sequence.
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  // [0, 1) with 53 bits.
  double uniform();
  // [0, bound) without bias. REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Standard normal (Box-Muller).
  double normal();
  bool chance(double probability) { return uniform() < probability; }

 private:
  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxCounter block_{};
  int used_ = 4;
};

}  // namespace weft
