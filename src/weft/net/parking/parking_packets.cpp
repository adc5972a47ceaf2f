// Packets of parked links: own ones, and those that pass through this member.
#include <algorithm>
#include <utility>

#include "weft/net/parking/parking_link.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/link_message.h"
#include "weft/wire/printable.h"

namespace weft {

void ParkingTransport::send_own(const PeerId& to, Lane lane, std::uint8_t type, Bytes head) {
  // Without connections it is lost, as a packet may be.
  static_cast<void>(inner_.send(to, lane, {type, std::move(head), {}}).ok());
}

bool ParkingTransport::forwards_for(const PeerId& peer) const {
  return ring_->contains(peer) || (now() < former_until_ && former_ring_->contains(peer));
}

std::vector<PeerId> ParkingTransport::ways(const PeerId& target) const {
  const bool former = !ring_->contains(target) && now() < former_until_;
  std::vector<PeerId> out = (former ? *former_ring_ : *ring_).toward(target, connected_);
  std::erase_if(out, [this](const PeerId& peer) { return !find(peer)->direct(); });
  return out;
}

void ParkingTransport::pump(Link& link) {
  if (!link.session) return;
  for (SealedPacket& packet : link.session->take_due(now())) transmit(link, std::move(packet));
}

void ParkingTransport::transmit(const Link& link, SealedPacket packet) {
  const bool direct = link.direct() && !packet.routed_only;
  PeerId first = link.peer;
  if (!direct) {
    std::vector<PeerId> through = ways(link.peer);
    std::erase(through, link.peer);
    if (through.empty()) {
      ++stats_.packets_dropped;
      return;
    }
    first = through[packet.way % through.size()];
  }
  RoutedMessage message;
  message.origin = self();
  message.target = link.peer;
  message.sealed = std::move(packet.sealed);
  send_own(first, Lane::kControl, frame_type::kRouted, message.encode());
}

Status ParkingTransport::on_routed(const PeerId& from, const FrameView& frame) {
  if (!forwards_for(from)) return {};
  WEFT_TRY_ASSIGN(RoutedMessage packet, RoutedMessage::decode(frame.head));
  if (packet.target == self()) {
    take_packet(from, packet);
  } else if (forwards_for(packet.origin) && forwards_for(packet.target)) {
    forward(from, std::move(packet));
  }
  return {};
}

void ParkingTransport::forward(const PeerId& from, RoutedMessage packet) {
  for (const PeerId& next : ways(packet.target)) {
    if (packet.hops == 0) break;
    if (next == from || next == packet.origin) continue;
    if (inner_.queued_bytes(next, Lane::kControl) > options_.forward_queue_bytes_max) continue;
    --packet.hops;
    ++stats_.packets_forwarded;
    return send_own(next, Lane::kControl, frame_type::kRouted, packet.encode());
  }
  ++stats_.packets_dropped;
}

void ParkingTransport::take_packet(const PeerId& from, const RoutedMessage& packet) {
  Link* link = find(packet.origin);
  if (link == nullptr || !link->session) return;
  const ParkName name = link->session->name();
  for (const ParkedArrival& arrival : link->session->on_packet(packet.sealed, now())) {
    const Status status = on_arrival(*link, from != packet.origin, arrival);
    if (!status.ok()) fail_session(packet.origin, status);
    // The handler, or the packet itself, may have ended the link.
    link = find(packet.origin);
    if (link == nullptr || !link->session || link->session->name() != name) break;
  }
  settle(packet.origin);
}

Status ParkingTransport::on_arrival(Link& link, bool routed, const ParkedArrival& arrival) {
  switch (arrival.kind) {
    case ParkedKind::kFrame:
      return take_frame(link.peer, arrival.payload);
    case ParkedKind::kProbe:
      if (routed) link.session->send(ParkedKind::kProbeReply, {}, now());
      return {};
    case ParkedKind::kProbeReply:
      if (!routed || link.probe_until == TimePoint::max()) return {};
      link.probe_until = link.probe_at = TimePoint::max();
      link.proved = true;
      hang_up(link);
      return {};
    case ParkedKind::kHangUp:
      if (!link.connected || !link.out || !link.in) return {};
      if (wants_connections(link)) {
        open_again(link);
        return {};
      }
      link.may_close = true;
      if (link.drained) close_connections(link);
      return {};
    case ParkedKind::kUnpark:
      if (!link.connected) return unavailable("its connections broke while they were opened");
      link.in = false;
      if (link.out) {
        unpark(link);
      } else {
        end_session(link);
      }
      return {};
    case ParkedKind::kEnd:
      return aborted(to_printable(to_text(arrival.payload), kLinkTextBytesMax));
    case ParkedKind::kBeat:
    case ParkedKind::kAcknowledgement:
      break;
  }
  return {};
}

Status ParkingTransport::take_frame(const PeerId& peer, ByteSpan payload) {
  WEFT_TRY_ASSIGN(const ParkedFrame frame, ParkedFrame::decode(payload));
  const bool own =
      frame.type <= frame_type::kLastLinkType ||
      (frame.type >= frame_type::kFirstParkingType && frame.type <= frame_type::kLastParkingType);
  if (own) return corrupt("a parked link carries a frame of the transport's own");
  handler_->on_frame(peer, Lane::kControl, {frame.type, frame.head, frame.body});
  return {};
}

}  // namespace weft
