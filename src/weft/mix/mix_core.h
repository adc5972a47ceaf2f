// MixCore: one member of a group that trains by a method of loose exchange, as a protocol core.
//
// It has no thread, no connection and no clock: events come in, and what it wants done is taken
// out. One loop serves all methods:
//
//   given     a model of some version     -> work: local steps from it
//   worked    the work is done            -> the delta or the model goes to who combines it
//   returned  a member's delta or model   -> when the trigger says so: combine, outer step, a new
//                                            version, which is given to members
//
// In kServer style member 0 combines. In kSampled style each version has a combiner of its own: the
// first of its candidates that is alive; what was sent to one that is lost is sent to the next. In
// kNeighbours style each member combines for itself, and its versions are its rounds; the share of
// a neighbour that does not come goes to its own model. With a delay a member begins the next
// round's work before this round's combination: its work on round w begins from the model after w -
// 1 combinations, whatever else has come. In kPairwise style a member has no rounds and is a
// MixMeeting, which the plan makes.
//
// What members return is a model, a delta or something shorter that stands for one (MixReturns).
// All sums are of deltas (before minus after), in the order of the members' numbers. So methods
// that are mathematically equal give equal bits.
//
// Messages of members are checked here: a number, version or length that cannot be is ignored.
// Where it stands: MixNode owns one. Threads: one owner.
// Memory: what was returned and not yet combined.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/mix/combine/mix_judge.h"
#include "weft/mix/combine/mix_probe.h"
#include "weft/mix/meet/mix_traffic.h"
#include "weft/mix/mix_method.h"
#include "weft/mix/mix_returns.h"

namespace weft {

struct MixCoreOptions {
  std::uint32_t self = 0;
  std::uint32_t members = 1;
  std::uint64_t versions = 1;  // after so many the run is over
  std::uint32_t steps = 1;     // local steps where the trigger does not say
  std::uint64_t seed = 1;
  std::vector<MixTensor> tensors = {};
  const MixMethod* method = nullptr;  // borrowed
  MixProbe* probe = nullptr;          // borrowed; for combinations that need it
  // Likewise: this member's own.
  MixJudge* judge = nullptr;
  // The model's output layer, whose units are the classes, where a part of the method needs it.
  MixUnits outputs = {};
  // It comes to a group that is at work, and waits for what it is given; kPairwise: it goes on with
  // its own model. REQUIRES: not kNeighbours, whose members have rounds in common.
  bool newcomer = false;
};

class MixCore {
 public:
  MixCore(MixCoreOptions options, MixVector first, TimePoint now);

  // --- Events. `from` is the sender's number.
  void given(std::uint32_t from, const MixGiven& message, TimePoint now);
  void returned(std::uint32_t from, MixReturned message, TimePoint now);
  void worked(std::uint64_t id, MixVector model, const MixLoss& loss, TimePoint now);
  // It will send nothing more.
  void lost(std::uint32_t member, TimePoint now);
  // One that was lost is there again, and knows of no work: it counts from the next version on.
  void came(std::uint32_t member);
  // Nothing else comes at this moment, or a deadline is over.
  void settle(TimePoint now);

  // --- What it wants done since it was last asked.
  std::optional<MixWork> take_work() { return std::exchange(new_work_, std::nullopt); }
  std::vector<MixSend> take_sends() { return std::exchange(sends_, {}); }
  std::vector<MixCombined> take_combined() { return std::exchange(combined_, {}); }
  // Members whose return this one waits for though it has given them nothing, so that it
  // learns of their loss only where it looks.
  std::span<const std::uint32_t> awaited() const;
  // When settle() must be called though nothing happened.
  std::optional<TimePoint> next_deadline() const;

  std::uint64_t version() const { return version_; }
  const MixVector& model() const { return model_; }
  // The most values that a member returns for a version.
  std::size_t returned_max() const { return returns_.values_max(); }
  // It has made the last version.
  bool over() const { return version_ >= options_.versions && style_ != MixStyle::kSampled; }
  bool works() const { return work_.has_value(); }
  // Why it makes no sense to go on.
  Status failure() const { return meeting_ ? meeting_->failure() : failure_; }

 private:
  struct Contribution {
    std::uint32_t from = 0;
    MixReturned what;
  };

  bool is_possible(std::uint32_t from, std::uint64_t version) const;
  bool is_possible(const MixGiven& message) const;
  bool is_possible(std::uint32_t teller, std::uint64_t base, const MixHistory& history) const;
  MixGiven given_to(std::uint32_t member, std::uint32_t steps) const;
  void begin_version(TimePoint now);
  void begin_round(TimePoint now);
  void work_on_round(TimePoint now);
  void collect_for(std::uint64_t base, TimePoint now);
  void take_in(std::uint32_t from, MixReturned message, TimePoint now);
  bool has_all_of(std::uint32_t member) const;
  bool may_combine(TimePoint now) const;
  void combine(TimePoint now);
  std::vector<double> row_weights() const;
  void apply(const std::vector<double>& weights);
  void hand_out(TimePoint now);
  void start_work(std::uint32_t from, const MixGiven& given, TimePoint now);
  void send_to_combiner(const MixReturned& result, TimePoint now);
  void send_to_neighbours(MixReturned result, TimePoint now);
  void follow_meeting(TimePoint now);

  const MixCoreOptions options_;
  const MixMethod& method_;
  const MixStyle style_;
  const MixReturns returns_;
  MixVector model_;
  std::uint64_t version_ = 0;
  std::vector<bool> alive_;
  Status failure_;

  // As a combiner.
  std::unique_ptr<MixTriggerState> trigger_;
  std::unique_ptr<MixCombineState> combiner_;
  MixOuterMemory outer_;
  bool collects_ = false;
  std::vector<std::uint32_t> expected_;
  std::set<std::uint32_t> idle_;
  std::vector<Contribution> contributions_;
  // kNeighbours: what came for rounds that have not begun here, by round.
  std::map<std::uint64_t, std::vector<Contribution>> early_;
  // kNeighbours: the models from which the rounds that are not combined were worked on, oldest
  // first; and the next round to work on.
  std::deque<MixVector> worked_from_;
  std::uint64_t next_round_ = 0;
  std::vector<MixWeight> row_;
  bool own_is_in_ = false;

  // As one who works.
  std::optional<MixWork> work_;
  std::uint32_t asked_by_ = 0;
  TimePoint work_begun_;
  std::uint64_t works_ = 0;
  // kSampled: to whom the latest result went.
  std::optional<std::pair<std::uint32_t, MixReturned>> sent_;
  std::uint64_t newest_seen_ = 0;
  // kPairwise.
  std::unique_ptr<MixMeeting> meeting_;

  std::optional<MixWork> new_work_;
  std::vector<MixSend> sends_;
  std::vector<MixCombined> combined_;
};

}  // namespace weft
