// HeldOffer: the state that a newcomer comes back with, which a founder that resumes may take.
//
// Threads: as SwarmCore. Fails: as each method says.
#pragma once

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/net/transport.h"
#include "weft/wire/ids.h"
#include "weft/wire/state_message.h"

namespace weft {

class HeldOffer : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // The training side holds the state after `round`; 0: none.
  void hold(Round round) { state_.round = round; }
  bool holds() const { return state_.round > Round(); }
  Round round() const { return state_.round; }
  // What this peer was a member of goes along with its state, and who may hold a newer one.
  void tell(const PeerId& sponsor);
  // From either side. kCorrupt where it does not decode.
  Status on_frame(const PeerId& from, const FrameView& frame);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  // A member says what the run's state comes from.
  void on_taken(const HeldStateMessage& taken);

  struct State {
    Round round{};

    WEFT_FIELDS((round), ())
  };

  State state_;
};

}  // namespace weft
