// BatchLoader: hands out parts of global batches as arrays and makes the next one ahead.
//
// Where it stands: Dataset + Sampler -> BatchLoader -> train step. What it returns is a function
// of the dataset, the sampler's options and the arguments alone; whether a batch was made ahead
// by the loader's thread or on the spot changes no bit, nor does the number of peers or threads.
// Threads: one caller at a time; owns one thread.
// Fails: kInvalidArgument on a step below 0 or a range outside the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "weft/array/array.h"
#include "weft/base/thread.h"
#include "weft/data/dataset.h"
#include "weft/data/sampler.h"

namespace weft {

struct Batch {
  Array inputs;  // f32 [n, 1, height, width]
  Array labels;  // i64 [n]
};

// value = byte / 255, then (value - mean) / deviation, as one multiplication and one addition.
struct Normalization {
  double mean = 0.0;
  double deviation = 1.0;  // > 0
};

// The samples `indexes` in that order. REQUIRES: each index < dataset.size.
Batch make_batch(const Dataset& dataset, std::span<const std::uint32_t> indexes,
                 Normalization normalization);
// The samples [begin, end) in the order of the dataset, for evaluation. REQUIRES: in range.
Batch make_batch(const Dataset& dataset, std::int64_t begin, std::int64_t end,
                 Normalization normalization);

struct BatchLoaderOptions {
  std::uint64_t seed = 1;
  std::int64_t batch_size = 0;  // global
  bool shuffle = true;
  bool prefetch = true;  // false: every batch is made on the spot and no thread is started
  // Nothing: the dataset's own mean and deviation.
  std::optional<Normalization> normalization = std::nullopt;
};

class BatchLoader {
 public:
  // Shares `dataset`. Fails: kInvalidArgument as Sampler::make, or on a deviation <= 0.
  static Result<std::unique_ptr<BatchLoader>> make(std::shared_ptr<const Dataset> dataset,
                                                   const BatchLoaderOptions& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  std::int64_t steps_per_epoch() const { return sampler_.steps_per_epoch(); }
  std::int64_t batch_size() const { return sampler_.options().batch_size; }

  // Positions `shard` of the global batch of `step`; an empty shard gives a batch of no rows.
  // Then begins the same shard of the next step.
  Result<Batch> get(std::int64_t step, ShardRange shard);

 private:
  struct Key {
    std::int64_t step = 0;
    ShardRange shard;
    friend bool operator==(const Key&, const Key&) = default;
  };
  // What caller and worker share: one order, one batch in the making, one made.
  struct Exchange {
    std::optional<Key> wanted;
    std::optional<Key> in_work;
    std::optional<Key> made;
    Batch batch;
    bool stop = false;
  };

  BatchLoader(std::shared_ptr<const Dataset> dataset, Sampler sampler, Normalization normalization,
              const BatchLoaderOptions& options);
  Batch make(Sampler& sampler, const Key& key) const;
  std::optional<Batch> take_made(const Key& key);
  void run_worker();

  std::shared_ptr<const Dataset> dataset_;
  Sampler sampler_;
  Sampler worker_sampler_;
  Normalization normalization_;
  Guarded<Exchange> exchange_;
  bool prefetch_;
  Thread worker_;
};

}  // namespace weft
