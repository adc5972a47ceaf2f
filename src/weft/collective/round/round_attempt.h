// RoundAttempt: one attempt at a round at one member: its exchanges, the members' reports, the
// result.
//
// It knows what makes a result whole: every exchange of the plan is complete here, in whichever
// teams they are, and every member's report has come. Whether a whole result is committed is
// RoundCore's matter.
//
// Where it stands: RoundFactory makes one, RoundCore owns it. Threads: one owner.
// Fails: kCorrupt for what a correct member would not send; kInvalidArgument if two correct members
// disagree on the exchanges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/collective/reduce/all_reduce.h"
#include "weft/collective/round/round_types.h"
#include "weft/collective/round/team_exchange.h"
#include "weft/collective/team/round_plan.h"
#include "weft/wire/collective_message.h"

namespace weft {

class RoundAttempt {
 public:
  // `result` is the place of all results, one after the other, which `exchanges` write to.
  // `reporters`: members whose reports belong to the result; 0: rounds have none.
  RoundAttempt(const CollectiveId& id, RoundPlan plan,
               std::vector<std::unique_ptr<TeamExchange>> exchanges,
               std::shared_ptr<FloatBuffer> result, std::size_t reporters, Rank self);

  const CollectiveId& id() const { return id_; }
  const RoundPlan& plan() const { return plan_; }
  // All exchanges together.
  std::int64_t elements() const;

  // --- This member's part.
  // REQUIRES: an exchange of the plan in whose team this member is.
  void contribute(std::size_t exchange, std::int64_t offset, std::span<const float> values);
  // Sets this member's report, once.
  void report(Bytes report);
  // All of it is here: values and report.
  bool input_given() const;
  // Where rounds have reports: this member's, once it is here.
  const std::optional<Bytes>& own_report() const;

  // --- The others' parts.
  // A frame kSegment whose head names this round and `exchange`.
  Status on_frame(Rank from, std::size_t exchange, const FrameView& frame);
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes);
  // True where it is new.
  Result<bool> on_report(Rank from, Bytes report);

  // --- Links.
  // What this member receives from `to`, and has received already.
  ReadyMessage ready_for(Rank to) const;
  // Whether the sender of `ready` runs the same exchanges; `name` names it in the text.
  Status check_same(const ReadyMessage& ready, const std::string& name) const;
  // Sends it what it has not got. REQUIRES: check_same().
  Status resume(Rank to, const ReadyMessage& ready);
  void on_writable(Rank to);
  void on_link_down(Rank to);

  // --- The result.
  // Members that were found to break the rules of an exchange, since the last call.
  std::vector<ExchangeFinding> take_findings();
  bool complete() const { return exchanges_complete() && unreported().value() < 0; }
  // The sums of one exchange once it is complete here, though the round is not. Empty before, and
  // where the round has no such exchange.
  std::optional<std::span<const float>> sums(std::size_t exchange) const;
  // The rank whose data or report is missing; this member's own if no other's is.
  Rank waits_for() const;
  // REQUIRES: complete(), once.
  void seal();
  bool sealed() const { return sealed_; }
  const Hash128& hash() const { return hash_; }
  // The outcome of the committed round. REQUIRES: sealed().
  RoundOutcome outcome() const;

 private:
  bool exchanges_complete() const;
  // The first member whose report is not here; -1: none.
  Rank unreported() const;

  const CollectiveId id_;
  const RoundPlan plan_;
  const Rank self_;
  std::vector<std::unique_ptr<TeamExchange>> exchanges_;
  std::shared_ptr<FloatBuffer> result_;
  // By rank; empty where rounds have none.
  std::vector<std::optional<Bytes>> reports_;
  bool sealed_ = false;
  Hash128 hash_{};
  // All reports, encoded, once the round is sealed.
  SharedBytes all_reports_;
};

}  // namespace weft
