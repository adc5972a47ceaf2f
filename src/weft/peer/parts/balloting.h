// Balloting: how the members of a view agree on the next one, as seen by one of them.
//
// It notices that the view must change, waits for its turn, and proposes; and it votes on what
// others propose, which it may refuse (ballot/membership_proposal.cpp). agreement.h has the
// protocol and why it is sound.
//
// Threads: as Membership. Fails: never; what no correct member sends is blamed on its sender.
#pragma once

#include <algorithm>
#include <optional>

#include "weft/base/fields.h"
#include "weft/peer/agreement.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/wire/membership_message.h"

namespace weft {

class Balloting : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  // Empty where this peer is in no view.
  const std::optional<Agreement>& agreement() const { return state_.agreement; }
  // Whether this member has stopped its rounds for a change of the view.
  bool frozen() const { return state_.frozen; }
  // Whether this member has been frozen for `limit`.
  bool stuck(Duration limit) const;
  TimePoint frozen_since() const { return state_.frozen_since; }
  const std::optional<TimePoint>& trouble_since() const { return state_.trouble_since; }
  bool must_change() const { return state_.must_change; }
  TimePoint propose_at() const { return state_.propose_at; }
  int ballots() const { return state_.ballots; }
  // This member has evidence that others may lack: it proposes without waiting for its turn.
  void note_own_news() { state_.own_news = true; }
  // As note_own_news(), and settle() acts on it.
  void hurry();
  // The view must change even if no member joins or leaves.
  void demand_change() { state_.must_change = true; }
  // If something is to be proposed, it is proposed by `when` at the latest.
  void propose_by(TimePoint when) { state_.propose_at = std::min(state_.propose_at, when); }
  // The current view was installed just now.
  void on_view();
  // This peer leaves: nothing is proposed any more.
  void stop();
  // This peer is out of its view.
  void end();

  bool may_go_alone() const;
  void schedule_proposal();
  void propose_when_due();
  void freeze();
  void on_prepare(const PeerId& from, const PrepareMessage& message);
  void on_promise(const PeerId& from, const PromiseMessage& message);
  void on_accept(const PeerId& from, const AcceptMessage& message);
  void on_accepted(const PeerId& from, const AcceptedMessage& message);
  void on_rejected(const PeerId& from, const RejectedMessage& message);
  void decide(const ViewValue& value);
  // About the view that follows `view`.
  void send_promise(const PeerId& to, const View& view, PromiseMessage promise);
  bool has_accepted(const PeerId& peer) const;
  bool is_accepted_value(const ViewNoticeMessage& message) const;
  bool is_convicted(const PeerId& peer) const;
  // Whether the notice of one member is enough to believe in the view that follows.
  bool believes_next(const PeerId& from, const ViewNoticeMessage& message) const;
  Round committed_here() const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  bool wants_change() const;
  int position(const PeerId& tried = {}) const;
  bool more_to_come() const;
  void start_ballot();
  ViewValue fresh_value(Round base) const;
  std::optional<Refusal> refusal(const PeerId& by, const ViewValue& value) const;
  std::optional<Refusal> refuse_expulsions(const PeerId& by, const ViewValue& value) const;
  bool may_be_convicted(const PeerId& peer, const PeerId& by) const;
  // Whether this member, or the voter that it was, refuses to vote for what `from` proposes.
  bool refuses(const PeerId& from, const AcceptMessage& message);
  // Whether a promise states what no correct member can have accepted or be done with.
  bool is_incredible(const PromiseMessage& message) const;

  struct State {
    std::optional<Agreement> agreement;
    bool frozen = false;
    TimePoint frozen_since{};
    // The first sign that the view must change.
    std::optional<TimePoint> trouble_since;
    // This peer may be the only one with the evidence, so it proposes without waiting for its turn.
    bool own_news = false;
    // The view must change even if no member joins or leaves: it was isolated, or the ring is
    // reordered.
    bool must_change = false;
    TimePoint propose_at = kNever;
    int ballots = 0;

    WEFT_FIELDS((agreement, frozen, trouble_since, own_news, must_change, propose_at),
                (frozen_since, ballots))
  };

  State state_;
};

}  // namespace weft
