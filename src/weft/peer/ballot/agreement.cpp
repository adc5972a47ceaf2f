// IMPLEMENTATION: Lamport, "Paxos made simple", 2001, section 2.2, one instance for each view, the
// voters being that view's members (as in Lamport, Malkhi, Zhou, "Vertical Paxos", PODC 2009).
// Added here: a promise carries how far its peer's rounds are done, and a fresh value takes the
// least of them as its base round.
#include "weft/peer/agreement.h"

#include <algorithm>

#include "weft/base/check.h"

namespace weft {

Agreement::Agreement(View view, const PeerId& self) : view_(std::move(view)), self_(self) {
  WEFT_CHECK(view_.contains(self));
}

void Agreement::resume(const Ballot& promised, std::optional<AcceptedValue> accepted) {
  promised_ = promised;
  accepted_ = std::move(accepted);
  counter_seen_ = promised.counter;
}

std::variant<PromiseMessage, RejectedMessage> Agreement::on_prepare(const PrepareMessage& message,
                                                                    const RoundStatus& status) {
  counter_seen_ = std::max(counter_seen_, message.ballot.counter);
  if (message.ballot < promised_) return reject(message.ballot);
  promised_ = message.ballot;
  return PromiseMessage{view_.id, message.ballot, status, accepted_};
}

std::variant<AcceptedMessage, RejectedMessage> Agreement::on_accept(const AcceptMessage& message) {
  counter_seen_ = std::max(counter_seen_, message.ballot.counter);
  if (message.ballot < promised_) return reject(message.ballot);
  promised_ = message.ballot;
  accepted_ = AcceptedValue{message.ballot, message.value};
  return AcceptedMessage{view_.id, message.ballot};
}

PrepareMessage Agreement::start(int quorum) {
  // A counter near the end of its range can only come from a faulty peer; ballots then tie by id.
  if (counter_seen_ != UINT64_MAX) ++counter_seen_;
  ballot_ = Ballot{counter_seen_, self_};
  phase_ = Phase::kPreparing;
  quorum_ = quorum;
  promises_.clear();
  acceptances_.clear();
  return PrepareMessage{view_.id, ballot_};
}

bool Agreement::on_promise(const PeerId& from, const PromiseMessage& message) {
  if (phase_ != Phase::kPreparing || message.ballot != ballot_ || !view_.contains(from)) {
    return false;
  }
  promises_.insert_or_assign(from, message);
  if (static_cast<int>(promises_.size()) < quorum_) return false;
  // The base round needs a promise that states its rounds; this member's own may not be kept yet.
  const bool stated = std::any_of(promises_.begin(), promises_.end(), [](const auto& promise) {
    return promise.second.status.done.value() != kHoldsNothing;
  });
  if (!stated) return false;
  phase_ = Phase::kPromised;
  return true;
}

Round Agreement::fresh_base() const {
  WEFT_CHECK(phase_ == Phase::kPromised);
  std::optional<Round> least;
  for (const auto& [peer, promise] : promises_) {
    if (promise.status.done.value() == kHoldsNothing) continue;
    least = std::min(least.value_or(promise.status.done), promise.status.done);
  }
  return std::max(view_.base_round, least.value_or(Round()));
}

AcceptMessage Agreement::propose(ViewValue fresh) {
  WEFT_CHECK(phase_ == Phase::kPromised);
  const AcceptedValue* newest = nullptr;
  for (const auto& [peer, promise] : promises_) {
    if (promise.accepted && (newest == nullptr || newest->ballot < promise.accepted->ballot)) {
      newest = &*promise.accepted;
    }
  }
  if (newest != nullptr) {
    proposed_ = newest->value;
  } else {
    proposed_ = std::move(fresh);
    proposed_.base_round = fresh_base();
  }
  phase_ = Phase::kAccepting;
  return AcceptMessage{view_.id, ballot_, proposed_};
}

bool Agreement::on_accepted(const PeerId& from, const AcceptedMessage& message) {
  if (phase_ != Phase::kAccepting || message.ballot != ballot_ || !view_.contains(from)) {
    return false;
  }
  acceptances_.insert(from);
  if (static_cast<int>(acceptances_.size()) < quorum_) return false;
  phase_ = Phase::kNone;
  decided_ = proposed_;
  return true;
}

bool Agreement::on_rejected(const RejectedMessage& message) {
  counter_seen_ = std::max(counter_seen_, message.promised.counter);
  if (phase_ == Phase::kNone || message.asked != ballot_) return false;
  phase_ = Phase::kNone;
  return true;
}

}  // namespace weft
