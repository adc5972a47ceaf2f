// Agreement: which view follows one view; single-decree Paxos among that view's members.
//
// One object holds both roles of one member: the acceptor, which promises and accepts, and the
// proposer of at most one ballot at a time. It only computes: messages are values; the caller
// decides whom to ask and when to try again.
//
// Safety needs three things of the caller: a member forgets its promises and acceptances only when
// it no longer votes in this view; only propose() proposes a value; and any two quorums given to
// start() share a voter.
//
// A process that was started again may go on as the acceptor that it was before, with resume(), if
// each promise and acceptance was on disk before it was sent (voter_record.h). It proposes nothing,
// and its promises carry kHoldsNothing: its rounds' results were lost with the process. This is
// safe for the following reasons.
//   * One next view. Paxos requires of an acceptor that it keeps its promises, not that its process
//     keeps running. A record that lacks something that was sent would break that; one that has
//     more only refuses more.
//   * The base round covers every committed round. A round of this view is committed when all of
//     its members have sent Done for it, and none sends it after its promise. So *each* promise
//     that states a done round states one at or above all that are committed or ever will be, and
//     so is the smallest of them; promises without one need not be counted. The proposer's own
//     promise always states one, because a proposer has not been restarted, and without such a
//     promise there is no quorum. The restarted member never sends Done in this view again.
//   * The base round's result is available: a member that stated it, or a later one, has it. If
//     fewer members state one, fewer have it; the others fetch it from these.
//   * A value that an earlier ballot may have decided is adopted with its own base round, which was
//     the smallest one in its promises, and those members are still frozen, or restarted.
//
// Threads: one owner.
// Fails: never; messages of strangers or of other ballots change nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <variant>

#include "weft/peer/view.h"
#include "weft/wire/membership_message.h"

namespace weft {

class Agreement {
 public:
  // `self` is a member of `view`, the view to be replaced.
  Agreement(View view, const PeerId& self);
  // Goes on with what an earlier process of this member has promised and accepted in this view.
  void resume(const Ballot& promised, std::optional<AcceptedValue> accepted);

  // --- Acceptor.
  std::variant<PromiseMessage, RejectedMessage> on_prepare(const PrepareMessage& message,
                                                           const RoundStatus& status);
  std::variant<AcceptedMessage, RejectedMessage> on_accept(const AcceptMessage& message);

  // --- Proposer. Begins a ballot above all known ones, in place of the current one. The answer
  // goes to every member, this one included; `quorum` of them must agree in both phases.
  PrepareMessage start(int quorum);
  // True when this promise completes the quorum: propose() is next.
  bool on_promise(const PeerId& from, const PromiseMessage& message);
  // The base round that a fresh value gets. REQUIRES: on_promise() was true.
  Round fresh_base() const;
  // The value to accept: the newest one in any promise, or else `fresh` with its base round set to
  // the highest that the whole quorum has done. REQUIRES: on_promise() was true.
  AcceptMessage propose(ViewValue fresh);
  // True when this acceptance completes the quorum: decided() holds.
  bool on_accepted(const PeerId& from, const AcceptedMessage& message);
  // Remembers the higher ballot; true if the current one has lost because of it.
  bool on_rejected(const RejectedMessage& message);

  // The value, once this proposer's ballot has its quorum.
  const std::optional<ViewValue>& decided() const { return decided_; }
  bool proposing() const { return phase_ != Phase::kNone; }
  const Ballot& promised() const { return promised_; }
  // The value that this member has accepted last, if any: nothing else may follow once a quorum
  // has.
  const std::optional<AcceptedValue>& accepted() const { return accepted_; }
  // Whether an answer to this ballot may still change anything.
  bool awaits_promise(const Ballot& ballot) const {
    return phase_ == Phase::kPreparing && ballot == ballot_;
  }
  bool awaits_acceptance(const Ballot& ballot) const {
    return phase_ == Phase::kAccepting && ballot == ballot_;
  }
  // Everything that distinguishes this from another agreement on the same view.
  void write_state(class Writer& out) const;

 private:
  enum class Phase : std::uint8_t { kNone, kPreparing, kPromised, kAccepting };

  RejectedMessage reject(const Ballot& asked) const { return {view_.id, asked, promised_}; }

  View view_;
  PeerId self_;
  Ballot promised_;
  std::optional<AcceptedValue> accepted_;

  Phase phase_ = Phase::kNone;
  Ballot ballot_;
  std::uint64_t counter_seen_ = 0;
  int quorum_ = 0;
  std::map<PeerId, PromiseMessage> promises_;
  ViewValue proposed_;
  std::set<PeerId> acceptances_;
  std::optional<ViewValue> decided_;
};

}  // namespace weft
