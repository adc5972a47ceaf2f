// The defaults of a swarm. SwarmOptions, the options of its parts, the recipe's [group] and the
// Python package all use them.
//
// Threads: constants.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weft/base/time.h"

namespace weft::swarm_defaults {

inline constexpr std::size_t kBucketBytes = std::size_t{1} << 20;
inline constexpr std::size_t kSegmentBytes = std::size_t{256} << 10;
inline constexpr std::size_t kDirectBytesMax = std::size_t{32} << 10;
inline constexpr std::uint64_t kResultLogBytesMax = std::uint64_t{256} << 20;
inline constexpr std::int64_t kVectorElementsMax = std::int64_t{1} << 28;
// A view of more members has no connections between all of them (net/parking_transport.h).
inline constexpr int kMeshMembers = 32;
inline constexpr bool kByHost = true;
inline constexpr bool kMeasuredRing = true;
inline constexpr int kStartMembers = 1;
inline constexpr Duration kStartTimeout = std::chrono::seconds(30);
inline constexpr Duration kLinger = std::chrono::seconds(8);
inline constexpr Duration kStallTimeout = std::chrono::seconds(20);
inline constexpr Duration kComputeTimeoutFirst = std::chrono::minutes(10);

}  // namespace weft::swarm_defaults
