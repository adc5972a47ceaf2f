// SegmentPlan: how a vector is cut into buckets, chunks with owners, and segments.
//
// bucket  about bucket_bytes, so that its exchange can begin before the rest is contributed
// chunk   one of `size` nearly equal parts of a bucket; chunk c belongs to the member of rank c
// segment at most segment_bytes of one chunk: the unit that travels
//
// The same options and elements give the same plan at every member. Threads: a value.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/wire/ids.h"

namespace weft {

struct Segment {
  std::int64_t offset = 0;
  std::int64_t elements = 0;
  Rank owner;
};

struct SegmentPlanOptions {
  int size = 1;
  std::int64_t bucket_elements = 0;
  std::int64_t segment_elements = 0;
};

// In the order of their offsets; none is empty.
std::vector<Segment> plan_segments(std::int64_t elements, const SegmentPlanOptions& options);

}  // namespace weft
