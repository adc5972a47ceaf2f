// How a link is parked, and how its connections are opened again.
#include <algorithm>
#include <utility>

#include "weft/net/parking/parking_link.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

constexpr Duration kProbeGap = std::chrono::milliseconds(300);
// A way that has worked for so long is trusted anew.
constexpr Duration kWayProved = std::chrono::minutes(2);

}  // namespace

bool ParkingTransport::wants_connections(const Link& link) const {
  return ring_->is_neighbour(link.peer) || !link.held.empty();
}

bool ParkingTransport::may_be_parked_at(const PeerId& peer) const {
  return ring_->contains(peer) && (ring_->sparse() || now() < former_until_);
}

// --- Parking.

// The end with the smaller id asks.
void ParkingTransport::consider_parking(Link& link) {
  link.park_at = TimePoint::max();
  if (!ring_->sparse() || !ring_->contains(link.peer) || ring_->is_neighbour(link.peer)) return;
  if (!link.up || !link.connected || link.session || link.asked || self() > link.peer) return;
  const TimePoint idle_at = link.bulk_at + options_.idle_before;
  if (now() < idle_at || inner_.queued_bytes(link.peer, Lane::kBulk) > 0) {
    link.park_at = std::max(idle_at, now() + options_.idle_before / 2);
    return;
  }
  ParkAskMessage ask;
  random_bytes(ask.nonce);
  link.asked = ask.nonce;
  link.drained = false;
  send_own(link.peer, Lane::kControl, frame_type::kParkAsk, ask.encode());
}

Status ParkingTransport::on_ask(Link& link, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const ParkAskMessage ask, ParkAskMessage::decode(frame.head));
  if (link.trust == LinkTrust::kStranger) return corrupt("park_ask: from a peer without a proof");
  if (link.peer > self() || link.session) return corrupt("park_ask: it is not this end's turn");
  const bool idle = now() >= link.bulk_at + options_.idle_before / 2 &&
                    inner_.queued_bytes(link.peer, Lane::kBulk) == 0;
  const bool agreed = idle && link.up && !link.down_later && now() >= link.refuse_until &&
                      ring_->contains(link.peer) && !ring_->is_neighbour(link.peer);
  send_own(link.peer, Lane::kControl, frame_type::kParkAnswer, ParkAnswerMessage{agreed}.encode());
  if (!agreed) return {};
  link.drained = false;
  start_session(link, ask.nonce);
  link.out = true;
  send_own(link.peer, Lane::kBulk, frame_type::kParkDone, {});
  return {};
}

Status ParkingTransport::on_answer(Link& link, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const ParkAnswerMessage answer, ParkAnswerMessage::decode(frame.head));
  if (!link.asked) return corrupt("park_answer: nothing was asked");
  const ParkNonce nonce = *std::exchange(link.asked, {});
  if (!answer.agreed) {
    link.park_at = now() + options_.retry_after + pause_before_asking(link);
    flush_held(link);
    return {};
  }
  start_session(link, nonce);
  send_own(link.peer, Lane::kControl, frame_type::kParkDone, {});
  send_own(link.peer, Lane::kBulk, frame_type::kParkDone, {});
  link.out = link.in = true;
  link.probe_until = now() + options_.answer_limit;
  link.probe_at = now();
  if (wants_connections(link)) open_again(link);
  return {};
}

Status ParkingTransport::on_done(Link& link, Lane lane, const FrameView& frame) {
  WEFT_TRY(ParkDoneMessage::decode(frame.head).status());
  if (lane == Lane::kBulk) {
    link.drained = true;
    hang_up(link);
    if (link.may_close) close_connections(link);
    return {};
  }
  if (!link.session || !link.out || link.in) return corrupt("park_done: nothing was agreed");
  link.in = true;
  if (wants_connections(link)) open_again(link);
  return {};
}

void ParkingTransport::start_session(Link& link, const ParkNonce& nonce) {
  link.session = std::make_unique<ParkedSession>(self(), link.peer, link.info.exporter, nonce,
                                                 options_.session, now());
  link.may_close = link.hanging = link.proved = false;
}

