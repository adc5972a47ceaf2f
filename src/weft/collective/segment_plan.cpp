#include "weft/collective/segment_plan.h"

#include <algorithm>

#include "weft/base/check.h"

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
    out.push_back({at, std::min(step, end - at), owner});
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

}  // namespace weft
