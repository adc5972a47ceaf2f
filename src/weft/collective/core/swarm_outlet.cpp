#include "weft/collective/parts/swarm_outlet.h"

#include <utility>

#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/frame_type.h"

namespace weft {

void SwarmOutlet::send(const PeerId& to, Lane lane, Frame frame) {
  if (lane == Lane::kBulk && frame.type != frame_type::kProbe) {
    core_.link_rates.on_sent(frame.body.size());
  }
  if (lane == Lane::kBulk) core_.links.before_send(to, queued_bytes(to));
  core_.giving.note_sent(frame.type, frame.body.size());
  // A frame that cannot be sent is lost with its link; the link's next life asks again.
  const Status status = core_.transport.send(to, lane, std::move(frame));
  if (lane == Lane::kBulk && status.ok()) core_.links.after_send(to, queued_bytes(to));
  if (status.code() == Code::kInvalidArgument) {
    core_.trainer.fail(internal_error(status.message()));
  }
}

std::size_t SwarmOutlet::queued_bytes(const PeerId& to) const {
  return core_.transport.queued_bytes(to, Lane::kBulk);
}

bool SwarmOutlet::linked(const PeerId& peer) const { return core_.transport.linked(peer); }

double SwarmOutlet::rtt_seconds(const PeerId& peer) const {
  return core_.transport.stats(peer).rtt_seconds;
}

}  // namespace weft
