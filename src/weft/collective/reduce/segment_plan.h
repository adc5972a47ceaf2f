// SegmentPlan: how a vector is cut into buckets, chunks with owners, and segments.
//
// bucket  about bucket_bytes, so that its exchange can begin before the rest is contributed
// chunk   one of `size` nearly equal parts of a bucket; chunk c belongs to the member of rank c
// segment at most segment_bytes of one chunk: the unit that is sent
//
// The same options and elements give the same plan at every member. Threads: a value.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/codec/wire_precision.h"
#include "weft/wire/ids.h"

namespace weft {

struct Segment {
  std::int64_t offset = 0;
  std::int64_t elements = 0;
  Rank owner;
  WirePrecision precision = WirePrecision::kF32;
};

struct SegmentPlanOptions {
  int size = 1;
  std::int64_t bucket_elements = 0;
  std::int64_t segment_elements = 0;
};

// In the order of their offsets; none is empty.
std::vector<Segment> plan_segments(std::int64_t elements, const SegmentPlanOptions& options);

struct CollectiveOptions;
// The segments of the kind: chunks of buckets for an all-reduce, part r for rank r where the parts
// are the members', everything for the root of a broadcast or reduce.
std::vector<Segment> plan_collective(const CollectiveOptions& options, std::int64_t elements);

}  // namespace weft
