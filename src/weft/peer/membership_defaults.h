// The defaults of a membership. MembershipOptions, the recipe's [group] and the options of the
// Python package all use them.
//
// Threads: constants.
#pragma once

#include <chrono>

#include "weft/base/time.h"

namespace weft::membership_defaults {

inline constexpr Duration kHeartbeatInterval = std::chrono::milliseconds(250);
inline constexpr Duration kSuspicionTimeout = std::chrono::seconds(2);
inline constexpr Duration kQuorumTimeout = std::chrono::seconds(10);
inline constexpr Duration kUnreachedTimeout = std::chrono::minutes(2);
inline constexpr int kJoinsAtOnce = 2;
inline constexpr Duration kJoinStallTimeout = std::chrono::seconds(15);
inline constexpr Duration kSplitAfter = std::chrono::minutes(1);
inline constexpr Duration kMergeTimeout = std::chrono::minutes(2);

}  // namespace weft::membership_defaults
