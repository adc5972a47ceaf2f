// MemberPart: the part of a round that this member takes, where members are unequal: its share of
// the global batch by measured speed, and what stands in for it where it comes too late.
//
// Shares follow from the reports of all members in committed rounds (collective/report/shares.h),
// so each computes the same split. With a deadline the gradients are handed over as a whole, and a
// round is the mean of what arrived: sums over the samples that are in them. Late gradients are
// dropped, or carried: they are added to those of the next round that this member is in time for,
// or stand in its place if it is late again, with the samples behind them, at most `staleness_max`
// rounds old.
//
// Where it stands: Trainer owns one if the recipe asks for any of it; train_step and LocalSteps use
// it. Threads: the training thread. Memory: with carried gradients up to two more vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/time.h"
#include "weft/collective/report/shares.h"
#include "weft/data/sampler.h"
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
  bool carry = false;
  std::int64_t staleness_max = 4;  // rounds
};
// Nothing where members have equal shares and rounds wait for all.
std::optional<PartOptions> part_options(const Recipe::Group& group);

class MemberPart {
 public:
  explicit MemberPart(const PartOptions& options) : options_(options) {}

  const PartOptions& options() const { return options_; }
  // This member's range of a batch of `samples`.
  ShardRange shard(const Turn& turn, std::int64_t samples) const;

  // --- A round, in this order.
  // Before RoundExchange::begin(): names what stands in for `elements` gradients and the report.
  // Fails: as RoundExchange::stand_in().
  Status begin(const Turn& turn, ShardRange shard, std::int64_t elements, RoundExchange& exchange);
  // A round's `share` of samples took so long. What the member reports of itself then.
  MemberReport computed(double seconds, std::int64_t share);
  // What to hand over: `gradients`, with those that are carried added to a copy of them. Adds what
  // belongs to these to `own`. Valid until the next call.
  std::span<const float> with_carried(std::span<const float> gradients, RoundReport& own);
  // The round came to this; `gradients` and `own` are this member's, without what
  // was carried.
  void ended(const RoundResult& result, std::span<const float> gradients, const RoundReport& own);

  // --- Any committed round but an evaluation.
  void hear(const RoundMetrics& metrics);

  // What all members hold alike, for newcomers and checkpoints; text of few bytes, maybe empty.
  std::string encode() const { return shares_.encode(); }
  // Takes it over; own gradients belong to other parameters then. Fails: kCorrupt.
  Status adopt(std::string_view text);

 private:
  struct Carried {
    std::vector<float> gradients;
    RoundReport report;
    Round round;
  };

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
  std::vector<float> merged_;
};

// The part of `turn` that `part` says, or an equal one where it is null.
ShardRange shard_for(const MemberPart* part, const Turn& turn, std::int64_t samples);

}  // namespace weft