void ParkingTransport::end_session(Link& link) {
  if (link.session) {
    link.park_at = link.connected ? now() + pause_before_asking(link) : TimePoint::max();
  }
  link.session.reset();
  link.out = link.in = false;
  link.asked.reset();
  link.probe_until = link.probe_at = link.dial_at = TimePoint::max();
  link.dial_gap = {};
  link.held.clear();
  link.held_bytes = {};
}

// Asks through the members on the way whether packets pass, both ways.
void ParkingTransport::probe(Link& link) {
  if (now() >= link.probe_until) {
    ++link.failures;
    link.refuse_until = now() + pause_before_asking(link);
    return unpark(link);
  }
  if (now() < link.probe_at) return;
  link.probe_at = now() + kProbeGap;
  link.session->send(ParkedKind::kProbe, {}, now());
}

// Once the way works and all bulk frames are here, the other end may close the connections.
void ParkingTransport::hang_up(Link& link) {
  if (!link.proved || !link.drained || !link.direct() || !link.out || !link.in) return;
  if (wants_connections(link)) return open_again(link);
  link.session->send(ParkedKind::kHangUp, {}, now());
  pump(link);
  link.hanging = true;
}

void ParkingTransport::close_connections(Link& link) {
  link.closing = true;
  inner_.close(link.peer, unavailable("the link is parked"));
}

// --- Opening.

void ParkingTransport::open_again(Link& link) {
  if (!link.session || !link.out || !link.in) return;
  if (!link.connected) {
    link.dial_at = std::min(link.dial_at, now());
    return;
  }
  if (link.direct()) unpark(link);
}

// REQUIRES: connected, and own frames go by the session.
void ParkingTransport::unpark(Link& link) {
  link.hanging = link.proved = false;
  link.probe_until = link.probe_at = TimePoint::max();
  link.session->send(ParkedKind::kUnpark, {}, now());
  for (SealedPacket& packet : link.session->take_all(now())) transmit(link, std::move(packet));
  link.out = false;
  flush_held(link);
  if (!link.in) end_session(link);
}

Status ParkingTransport::on_resume(Link& link, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const ParkResumeMessage resume, ParkResumeMessage::decode(frame.head));
  if (!link.awaits_first) {
    // The other end continues a link that is unknown here. It learns so by the first frame from
    // here, which is this one where the ring has not made it send one already. Once is enough.
    if (resume.name != ParkName() && !may_be_parked_at(link.peer) && !link.resume_answered) {
      link.resume_answered = true;
      send_own(link.peer, Lane::kControl, frame_type::kParkResume, ParkResumeMessage().encode());
    }
    return {};
  }
  if (resume.name != link.session->name()) {
    begin_anew(link.peer);
    return {};
  }
  link.awaits_first = false;
  link.first_limit = TimePoint::max();
  unpark(link);
  deliver_early(link.peer);
  return {};
}

void ParkingTransport::begin_anew(const PeerId& peer) {
  Link* link = find(peer);
  link->awaits_first = false;
  link->first_limit = TimePoint::max();
  end_session(*link);
  announce_down(peer, aborted("the peer has connected anew"));
  link = find(peer);
  if (link == nullptr || !link->connected) return;
  announce_up(peer);
  deliver_early(peer);
}

void ParkingTransport::deliver_early(const PeerId& peer) {
  Link* link = find(peer);
  if (link == nullptr) return;
  link->early_bytes = 0;
  for (const Frame& frame : std::exchange(link->early, {})) {
    handler_->on_frame(peer, Lane::kBulk, {frame.type, frame.head, frame.body.span()});
  }
}

void ParkingTransport::fail_session(const PeerId& peer, const Status& why) {
  Link* link = find(peer);
  if (link == nullptr) return;
  const bool worked = now() - link->parked_since > kWayProved;
  link->failures = worked ? 1 : link->failures + 1;
  link->refuse_until = now() + pause_before_asking(*link);
  end_session(*link);
  if (link->connected) inner_.close(peer, why);
  announce_down(peer, why);
}

}  // namespace weft
