// HeldOffer: the state that a newcomer brings along, which a founder that resumes may adopt.
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
  // Reports the state to the sponsor, with the view that this peer was last in: its members may
  // hold a newer one.
  void send_to(const PeerId& sponsor);
  // A frame from a newcomer or from its sponsor. kCorrupt if it does not decode.
  Status on_frame(const PeerId& from, const FrameView& frame);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  // A member reports the origin of the run's state.
  void on_taken(const HeldStateMessage& taken);

  struct State {
    Round round{};

    WEFT_FIELDS((round), ())
  };

  State state_;
};

}  // namespace weft
