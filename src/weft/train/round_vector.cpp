#include "weft/train/round_vector.h"

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t kFirstComputeSlot = 8;

}  // namespace

std::array<float, kMetricsElements> encode_metrics(const RoundMetrics& own, int rank) {
  std::array<float, kMetricsElements> tail{};
  tail[0] = static_cast<float>(own.loss);
  tail[1] = static_cast<float>(own.correct);
  tail[2] = static_cast<float>(own.samples);
  tail[3] = static_cast<float>(own.labels);
  if (rank < kComputeSlots && !own.compute_seconds.empty()) {
    tail[kFirstComputeSlot + static_cast<std::size_t>(rank)] =
        static_cast<float>(own.compute_seconds.front());
  }
  return tail;
}

RoundMetrics decode_metrics(std::span<const float> tail, int members) {
  RoundMetrics sum;
  sum.loss = tail[0];
  sum.correct = tail[1];
  sum.samples = tail[2];
  sum.labels = tail[3];
  if (members <= kComputeSlots) {
    const auto slots = tail.subspan(kFirstComputeSlot, static_cast<std::size_t>(members));
    sum.compute_seconds.assign(slots.begin(), slots.end());
  }
  return sum;
}

RoundVector::RoundVector(ParameterArena& arena, Exchange& exchange)
    : arena_(arena),
      exchange_(exchange),
      gradient_elements_(arena.layout().num_elements()),
      contributed_(static_cast<std::size_t>(arena.size())) {}

Status RoundVector::begin() {
  std::fill(contributed_.begin(), contributed_.end(), false);
  return exchange_.begin(elements());
}

void RoundVector::add(ParameterId id) { contribute(id.value()); }

void RoundVector::contribute(int index) {
  // Up to the next parameter: the gap between the two holds zeros and belongs to the vector.
  const Layout& layout = arena_.layout();
  const std::int64_t begin = layout[index].offset;
  const std::int64_t end =
      index + 1 < layout.size() ? layout[index + 1].offset : gradient_elements_;
  contributed_[static_cast<std::size_t>(index)] = true;
  exchange_.contribute(begin, arena_.gradients().subspan(static_cast<std::size_t>(begin),
                                                         static_cast<std::size_t>(end - begin)));
}

void RoundVector::add_rest(const RoundMetrics& own, int rank) {
  for (int index = arena_.size() - 1; index >= 0; --index) {
    if (contributed_[static_cast<std::size_t>(index)]) continue;
    arena_.gradient(index).fill(0.0);
    contribute(index);
  }
  tail_ = encode_metrics(own, rank);
  exchange_.contribute(gradient_elements_, tail_);
}

Result<std::span<const float>> RoundVector::finish() { return exchange_.finish(); }

}  // namespace weft
