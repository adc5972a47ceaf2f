#include "weft/collective/reduce/segment_plan.h"

#include <algorithm>

#include "weft/base/check.h"
#include "weft/collective/reduce/collective.h"

namespace weft {

// Chunks begin at multiples of a cache line.
static constexpr std::int64_t kGrain = 16;

static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

static void cut_chunk(std::int64_t begin, std::int64_t end, Rank owner, std::int64_t limit,
                      std::vector<Segment>& out) {
  const std::int64_t count = ceil_div(end - begin, limit);
  if (count == 0) return;
  const std::int64_t step =
      std::min(limit, ceil_div(ceil_div(end - begin, count), kGrain) * kGrain);
  for (std::int64_t at = begin; at < end; at += step) {
    out.push_back({at, std::min(step, end - at), owner, WirePrecision::kF32});
  }
}

std::vector<Segment> plan_segments(std::int64_t elements, const SegmentPlanOptions& options) {
  WEFT_CHECK(options.size > 0 && options.bucket_elements > 0 && options.segment_elements > 0);
  std::vector<Segment> segments;
  if (elements == 0) return segments;
  const std::int64_t buckets = ceil_div(elements, options.bucket_elements);
  const std::int64_t bucket = ceil_div(ceil_div(elements, buckets), kGrain) * kGrain;
  for (std::int64_t begin = 0; begin < elements; begin += bucket) {
    const std::int64_t end = std::min(begin + bucket, elements);
    const std::int64_t chunk = ceil_div(ceil_div(end - begin, options.size), kGrain) * kGrain;
    for (int rank = 0; rank < options.size; ++rank) {
      cut_chunk(std::min(end, begin + rank * chunk), std::min(end, begin + (rank + 1) * chunk),
                Rank(rank), options.segment_elements, segments);
    }
  }
  return segments;
}

static std::vector<Segment> plan_buckets(const CollectiveOptions& options, std::int64_t elements,
                                         WirePrecision precision) {
  const auto floats = [](std::size_t bytes) {
    return std::max<std::int64_t>(kGrain, static_cast<std::int64_t>(bytes / sizeof(float)));
  };
  SegmentPlanOptions plan{options.size, floats(options.bucket_bytes),
                          floats(options.segment_bytes)};
  if (precision != WirePrecision::kF32) {
    plan.segment_elements =
        static_cast<std::int64_t>(elements_in(precision, options.segment_bytes));
  }
  std::vector<Segment> segments = plan_segments(elements, plan);
  for (Segment& segment : segments) segment.precision = precision;
  return segments;
}

std::vector<Segment> plan_collective(const CollectiveOptions& options, std::int64_t elements) {
  // Alone nothing travels.
  const WirePrecision precision = options.size == 1 ? WirePrecision::kF32 : options.precision;
  if (options.kind == CollectiveKind::kAllReduce || options.kind == CollectiveKind::kBarrier) {
    return plan_buckets(options, elements, precision);
  }
  std::vector<Segment> segments;
  const auto limit = static_cast<std::int64_t>(
      precision == WirePrecision::kF32
          ? std::max<std::size_t>(kGrain, options.segment_bytes / sizeof(float))
          : elements_in(precision, options.segment_bytes));
  if (options.kind == CollectiveKind::kBroadcast || options.kind == CollectiveKind::kReduce) {
    cut_chunk(0, elements, options.root, limit, segments);
  } else {
    WEFT_CHECK(elements % options.size == 0);
    const std::int64_t part = elements / options.size;
    for (int rank = 0; rank < options.size; ++rank) {
      cut_chunk(rank * part, (rank + 1) * part, Rank(rank), limit, segments);
    }
  }
  for (Segment& segment : segments) segment.precision = precision;
  return segments;
}

}  // namespace weft
