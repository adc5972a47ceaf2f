#include "weft/data/batch_loader.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "weft/base/exception_status.h"

namespace weft {
namespace {

constexpr int kWorkersMax = 256;
constexpr int kAheadMax = 1024;
// A worker that is late by this much is not waited for: the caller makes the batch itself.
constexpr std::int64_t kWaitMilliseconds = 2000;
// The workers look up from their wait this often; they are woken at once when there is work.
constexpr std::int64_t kIdleMilliseconds = 60000;

TimePoint from_now(std::int64_t milliseconds) {
  return deadline_after(SystemClock(), from_milliseconds(milliseconds));
}

Status check_options(const Dataset& dataset, const Normalization& normalization,
                     const BatchLoaderOptions& options) {
  const auto channels = static_cast<std::size_t>(dataset.channels);
  const bool images = dataset.kind == DatasetKind::kImages;
  if (!images && options.transforms != nullptr && !options.transforms->empty()) {
    return invalid_argument(fmt::format("transforms: expected a dataset of images, got one of {}",
                                        to_string(dataset.kind)));
  }
  if (options.order == SampleOrder::kStreams && dataset.kind != DatasetKind::kTokens) {
    return invalid_argument(fmt::format("loader: expected tokens for the order \"streams\", got {}",
                                        to_string(dataset.kind)));
  }
  for (const auto* values : {&normalization.mean, &normalization.deviation}) {
    if (images && values->size() != 1 && values->size() != channels) {
      return invalid_argument(fmt::format("loader: expected 1 or {} means and deviations, got {}",
                                          channels, values->size()));
    }
  }
  for (const double deviation : normalization.deviation) {
    if (!(deviation > 0)) {
      return invalid_argument(
          fmt::format("loader: expected a deviation above 0, got {}", deviation));
    }
  }
  return {};
}

Result<Sampler> make_sampler(std::int64_t size, std::int64_t draw_size,
                             const BatchLoaderOptions& options) {
  if (options.workers < 0 || options.workers > kWorkersMax || options.ahead < 0 ||
      options.ahead > kAheadMax) {
    return invalid_argument(
        fmt::format("loader: expected 0 to {} workers and 0 to {} batches ahead, got {} and {}",
                    kWorkersMax, kAheadMax, options.workers, options.ahead));
  }
  return Sampler::make({.seed = options.seed,
                        .dataset_size = size,
                        .batch_size = options.batch_size,
                        .order = options.order,
                        .draw_size = draw_size});
}

}  // namespace

Result<std::unique_ptr<BatchLoader>> BatchLoader::make(std::shared_ptr<const Dataset> dataset,
                                                       const BatchLoaderOptions& options) {
  if (dataset == nullptr) return invalid_argument("BatchLoader: expected a dataset, got none");
  WEFT_TRY(check_dataset(*dataset));
  BatchOptions batch_options;
  batch_options.normalization = options.normalization.value_or(
      Normalization{.mean = dataset->mean, .deviation = dataset->deviation});
  batch_options.transforms = options.transforms;
  batch_options.seed = options.seed;
  WEFT_TRY(check_options(*dataset, batch_options.normalization, options));
  const bool random_windows =
      dataset->kind == DatasetKind::kTokens && options.order == SampleOrder::kRandom;
  if (random_windows) batch_options.window_stride = 1;
  WEFT_TRY_ASSIGN(
      const Sampler sampler,
      make_sampler(dataset->size, random_windows ? dataset->window_starts() : 0, options));
  BatchMaker maker = [dataset, batch_options](std::span<const std::int64_t> indexes,
                                              std::int64_t epoch) {
    BatchOptions own = batch_options;
    own.epoch = epoch;
    return make_batch(*dataset, indexes, own);
  };
  std::unique_ptr<BatchLoader> loader = start(std::move(maker), sampler, options);
  loader->dataset_ = std::move(dataset);
  return loader;
}

Result<std::unique_ptr<BatchLoader>> BatchLoader::make(BatchMaker maker, std::int64_t size,
                                                       const BatchLoaderOptions& options) {
  WEFT_TRY_ASSIGN(const Sampler sampler, make_sampler(size, 0, options));
  return start(std::move(maker), sampler, options);
}

std::unique_ptr<BatchLoader> BatchLoader::start(BatchMaker maker, const Sampler& sampler,
                                                const BatchLoaderOptions& options) {
  return std::unique_ptr<BatchLoader>(new BatchLoader(std::move(maker), sampler, options));
}

BatchLoader::BatchLoader(BatchMaker maker, Sampler sampler, const BatchLoaderOptions& options)
    : maker_(std::move(maker)),
      sampler_(std::move(sampler)),
      ahead_(options.workers == 0 ? 0 : std::max({1, options.workers, options.ahead})) {
  workers_.reserve(static_cast<std::size_t>(options.workers));
  for (int i = 0; i < options.workers; ++i) {
    workers_.emplace_back([this, sampler = sampler_]() mutable { run_worker(sampler); });
  }
}

BatchLoader::~BatchLoader() {
  exchange_.with([](Exchange& exchange) { exchange.stop = true; });
}

// Exceptions end here: a thread has nobody to throw to.
Result<Batch> BatchLoader::make_now(Sampler& sampler, const Key& key) const {
  try {
    const auto indexes = sampler.batch(key.step).subspan(
        static_cast<std::size_t>(key.shard.begin), static_cast<std::size_t>(key.shard.size()));
    Result<Batch> batch = maker_(indexes, sampler.epoch_of(key.step));
    if (batch.ok()) batch->continues = sampler.continues(key.step);
    return batch;
  } catch (const std::exception& fault) {
    return exception_status(fmt::format("loader: step {}", key.step), fault);
  } catch (...) {
    return internal_error(fmt::format("loader: step {}: an exception of unknown type", key.step));
  }
}

Result<Batch> BatchLoader::samples(std::span<const std::int64_t> indexes,
                                   std::int64_t epoch) const {
  try {
    return maker_(indexes, epoch);
  } catch (const std::exception& fault) {
    return exception_status("loader", fault);
  }
}

// The batch of `key` if a worker has made it or is about to; its slot is gone after that.
std::optional<Result<Batch>> BatchLoader::take_made(const Key& key) {
  exchange_.wait_until(from_now(kWaitMilliseconds), [&](const Exchange& exchange) {
    return std::none_of(exchange.slots.begin(), exchange.slots.end(), [&](const Slot& slot) {
      return slot.key == key && slot.progress == Progress::kInWork;
    });
  });
  return exchange_.with([&](Exchange& exchange) -> std::optional<Result<Batch>> {
    const auto slot = std::find_if(exchange.slots.begin(), exchange.slots.end(),
                                   [&](const Slot& each) { return each.key == key; });
    if (slot == exchange.slots.end()) return std::nullopt;
    std::optional<Result<Batch>> batch = std::move(slot->batch);
    exchange.slots.erase(slot);
    return batch;
  });
}

// Wants the next `ahead_` steps of the same shard; what else was made ahead is dropped.
void BatchLoader::order_ahead(const Key& last) {
  exchange_.with([&](Exchange& exchange) {
    std::vector<Slot> next;
    for (std::int64_t i = 1; i <= ahead_; ++i) {
      const Key key{last.step + i, last.shard};
      const auto found = std::find_if(exchange.slots.begin(), exchange.slots.end(),
                                      [&](const Slot& slot) { return slot.key == key; });
      if (found != exchange.slots.end()) {
        next.push_back(std::move(*found));
      } else {
        next.push_back({.key = key, .id = exchange.next_id++});
      }
    }
    exchange.slots = std::move(next);
  });
}

Result<Batch> BatchLoader::get(std::int64_t step, ShardRange shard) {
  if (step < 0 || shard.begin < 0 || shard.end < shard.begin || shard.end > batch_size()) {
    return invalid_argument(
        fmt::format("loader: expected a step >= 0 and a range within [0, {}), got {} and [{}, {})",
                    batch_size(), step, shard.begin, shard.end));
  }
  const Key key{step, shard};
  if (ahead_ == 0) return make_now(sampler_, key);
  std::optional<Result<Batch>> batch = take_made(key);
  order_ahead(key);
  if (!batch) batch = make_now(sampler_, key);
  return std::move(*batch);
}

void BatchLoader::run_worker(Sampler& sampler) {
  const auto wanted = [](const Slot& slot) { return slot.progress == Progress::kWanted; };
  for (;;) {
    exchange_.wait_until(from_now(kIdleMilliseconds), [&](const Exchange& exchange) {
      return exchange.stop || std::any_of(exchange.slots.begin(), exchange.slots.end(), wanted);
    });
    bool stop = false;
    std::optional<Slot> order;
    exchange_.with([&](Exchange& exchange) {
      stop = exchange.stop;
      const auto slot = std::find_if(exchange.slots.begin(), exchange.slots.end(), wanted);
      if (slot == exchange.slots.end()) return;
      slot->progress = Progress::kInWork;
      order = Slot{.key = slot->key, .id = slot->id};
    });
    if (stop) return;
    if (!order) continue;
    std::optional<Result<Batch>> batch = make_now(sampler, order->key);
    exchange_.with([&](Exchange& exchange) {
      const auto slot = std::find_if(exchange.slots.begin(), exchange.slots.end(),
                                     [&](const Slot& each) { return each.id == order->id; });
      if (slot == exchange.slots.end()) return;  // no longer wanted
      slot->progress = Progress::kMade;
      slot->batch = std::move(batch);
    });
  }
}

}  // namespace weft
