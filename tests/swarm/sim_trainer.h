// SimTrainer: training whose every state is known beforehand, so that any wrong sum shows.
//
// The state is a vector of small integers held in f32, and the gradient of each item of the global
// batch depends on the state and the item alone. All sums are exact; therefore the state after a
// round is the same for any number of peers, and expected() gives it without any network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"

namespace weft::sim {

class SimTrainer {
 public:
  explicit SimTrainer(std::size_t elements);

  // The sum of the gradients of items [begin, end) of the global batch, for the next round.
  std::vector<float> gradient(int begin, int end) const;
  void apply(std::span<const float> reduced);
  std::uint64_t round() const { return round_; }
  Hash128 hash() const;
  Bytes serialise() const;
  Status load(ByteSpan bytes);

  static constexpr int kGlobalBatch = 24;

 private:
  std::uint64_t round_ = 0;
  std::vector<float> state_;
};

// The hash of the state after each of rounds 0 .. rounds.
std::vector<Hash128> expected(std::size_t elements, std::uint64_t rounds);

}  // namespace weft::sim
