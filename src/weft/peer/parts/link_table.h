// LinkTable: which links this peer has, and what each of them may do.
//
// A link is a stranger's until its peer has shown a ticket, or is a member: then this peer reads
// little from it and answers less. The links of strangers are counted, and end by themselves.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <map>
#include <set>
#include <string>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/net/transport.h"
#include "weft/peer/admission.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/wire/frame_type.h"

namespace weft {

class LinkTable : public MembershipPart {
 public:
  LinkTable(Membership::Core& core, const StrangerLimits& limits);

  const std::map<PeerId, LinkInfo>& all() const { return state_.links; }
  bool up(const PeerId& peer) const { return state_.links.count(peer) != 0; }
  bool holds_stranger(const PeerId& peer) const { return state_.strangers.contains(peer); }
  void add(const LinkInfo& link);
  void remove(const PeerId& peer);
  // Whether a frame may go to `to`: a stranger is answered once.

  bool may_notify_outsider(const PeerId& peer);
  bool may_speak(const PeerId& from, const FrameView& frame);
  LinkTrust trust_of(const PeerId& peer) const;
  void report_trust(const PeerId& peer);
  void report_trusts();
  void accept_ticket(const PeerId& peer);
  void turn_away(const PeerId& peer, const Status& why);
  void turn_away_expired();
  void on_twin(const PeerId& peer, const std::string& where);
  void on_own_twin(const PeerId& from, const std::string& reason);
  bool shuns(const PeerId& stranger) const;
  bool may_answer(const PeerId& to);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  // Whether the ticket or the view that this peer would join names it.
  bool is_candidate(const PeerId& peer) const;
  bool keeps_link(const PeerId& peer) const;
  bool may_report_twin(const PeerId& peer);

  struct State {
    explicit State(const StrangerLimits& limits) : strangers(limits) {}

    std::map<PeerId, LinkInfo> links;
    Strangers strangers;
    // The trust of each link that was reported to the sink.
    std::map<PeerId, LinkTrust> trusts;
    // The peers whose links are being closed.
    std::set<PeerId> turned_away;
    // When linked peers that are neither members nor joiners were last notified of that.
    std::map<PeerId, TimePoint> outsiders_notified;
    // When it was last reported of each peer that it has two processes.
    std::map<PeerId, TimePoint> twins_reported;

    WEFT_FIELDS((links, trusts, turned_away), (strangers, outsiders_notified, twins_reported))
  };

  State state_;
};

}  // namespace weft
