// The form of a collective, one byte of every head, on which both ends must agree.
//
// Inside this folder. Threads: free functions. Fails: check_head with kInvalidArgument and a text
// if two members disagree.
#pragma once

#include <cstdint>

#include "weft/base/status.h"
#include "weft/collective/reduce/collective.h"

namespace weft {

inline bool kind_reduces(CollectiveKind kind) {
  return kind != CollectiveKind::kAllGather && kind != CollectiveKind::kBroadcast;
}
inline bool kind_gathers(CollectiveKind kind) {
  return kind != CollectiveKind::kReduceScatter && kind != CollectiveKind::kReduce;
}

// Kind, algorithm and precision.
std::uint8_t form_of(const CollectiveOptions& options, Algorithm algorithm);

// Length and form are this member's.
Status check_head(const SegmentHead& head, Rank from, std::int64_t elements, std::uint8_t form);

}  // namespace weft
