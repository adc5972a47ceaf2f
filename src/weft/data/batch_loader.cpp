#include "weft/data/batch_loader.h"

#include <utility>

#include <fmt/format.h>

#include "weft/data/pixels.h"

namespace weft {
namespace {

// A worker that is late by this much is not waited for: the caller makes the batch itself.
constexpr std::int64_t kWaitMilliseconds = 2000;
// The worker looks up from its wait this often; it is woken at once when there is work.
constexpr std::int64_t kIdleMilliseconds = 60000;

TimePoint from_now(std::int64_t milliseconds) {
  return deadline_after(SystemClock(), from_milliseconds(milliseconds));
}

// Calls fill(row, index of the sample) for `count` rows of a new batch.
template <class IndexOf>
Batch fill_batch(const Dataset& dataset, std::int64_t count, Normalization normalization,
                 IndexOf index_of) {
  WEFT_CHECK(normalization.deviation > 0);
  const auto scale = static_cast<float>(1.0 / (255.0 * normalization.deviation));
  const auto shift = static_cast<float>(-normalization.mean / normalization.deviation);
  const auto pixels = static_cast<std::size_t>(dataset.height * dataset.width);
  Batch batch;
  batch.inputs = Array::empty({count, 1, dataset.height, dataset.width});
  batch.labels = Array::empty({count}, DType::kI64);
  const std::span<float> inputs = batch.inputs.flat<float>();
  const std::span<std::int64_t> labels = batch.labels.flat<std::int64_t>();
  for (std::size_t row = 0; row < static_cast<std::size_t>(count); ++row) {
    const std::int64_t index = index_of(row);
    WEFT_CHECK(index >= 0 && index < dataset.size);
    convert_pixels(dataset.image(index), scale, shift, inputs.subspan(row * pixels, pixels));
    labels[row] = dataset.label(index);
  }
  return batch;
}

}  // namespace

Batch make_batch(const Dataset& dataset, std::span<const std::uint32_t> indexes,
                 Normalization normalization) {
  return fill_batch(dataset, static_cast<std::int64_t>(indexes.size()), normalization,
                    [&](std::size_t row) { return std::int64_t{indexes[row]}; });
}

Batch make_batch(const Dataset& dataset, std::int64_t begin, std::int64_t end,
                 Normalization normalization) {
  WEFT_CHECK(0 <= begin && begin <= end && end <= dataset.size);
  return fill_batch(dataset, end - begin, normalization,
                    [&](std::size_t row) { return begin + static_cast<std::int64_t>(row); });
}

Result<std::unique_ptr<BatchLoader>> BatchLoader::make(std::shared_ptr<const Dataset> dataset,
                                                       const BatchLoaderOptions& options) {
  const Normalization normalization = options.normalization.value_or(
      Normalization{.mean = dataset->mean, .deviation = dataset->deviation});
  if (!(normalization.deviation > 0)) {
    return invalid_argument(
        fmt::format("loader: expected a deviation above 0, got {}", normalization.deviation));
  }
  WEFT_TRY_ASSIGN(Sampler sampler, Sampler::make({.seed = options.seed,
                                                  .dataset_size = dataset->size,
                                                  .batch_size = options.batch_size,
                                                  .shuffle = options.shuffle}));
  std::unique_ptr<BatchLoader> loader(new BatchLoader(dataset, sampler, normalization, options));
  return loader;
}

BatchLoader::BatchLoader(std::shared_ptr<const Dataset> dataset, Sampler sampler,
                         Normalization normalization, const BatchLoaderOptions& options)
    : dataset_(std::move(dataset)),
      sampler_(std::move(sampler)),
      worker_sampler_(sampler_),
      normalization_(normalization),
      prefetch_(options.prefetch) {
  if (prefetch_) worker_ = Thread([this] { run_worker(); });
}

BatchLoader::~BatchLoader() {
  exchange_.with([](Exchange& exchange) { exchange.stop = true; });
}

Batch BatchLoader::make(Sampler& sampler, const Key& key) const {
  const auto indexes = sampler.batch(key.step).subspan(static_cast<std::size_t>(key.shard.begin),
                                                       static_cast<std::size_t>(key.shard.size()));
  return make_batch(*dataset_, indexes, normalization_);
}

// The batch of `key` if the worker has made it or is about to.
std::optional<Batch> BatchLoader::take_made(const Key& key) {
  exchange_.wait_until(from_now(kWaitMilliseconds), [&](const Exchange& exchange) {
    return exchange.wanted != key && exchange.in_work != key;
  });
  return exchange_.with([&](Exchange& exchange) -> std::optional<Batch> {
    if (exchange.made != key) return std::nullopt;
    exchange.made.reset();
    return std::exchange(exchange.batch, Batch{});
  });
}

Result<Batch> BatchLoader::get(std::int64_t step, ShardRange shard) {
  if (step < 0 || shard.begin < 0 || shard.end < shard.begin || shard.end > batch_size()) {
    return invalid_argument(
        fmt::format("loader: expected a step >= 0 and a range within [0, {}), got {} and [{}, {})",
                    batch_size(), step, shard.begin, shard.end));
  }
  const Key key{step, shard};
  std::optional<Batch> batch;
  if (prefetch_) batch = take_made(key);
  if (!batch) batch = make(sampler_, key);
  if (prefetch_) {
    exchange_.with([&](Exchange& exchange) { exchange.wanted = Key{step + 1, shard}; });
  }
  return std::move(*batch);
}

void BatchLoader::run_worker() {
  for (;;) {
    exchange_.wait_until(from_now(kIdleMilliseconds), [](const Exchange& exchange) {
      return exchange.stop || exchange.wanted.has_value();
    });
    bool stop = false;
    const std::optional<Key> key = exchange_.with([&](Exchange& exchange) {
      stop = exchange.stop;
      exchange.in_work = std::exchange(exchange.wanted, std::nullopt);
      return exchange.in_work;
    });
    if (stop) return;
    if (!key) continue;
    Batch batch = make(worker_sampler_, *key);
    exchange_.with([&](Exchange& exchange) {
      exchange.in_work.reset();
      exchange.made = key;
      exchange.batch = std::move(batch);
    });
  }
}

}  // namespace weft
