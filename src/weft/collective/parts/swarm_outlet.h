// SwarmOutlet: what the parts of a swarm send, and what they ask of its links.
//
// It has no state of its own.
// Threads: as SwarmCore. Fails: never; a frame that cannot be sent is lost with its link.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/collective/link/link_rates.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/state/state_server.h"
#include "weft/net/transport.h"

namespace weft {

class SwarmOutlet final : public SwarmCorePart, public StateSink, public LinkRateSink {
 public:
  using SwarmCorePart::SwarmCorePart;

  void send(const PeerId& to, Lane lane, Frame frame) override;
  std::size_t queued_bytes(const PeerId& to) const override;
  bool linked(const PeerId& peer) const override;
  double rtt_seconds(const PeerId& peer) const override;
  // A message on the control lane.
  template <class Message>
  void send_message(const PeerId& to, std::uint8_t type, const Message& message) {
    send(to, Lane::kControl, Frame{type, message.encode(), {}});
  }
};

}  // namespace weft
