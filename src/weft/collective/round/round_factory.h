// RoundFactory: makes the exchanges of a round in the present view, and keeps the state that
// outlives them.
//
// That is, by exchange, the residuals of this member's encoders and roundings, and the buffers of
// results, which are used again.
//
// Where it stands: RoundCore owns one. Threads: one owner.
// Fails: open() with kInvalidArgument for a plan that no round can have, with kAborted where the
// view is too small for the rule in place of the sum, with kUnavailable where there is no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/codec/round_codec.h"
#include "weft/collective/reduce/all_reduce.h"
#include "weft/collective/round/round_attempt.h"
#include "weft/collective/round/round_types.h"
#include "weft/collective/team/round_plan.h"
#include "weft/peer/view.h"
#include "weft/wire/collective_message.h"

namespace weft {

class RoundFactory {
 public:
  explicit RoundFactory(const RoundCoreOptions& options)
      : options_(options), codec_(options.codec) {
    codec_.restore(options.residual);
  }

  // REQUIRES: `self` is a rank of it.
  void on_view(const View& view, Rank self);
  // Forgets the residuals of rounded sums.
  void on_leave() { roundings_.clear(); }

  // Borrows `members`, which sends to ranks of the view, as long as the round lives.
  Result<std::shared_ptr<RoundAttempt>> open(const CollectiveId& id, const RoundPlan& plan,
                                             CollectiveSink& members);
  // Whether the teams of `plan` have enough members for the aggregation rule; kInvalidArgument with
  // the number that it needs.
  Status can_aggregate(const RoundPlan& plan) const;
  // The team of an exchange in the present view. REQUIRES: a plan that check() lets pass.
  Result<Team> team(const ExchangePlan& exchange) const;

  RoundCodec& codec() { return codec_; }
  const RoundCodec& codec() const { return codec_; }

 private:
  Result<std::vector<Team>> teams_of(const RoundPlan& plan) const;
  std::unique_ptr<TeamExchange> make_exchange(const ExchangeId& id, Team team,
                                              std::int64_t elements, CollectiveSink& members,
                                              std::shared_ptr<FloatBuffer> result);
  // By the team's ranks; empty where its members share no hosts, or where that is not wanted.
  std::vector<int> hosts_in(const Team& team) const;
  std::shared_ptr<FloatBuffer> take_buffer(std::int64_t elements);
  // The residual of roundings for a vector of this length; null where nothing is rounded.
  std::shared_ptr<FloatBuffer> rounding(std::size_t exchange, std::int64_t elements);

  const RoundCoreOptions& options_;
  View view_;
  Rank self_;
  // See hosts_of().
  std::vector<int> hosts_;
  // Members of this host may read the result buffers where they lie.
  bool shares_host_ = false;
  RoundCodec codec_;
  // By exchange; see rounding(). A round that is run again meets a new view, which begins without:
  // what was dropped in the last round before a change of view is lost, once.
  std::vector<std::shared_ptr<FloatBuffer>> roundings_;
  // Result buffers for reuse; one is free when no other owner holds it.
  std::vector<std::shared_ptr<FloatBuffer>> buffers_;
};

}  // namespace weft
