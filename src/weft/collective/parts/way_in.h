// WayIn: whether this peer is a member, and how it joins, for the first time and again.
//
// Threads: as SwarmCore. Fails: as each method says.
#pragma once

#include <optional>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/peer/ticket.h"
#include "weft/peer/view.h"

namespace weft {

class WayIn : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  void join(const Ticket& ticket);
  // It was removed from the view that is still shown.
  bool removed() const { return state_.removed; }
  // The view of the members that accepted this peer.
  const View& sync_view() const { return state_.sync_view; }

  void on_accepted(const View& view, const PeerId& sponsor);
  void on_view();
  void on_removed(const Status& why);
  void on_failed(const Status& why);
  // A round was applied: the next removal is the first again.
  void on_applied() { state_.rejoins = 0; }
  // The state that was caught up to is another branch's.
  void ask_again() { state_.admission_asked.reset(); }
  // Joins again, or asks to be admitted.
  void settle();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  void join_again();
  void ask_for_admission();

  struct State {
    View sync_view;
    std::optional<Round> admission_asked;
    bool removed = false;
    bool rejoin = false;
    int rejoins = 0;

    WEFT_FIELDS((sync_view, admission_asked, removed, rejoin, rejoins), ())
  };

  State state_;
};

}  // namespace weft
