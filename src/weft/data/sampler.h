// Sampler: which samples make the global batch of a step, a pure function of
// (seed, dataset size, batch size, step).
//
// Every epoch is a fresh shuffle of all samples; what does not fill a last batch is left out of
// that epoch. Nothing is remembered between steps, so a run resumes at any step and all peers
// agree without a message. Peers split one global batch by shard_of(): the parts joined in rank
// order are the batch, whatever their number.
// Threads: one owner (it caches the shuffle of one epoch); make one a thread, they agree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/status.h"

namespace weft {

struct SamplerOptions {
  std::uint64_t seed = 1;
  std::int64_t dataset_size = 0;
  std::int64_t batch_size = 0;  // global: of all peers together
  bool shuffle = true;          // false: in the order of the dataset, for evaluation
};

// Positions [begin, end) of a global batch.
struct ShardRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const ShardRange&, const ShardRange&) = default;
};

// Part `rank` of `count` nearly equal parts (sizes differ by at most one) of a batch.
// REQUIRES: 0 <= rank < count.
ShardRange shard_of(std::int64_t batch_size, std::int64_t rank, std::int64_t count);

class Sampler {
 public:
  // Fails: kInvalidArgument unless 1 <= batch_size <= dataset_size < 2^32.
  static Result<Sampler> make(const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }
  // At least 1.
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch_; }

  // The samples of the global batch of `step` >= 0, batch_size of them; valid until the next call.
  std::span<const std::uint32_t> batch(std::int64_t step);

 private:
  explicit Sampler(const SamplerOptions& options);
  void shuffle(std::int64_t epoch);

  SamplerOptions options_;
  std::int64_t steps_per_epoch_ = 1;
  std::int64_t epoch_ = -1;  // whose order is in order_
  std::vector<std::uint32_t> order_;
};

}  // namespace weft
