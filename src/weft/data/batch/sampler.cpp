#include "weft/data/sampler.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "weft/array/bad_argument.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

// Keeps the shuffles apart from other uses of the run's seed.
constexpr std::uint64_t kShuffleStream = std::uint64_t{0x5A} << 56U;
constexpr std::uint64_t kDrawStream = std::uint64_t{0x5C} << 56U;
constexpr std::int64_t kShuffledMax = std::int64_t{std::numeric_limits<std::uint32_t>::max()} - 1;
constexpr std::int64_t kSizeMax = std::int64_t{1} << 62U;

constexpr SampleOrder kOrders[] = {SampleOrder::kShuffled, SampleOrder::kSequential,
                                   SampleOrder::kRandom, SampleOrder::kStreams};

void check_rank(std::int64_t rank, std::int64_t count) {
  if (rank >= 0 && rank < count) return;
  throw_bad_argument("shard_of", fmt::format("a rank from 0 to {}", count - 1),
                     std::to_string(rank));
}

}  // namespace

ShardRange shard_of(std::int64_t batch_size, std::int64_t rank, std::int64_t count) {
  if (batch_size < 0) {
    throw_bad_argument("shard_of", "a batch of at least 0", std::to_string(batch_size));
  }
  check_rank(rank, count);
  return {batch_size * rank / count, batch_size * (rank + 1) / count};
}

ShardRange shard_of(std::span<const std::int64_t> sizes, std::int64_t rank) {
  check_rank(rank, static_cast<std::int64_t>(sizes.size()));
  const auto before = sizes.first(static_cast<std::size_t>(rank));
  const std::int64_t begin = std::accumulate(before.begin(), before.end(), std::int64_t{0});
  return {begin, begin + sizes[static_cast<std::size_t>(rank)]};
}

std::string_view to_string(SampleOrder order) {
  switch (order) {
    case SampleOrder::kShuffled:
      return "shuffled";
    case SampleOrder::kSequential:
      return "sequential";
    case SampleOrder::kRandom:
      return "random";
    case SampleOrder::kStreams:
      break;
  }
  return "streams";
}

Result<SampleOrder> sample_order_from(std::string_view name) {
  for (const SampleOrder order : kOrders) {
    if (to_string(order) == name) return order;
  }
  return invalid_argument(
      fmt::format("order: expected shuffled, sequential, random or streams, got \"{}\"", name));
}

Result<Sampler> Sampler::make(const SamplerOptions& options) {
  const std::int64_t most = options.order == SampleOrder::kShuffled ? kShuffledMax : kSizeMax;
  if (options.dataset_size < 1 || options.dataset_size > most || options.draw_size < 0 ||
      options.draw_size > kSizeMax) {
    return invalid_argument(
        fmt::format("sampler: expected 1 to {} samples, got {}", most, options.dataset_size));
  }
  if (options.batch_size < 1 || options.batch_size > options.dataset_size) {
    return invalid_argument(fmt::format("sampler: expected a batch of 1 to {} samples, got {}",
                                        options.dataset_size, options.batch_size));
  }
  return Sampler(options);
}

Sampler::Sampler(const SamplerOptions& options)
    : options_(options),
      steps_per_epoch_(options.dataset_size / options.batch_size),
      batch_(static_cast<std::size_t>(options.batch_size)) {
  if (options_.draw_size == 0) options_.draw_size = options_.dataset_size;
}

// Fisher-Yates, from the first position up. The first positions of an order are final at once,
// but the whole is cheap (about 1 ms for 60,000 samples) and simpler to hold.
void Sampler::shuffle(std::int64_t epoch) {
  order_.resize(static_cast<std::size_t>(options_.dataset_size));
  std::iota(order_.begin(), order_.end(), 0U);
  epoch_ = epoch;
  Rng rng(options_.seed, kShuffleStream | static_cast<std::uint64_t>(epoch));
  const std::size_t size = order_.size();
  for (std::size_t i = 0; i + 1 < size; ++i) {
    std::swap(order_[i], order_[i + static_cast<std::size_t>(rng.below(size - i))]);
  }
}

std::span<const std::int64_t> Sampler::batch(std::int64_t step) {
  if (step < 0) throw_bad_argument("sampler", "a step of at least 0", std::to_string(step));
  const std::int64_t in_epoch = step % steps_per_epoch_;
  const std::int64_t first = in_epoch * options_.batch_size;
  switch (options_.order) {
    case SampleOrder::kShuffled:
      if (epoch_of(step) != epoch_) shuffle(epoch_of(step));
      std::copy_n(order_.begin() + first, options_.batch_size, batch_.begin());
      break;
    case SampleOrder::kSequential:
      std::iota(batch_.begin(), batch_.end(), first);
      break;
    case SampleOrder::kRandom: {
      Rng rng(options_.seed, kDrawStream | static_cast<std::uint64_t>(step));
      for (std::int64_t& index : batch_) {
        index =
            static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(options_.draw_size)));
      }
      break;
    }
    case SampleOrder::kStreams:
      for (std::size_t row = 0; row < batch_.size(); ++row) {
        batch_[row] = static_cast<std::int64_t>(row) * steps_per_epoch_ + in_epoch;
      }
      break;
  }
  return batch_;
}

}  // namespace weft
