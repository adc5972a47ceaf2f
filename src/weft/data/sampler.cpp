#include "weft/data/sampler.h"

#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "weft/base/rng.h"

namespace weft {
namespace {

// Keeps the shuffles apart from other uses of the run's seed.
constexpr std::uint64_t kShuffleStream = std::uint64_t{0x5A} << 56U;

}  // namespace

ShardRange shard_of(std::int64_t batch_size, std::int64_t rank, std::int64_t count) {
  WEFT_CHECK(batch_size >= 0 && rank >= 0 && rank < count);
  return {batch_size * rank / count, batch_size * (rank + 1) / count};
}

Result<Sampler> Sampler::make(const SamplerOptions& options) {
  if (options.dataset_size < 1 ||
      options.dataset_size >= std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
    return invalid_argument(
        fmt::format("sampler: expected 1 to 2^32 - 2 samples, got {}", options.dataset_size));
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
      order_(static_cast<std::size_t>(options.dataset_size)) {}

// Fisher-Yates, from the first position up. The first positions of an order are final at once,
// but the whole is cheap (about 1 ms for 60,000 samples) and simpler to hold.
void Sampler::shuffle(std::int64_t epoch) {
  std::iota(order_.begin(), order_.end(), 0U);
  epoch_ = epoch;
  if (!options_.shuffle) return;
  Rng rng(options_.seed, kShuffleStream | static_cast<std::uint64_t>(epoch));
  const std::size_t size = order_.size();
  for (std::size_t i = 0; i + 1 < size; ++i) {
    std::swap(order_[i], order_[i + static_cast<std::size_t>(rng.below(size - i))]);
  }
}

std::span<const std::uint32_t> Sampler::batch(std::int64_t step) {
  WEFT_CHECK(step >= 0);
  if (epoch_of(step) != epoch_) shuffle(epoch_of(step));
  const auto batch_size = static_cast<std::size_t>(options_.batch_size);
  const auto first = static_cast<std::size_t>(step % steps_per_epoch_) * batch_size;
  return std::span<const std::uint32_t>(order_).subspan(first, batch_size);
}

}  // namespace weft
