// Joining: this peer's own attempt to join: which members it asks, which one accepted it, and what
// it still lacks.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/peer/ticket.h"
#include "weft/wire/admission_message.h"
#include "weft/wire/end_message.h"
#include "weft/wire/join_message.h"
#include "weft/wire/membership_message.h"

namespace weft {

class Joining : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  // Empty where this peer is not joining.
  const std::optional<JoinAttempt>& attempt() const { return state_.attempt; }
  void end() { state_.attempt.reset(); }
  // Adds a member that can be asked.
  void add_candidate(PeerAddress member);
  // Everything up to `round` is applied here.
  void caught_up(Round round);
  void on_link_up(const PeerId& peer);
  // `why` is how the link, or the attempt to have one, ended.
  void on_link_down(const PeerId& peer, const Status& why);
  // Asks another member if `peer` was the one that the attempt depends on.
  void go_on_without(const PeerId& peer, const Status& why);

  void join(const Ticket& ticket);
  void ask_next();
  void ask_others();
  void send_request();
  void join_timer();
  void fail_join(Status why);
  void dial_known();
  void admit_again();
  void know_view(const ViewNoticeMessage& notice);
  // Whether `peer` is the member that accepted this one.
  bool has_sponsor(const PeerId& peer) const;
  void ask_sponsor_again();
  void on_accepted_join(const PeerId& from, const JoinAcceptedMessage& message);
  void on_refused_join(const PeerId& from, const JoinRefusedMessage& message);
  void on_run_over(const PeerId& from, const RunOverMessage& message);
  void note_dial(const PeerId& peer, const Status& why);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  void ask(const PeerAddress& member);
  bool reaches_all() const;
  std::vector<Member> unreached() const;
  std::string unreached_text(const std::vector<Member>& members) const;
  void watch_reach();
  void wait_on(const std::string& text);
  void watch_end();
  bool still_served() const;
  void give_up_run(const std::optional<Round>& ended_with);

  struct State {
    std::optional<JoinAttempt> attempt;

    WEFT_FIELDS((attempt), ())
  };

  State state_;
};

}  // namespace weft
