// BatchLoader: returns parts of global batches as arrays, and prepares the next ones ahead of time.
//
// Where it stands: Dataset + Sampler -> BatchLoader -> train step. Its result is a function of the
// dataset, the options and the arguments alone; it does not depend, in any bit, on whether one of
// the loader's threads made a batch ahead of time, nor on the number of peers or threads. There is
// no iterator to share or to rewind: a resumed run asks for its step. Threads: one caller at a
// time; owns `workers` threads. They end with the loader, at the latest after the batch that they
// are making. Fails: kInvalidArgument on a step below 0 or a range outside the batch; an error of a
// worker, exceptions included, is returned by the get() that asks for that batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/thread.h"
#include "weft/data/batch.h"
#include "weft/data/dataset.h"
#include "weft/data/sampler.h"

namespace weft {

struct BatchLoaderOptions {
  std::uint64_t seed = 1;
  std::int64_t batch_size = 0;  // global
  SampleOrder order = SampleOrder::kShuffled;
  int workers = 1;  // 0: every batch is made on the spot and no thread is started
  int ahead = 1;    // batches made ahead, at most; at least `workers` are
  // Empty: the dataset's own mean and deviation.
  std::optional<Normalization> normalization = std::nullopt;
  std::shared_ptr<const Transforms> transforms = nullptr;
};

// Makes the batch of the samples `indexes`, in that order. Several threads call it at once; the
// result must depend on the arguments alone.
using BatchMaker =
    std::function<Result<Batch>(std::span<const std::int64_t> indexes, std::int64_t epoch)>;

class BatchLoader {
 public:
  // Shares `dataset`. Fails: kInvalidArgument like Sampler::make, on a deviation <= 0, a worker
  // count outside [0, 256], or transforms for data other than images.
  static Result<std::unique_ptr<BatchLoader>> make(std::shared_ptr<const Dataset> dataset,
                                                   const BatchLoaderOptions& options);
  // Loads data of any other kind: `size` samples, which `maker` collates. `maker` itself applies
  // any normalization and transforms.
  static Result<std::unique_ptr<BatchLoader>> make(BatchMaker maker, std::int64_t size,
                                                   const BatchLoaderOptions& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  std::int64_t steps_per_epoch() const { return sampler_.steps_per_epoch(); }
  std::int64_t batch_size() const { return sampler_.options().batch_size; }

  // Returns positions `shard` of the global batch of `step`; an empty shard gives a batch of no
  // rows. Afterwards the workers make the same shard of the next steps.
  Result<Batch> get(std::int64_t step, ShardRange shard);
  // Returns a batch of any samples, made on the spot, as get() makes those of epoch `epoch`. Fails:
  // kInvalidArgument for an index outside the data set.
  Result<Batch> samples(std::span<const std::int64_t> indexes, std::int64_t epoch) const;
  // Null where the batches are a BatchMaker's.
  const Dataset* dataset() const { return dataset_.get(); }

 private:
  struct Key {
    std::int64_t step = 0;
    ShardRange shard;
    friend bool operator==(const Key&, const Key&) = default;
  };
  enum class Progress : std::uint8_t { kWanted, kInWork, kMade };
  // One batch that is made ahead of time.
  struct Slot {
    Key key;
    Progress progress = Progress::kWanted;
    std::uint64_t id = 0;  // tells a slot from a later one of the same key
    std::optional<Result<Batch>> batch = std::nullopt;
  };
  // The state shared by the caller and the workers; the slots are in the order of their steps.
  struct Exchange {
    std::vector<Slot> slots;
    std::uint64_t next_id = 0;
    bool stop = false;
  };

  static std::unique_ptr<BatchLoader> start(BatchMaker maker, const Sampler& sampler,
                                            const BatchLoaderOptions& options);
  BatchLoader(BatchMaker maker, Sampler sampler, const BatchLoaderOptions& options);
  Result<Batch> make_now(Sampler& sampler, const Key& key) const;
  std::optional<Result<Batch>> take_made(const Key& key);
  void order_ahead(const Key& last);
  void run_worker(Sampler& sampler);

  BatchMaker maker_;
  std::shared_ptr<const Dataset> dataset_;
  Sampler sampler_;
  std::int64_t ahead_;
  Guarded<Exchange> exchange_;
  std::vector<Thread> workers_;
};

}  // namespace weft
