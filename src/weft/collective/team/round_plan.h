// RoundPlan: what the members exchange in one round: vectors, each in a team.
//
// The result of a round is one vector: the results of its exchanges, one after the other. All
// members of the view get all of it, so that every state is a function of the rounds alone; members
// that are not in a team give nothing to its exchange. A plan names no view: its teams are derived
// from the view in which the round is run (team.h), and again if it is run once more.
//
// Where it stands: the training side makes one, RoundCore opens a round by it.
// Threads: a value. Fails: check() with kInvalidArgument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/team/team.h"

namespace weft {

struct ExchangePlan {
  // What the team is for: see team.h.
  std::string purpose = "all";
  // The length of the vector, the same at all members of the view.
  std::int64_t elements = 0;
  friend bool operator==(const ExchangePlan&, const ExchangePlan&) = default;
};

struct RoundPlan {
  RoundPlan() = default;
  // One exchange of all members.
  // NOLINTNEXTLINE(google-explicit-constructor): most rounds are that and no more.
  RoundPlan(std::int64_t elements) : exchanges{{"all", elements}} {}
  explicit RoundPlan(std::vector<ExchangePlan> list) : exchanges(std::move(list)) {}

  // 1 to kExchangesMax exchanges of known purposes, together of at most `elements_max` elements.
  Status check(std::int64_t elements_max) const;
  // All exchanges together. REQUIRES: check().
  std::int64_t elements() const;
  // Where the result of an exchange begins in the round's.
  std::int64_t offset(std::size_t exchange) const;
  // The result of one exchange in the result of a round.
  std::span<const float> result(std::span<const float> round, std::size_t exchange) const;

  friend bool operator==(const RoundPlan&, const RoundPlan&) = default;
  std::vector<ExchangePlan> exchanges;
};

}  // namespace weft
