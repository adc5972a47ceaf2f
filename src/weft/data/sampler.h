// Sampler: the samples of a step's global batch, as a pure function of (seed, dataset size, batch
// size, order, step).
//
// It keeps no state between steps, so a run resumes at any step and all peers agree without a
// message. Peers split one global batch with shard_of(): the parts joined in rank order are the
// batch, whatever their number. Samples that do not fill a last batch are left out of that epoch.
// Threads: one owner (it caches the order of one epoch); each thread makes its own, and all agree.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

enum class SampleOrder : std::uint8_t {
  kShuffled,    // every epoch is a fresh shuffle of all samples
  kSequential,  // the order of the dataset, for evaluation
  kRandom,      // each drawn from all `draw_size`, with replacement: random windows of a text
  kStreams,     // row r of the batch reads on, step by step, in the r-th of batch_size equal parts
};

// "shuffled", "sequential", "random", "streams".
std::string_view to_string(SampleOrder order);
// Fails: kInvalidArgument, listing the names.
Result<SampleOrder> sample_order_from(std::string_view name);

struct SamplerOptions {
  std::uint64_t seed = 1;
  std::int64_t dataset_size = 0;
  std::int64_t batch_size = 0;  // global: of all peers together
  SampleOrder order = SampleOrder::kShuffled;
  std::int64_t draw_size = 0;  // kRandom: indexes are below this; 0 stands for dataset_size
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
// Part `rank` of a batch that is split into parts of these sizes, in order. REQUIRES: the same.
ShardRange shard_of(std::span<const std::int64_t> sizes, std::int64_t rank);

class Sampler {
 public:
  // Fails: kInvalidArgument unless 1 <= batch_size <= dataset_size < 2^32 (< 2^62 in the orders
  // that need no shuffle).
  static Result<Sampler> make(const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }
  // The number of steps, at least 1.
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch_; }
  // True if each row continues where the same row of the previous step ended.
  bool continues(std::int64_t step) const {
    return options_.order == SampleOrder::kStreams && step % steps_per_epoch_ != 0;
  }

  // The samples of the global batch of `step` >= 0, batch_size of them; valid until the next call.
  std::span<const std::int64_t> batch(std::int64_t step);

 private:
  explicit Sampler(const SamplerOptions& options);
  void shuffle(std::int64_t epoch);

  SamplerOptions options_;
  std::int64_t steps_per_epoch_ = 1;
  std::int64_t epoch_ = -1;           // whose order is in order_
  std::vector<std::uint32_t> order_;  // kShuffled only
  std::vector<std::int64_t> batch_;
};

}  // namespace weft
