// MemberPart: the part of a round that this member takes, where members are unequal: its share of
// the global batch by measured speed, and what stands in for it where it comes too late.
//
// Shares follow from the reports of all members in committed rounds (collective/report/shares.h),
// so each computes the same split. With a deadline the gradients are handed over as a whole, and a
// round is the mean of what arrived: sums over the samples that are in them. Late gradients go
// through a gate (gate/gate.h): they are dropped, or carried with its weight and its correction.
// They are added then to those of the next round that this member is in time for, or stand in its
// place if it is late again, with the samples behind them, at most `staleness_max` rounds old.
//
// Where it stands: Trainer owns one if the recipe asks for any of it; train_step and LocalSteps use
// it. Threads: the training thread. Memory: with carried gradients up to two more vectors, three
// where the gate changes them, and the parameters they belong to where it corrects them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/report/shares.h"
#include "weft/data/sampler.h"
#include "weft/gate/gate.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/report/round_report.h"

namespace weft {

struct PartOptions {
  bool by_speed = false;
  // A round waits for all members, or for none longer than `deadline` from its beginning; where
  // that is zero, than `deadline_factor` times what the median member took in the round before.
  bool waits = true;
  Duration deadline{};
  double deadline_factor = 2.0;
  Gate gate;
  std::int64_t staleness_max = 4;  // rounds
  std::int64_t batch = 1;          // samples of a round
};
// Nothing where members have equal shares and rounds wait for all. REQUIRES: check_recipe().
std::optional<PartOptions> part_options(const Recipe& recipe);

class MemberPart {
 public:
  explicit MemberPart(const PartOptions& options) : options_(options) {}

  const PartOptions& options() const { return options_; }
  // This member's range of a batch of `samples`.
  ShardRange shard(const Turn& turn, std::int64_t samples) const;

  // --- A round, in this order.
  // Before RoundExchange::begin(): names what stands in for the gradients of `arena`, which holds
  // the parameters of the round, and for the report. Fails: as RoundExchange::stand_in().
  Status begin(const Turn& turn, ShardRange shard, const ParameterArena& arena,
               RoundExchange& exchange);
  // A round's `share` of samples took so long. What the member reports of itself then.
  MemberReport computed(double seconds, std::int64_t share);
  // What to hand over: `gradients`, with those that are carried added to a copy of them. Adds what
  // belongs to these to `own`. Valid until the next call.
  std::span<const float> with_carried(std::span<const float> gradients, RoundReport& own);
  // The round came to this, and is not applied yet. The gradients in `arena` and `own` are this
  // member's, without what was carried.
  void ended(const RoundResult& result, const ParameterArena& arena, const RoundReport& own);

  // --- Any committed round but an evaluation.
  void hear(const RoundMetrics& metrics);

  // What all members hold alike, for newcomers and checkpoints; text of few bytes, maybe empty.
  std::string encode() const { return shares_.encode(); }
  // Takes it over; own gradients belong to other parameters then. Fails: kCorrupt.
  Status adopt(std::string_view text);

 private:
  // Late gradients as they were computed.
  struct Carried {
    std::vector<float> gradients;
    std::vector<float> parameters;  // where the gate corrects
    RoundReport report;
    Round round;
  };
  // The same as the gate lets them into the round at hand.
  struct Admitted {
    std::span<const float> gradients;  // of Carried, or changed_
    RoundReport report;
  };

  // Nothing where nothing is carried, or it does not count any more.
  std::optional<Admitted> admit(const ParameterArena& arena);
  void correct(const ParameterArena& arena);
  MemberReport report(Attendance attendance) const;
  Duration deadline() const;

  const PartOptions options_;
  Shares shares_;
  SpeedMeter meter_;
  double median_seconds_ = 0;  // of the members in the last round; 0: not known
  // The round at hand.
  Turn turn_;
  std::uint32_t name_ = 0;
  std::int64_t share_ = 0;
  std::optional<Carried> carried_;
  std::optional<Admitted> admitted_;
  std::vector<float> changed_;
  std::vector<float> merged_;
};

// The part of `turn` that `part` says, or an equal one where it is null.
ShardRange shard_for(const MemberPart* part, const Turn& turn, std::int64_t samples);

}  // namespace weft
