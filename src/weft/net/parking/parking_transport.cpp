#include "weft/net/parking_transport.h"

#include <algorithm>
#include <utility>

#include "weft/net/parking/parking_link.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/link_message.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

bool is_parking_frame(std::uint8_t type) {
  return type >= frame_type::kFirstParkingType && type <= frame_type::kLastParkingType;
}

std::size_t bytes_of(const Frame& frame) { return frame.head.size() + frame.body.size(); }

constexpr Duration kRedialFirst = std::chrono::seconds(1);
constexpr Duration kRedialLast = std::chrono::seconds(30);
// A dial that is under way ends within this; then the next one may begin.
constexpr Duration kDialLimit = std::chrono::seconds(10);

}  // namespace

ParkingTransport::ParkingTransport(ParkingOptions options, Transport& inner, const Clock& clock,
                                   Rng rng)
    : options_(options),
      inner_(inner),
      clock_(clock),
      rng_(rng),
      ring_(std::make_unique<MeshRing>()),
      former_ring_(std::make_unique<MeshRing>()) {}

ParkingTransport::~ParkingTransport() = default;

// --- The ring.

void ParkingTransport::set_ring(std::vector<PeerAddress> members,
                                const std::vector<int>& distances) {
  if (ring_->sparse()) {
    former_ring_ = std::move(ring_);
    former_until_ = now() + options_.former_ring_kept;
  }
  ring_ = std::make_unique<MeshRing>(self(), std::move(members), distances, options_.mesh_members);
  if (!ring_->sparse() && now() >= former_until_) return;
  for (const auto& [peer, link] : links_) {
    if (link->session && wants_connections(*link)) open_again(*link);
    if (link->connected && ring_->sparse() && link->park_at == TimePoint::max()) {
      link->park_at = now() + pause_before_asking(*link);
    }
    pump(*link);
    set_due(*link, due_of(*link));
  }
}

void ParkingTransport::drop_parked(const Status& why) {
  for (const auto& [peer, link] : links_) {
    if (!link->session || !link->up) continue;
    if (link->connected) inner_.close(peer, why);
    end_session(*link);
    link->down_later = why;
    set_due(*link, now());
  }
}

// --- Links.

ParkingTransport::Link* ParkingTransport::find(const PeerId& peer) const {
  const auto found = links_.find(peer);
  return found == links_.end() ? nullptr : found->second.get();
}

ParkingTransport::Link& ParkingTransport::link_of(const PeerId& peer) {
  std::unique_ptr<Link>& link = links_[peer];
  if (!link) link = std::make_unique<Link>(peer);
  return *link;
}

void ParkingTransport::announce_up(const PeerId& peer) {
  Link& link = link_of(peer);
  link.up = true;
  const LinkInfo info = link.info;
  handler_->on_link_up(info);
}

void ParkingTransport::announce_down(const PeerId& peer, const Status& why) {
  Link* link = find(peer);
  if (link == nullptr) return;
  link->down_later.reset();
  if (!std::exchange(link->up, false)) return;
  handler_->on_link_down(peer, why);
}

Duration ParkingTransport::pause_before_asking(const Link& link) {
  Duration pause = options_.idle_before;
  if (link.failures > 0) {
    pause = options_.retry_after;
    for (int i = 1; i < link.failures && pause < options_.retry_after_max; ++i) pause *= 2;
    pause = std::min(pause, options_.retry_after_max);
  }
  // Members that came into a view together do not ask together.
  return pause + from_seconds(rng_.uniform() * to_seconds(options_.idle_before) / 2);
}

void ParkingTransport::connect(const PeerAddress& peer) {
  const Link* link = find(peer.id);
  if (link != nullptr && link->up && !link->down_later) return;
  inner_.connect(peer);
}

bool ParkingTransport::linked(const PeerId& peer) const {
  const Link* link = find(peer);
  if (link == nullptr || !link->up || link->down_later) return false;
  return (link->session && link->out && link->in) || inner_.linked(peer);
}

bool ParkingTransport::parked(const PeerId& peer) const {
  const Link* link = find(peer);
  return link != nullptr && link->parked();
}

void ParkingTransport::set_trust(const PeerId& peer, LinkTrust trust) {
  if (Link* link = find(peer)) link->trust = trust;
  inner_.set_trust(peer, trust);
}

void ParkingTransport::close(const PeerId& peer, const Status& why) {
  Link* link = find(peer);
  if (link == nullptr || !link->session) return inner_.close(peer, why);
  if (link->down_later) return;
  const std::string text = to_printable(why.message(), kLinkTextBytesMax);
  link->session->send(ParkedKind::kEnd, Bytes(text.begin(), text.end()), now());
  pump(*link);
  if (link->connected) inner_.close(peer, why);
  end_session(*link);
  link->down_later = why;
  set_due(*link, now());
}

TransportStats ParkingTransport::stats(const PeerId& peer) const {
  TransportStats out = inner_.stats(peer);
  const Link* link = find(peer);
  if (link != nullptr && link->parked()) out.rtt_seconds = link->session->rtt_seconds();
  return out;
}

ParkingStats ParkingTransport::parking_stats() const {
  ParkingStats out = stats_;
  out.connected = connected_.size();
  out.parked = static_cast<std::size_t>(std::count_if(
      links_.begin(), links_.end(), [](const auto& entry) { return entry.second->parked(); }));
  return out;
}

// --- Sending.

Status ParkingTransport::send(const PeerId& to, Lane lane, Frame frame) {
  Link* link = find(to);
  if (link == nullptr || !link->up || link->down_later) {
    return unavailable("send: no link to " + to.short_name());
  }
  if (is_parking_frame(frame.type)) {
    return invalid_argument("send: frames of type " + std::to_string(frame.type) +
                            " are the transport's own");
  }
  if (lane == Lane::kBulk) {
    link->bulk_at = now();
    if (link->out || link->asked) return hold(*link, lane, std::move(frame));
    return inner_.send(to, lane, std::move(frame));
  }
  if (!link->out) return inner_.send(to, lane, std::move(frame));
  const bool behind_held = link->held_bytes[lane_index(lane)] > 0;
  if (behind_held || bytes_of(frame) > kRoutedFrameBytesMax || frame.type <= 0x0f) {
    return hold(*link, lane, std::move(frame));
  }
  const ByteSpan body = frame.body.span();
  ParkedFrame parked{frame.type, std::move(frame.head), Bytes(body.begin(), body.end())};
  if (!link->session->send(ParkedKind::kFrame, parked.encode(), now())) {
    link->down_later = unavailable("the peer takes no frames through other members");
    if (link->connected) inner_.close(to, *link->down_later);
    end_session(*link);
    set_due(*link, now());
    return *link->down_later;
  }
  settle(to);
  return {};
}

Status ParkingTransport::hold(Link& link, Lane lane, Frame frame) {
  if (frame.type <= 0x0f || frame.head.size() > kFrameHeadBytesMax ||
      frame.body.size() > kFrameBodyBytesMax) {
    return invalid_argument("send: a frame of type " + std::to_string(frame.type) + " with " +
                            std::to_string(frame.head.size()) + " and " +
                            std::to_string(frame.body.size()) + " bytes is out of bounds");
  }
  if (link.held_bytes[0] + link.held_bytes[1] + bytes_of(frame) > options_.held_bytes_max) {
    return unavailable("send: the queue to " + link.peer.short_name() + " is full");
  }
  link.held_bytes[lane_index(lane)] += bytes_of(frame);
  link.held.emplace_back(lane, std::move(frame));
  open_again(link);
  settle(link.peer);
  return {};
}

void ParkingTransport::flush_held(Link& link) {
  while (!link.held.empty()) {
    auto [lane, frame] = std::move(link.held.front());
    link.held.pop_front();
    // Where the connections have just broken, the frames are lost with them.
    static_cast<void>(inner_.send(link.peer, lane, std::move(frame)).ok());
  }
  link.held_bytes = {};
}

std::size_t ParkingTransport::queued_bytes(const PeerId& to, Lane lane) const {
  std::size_t out = inner_.queued_bytes(to, lane);
  const Link* link = find(to);
  if (link == nullptr) return out;
  out += link->held_bytes[lane_index(lane)];
  if (lane == Lane::kControl && link->session) out += link->session->queued_bytes();
  return out;
}

void ParkingTransport::cancel_bulk(const PeerId& to) {
  inner_.cancel_bulk(to);
  Link* link = find(to);
  if (link == nullptr) return;
  std::erase_if(link->held, [](const auto& entry) { return entry.first == Lane::kBulk; });
  link->held_bytes[lane_index(Lane::kBulk)] = 0;
  // The mark of the lane's end was perhaps among them.
  if (link->out && link->connected) send_own(to, Lane::kBulk, frame_type::kParkDone, {});
}

// --- Events of the connections.

void ParkingTransport::on_link_up(const LinkInfo& info) {
  const PeerId peer = info.peer;
  const Link* before = find(peer);
  if (before != nullptr && before->down_later) announce_down(peer, Status(*before->down_later));
  Link& link = link_of(peer);
  connected_.insert(peer);
  link.info = info;
  link.connected = true;
  link.hanging = link.may_close = link.closing = link.drained = link.proved = false;
  link.resume_answered = false;
  link.asked.reset();
  link.bulk_at = now();
  link.dial_at = TimePoint::max();
  link.dial_gap = {};
  link.park_at = ring_->sparse() ? now() + pause_before_asking(link) : TimePoint::max();
  if (link.session) {
    // Whether the other end continues it as well, its first frame says.
    inner_.set_trust(peer, link.trust);
    link.awaits_first = true;
    link.first_limit = now() + options_.answer_limit;
    send_own(peer, Lane::kControl, frame_type::kParkResume,
             ParkResumeMessage{link.session->name()}.encode());
  } else {
    link.trust = handler_->first_trust(info);
    if (may_be_parked_at(peer)) {
      send_own(peer, Lane::kControl, frame_type::kParkResume, ParkResumeMessage().encode());
    }
    announce_up(peer);
  }
  settle(peer);
}

void ParkingTransport::on_link_down(const PeerId& peer, const Status& why) {
  Link* link = find(peer);
  if (link == nullptr) return handler_->on_link_down(peer, why);
  if (!link->connected) {
    if (link->session) {
      on_dial_failed(*link, why);
    } else {
      handler_->on_link_down(peer, why);
    }
    return settle(peer);
  }
  connected_.erase(peer);
  link->connected = false;
  const bool expected = link->hanging || link->closing || link->awaits_first;
  link->hanging = link->may_close = link->closing = link->awaits_first = false;
  link->first_limit = TimePoint::max();
  link->early.clear();
  link->early_bytes = 0;
  if (link->session && link->out && link->in && expected) {
    link->parked_since = now();
    link->probe_until = link->probe_at = TimePoint::max();
    if (wants_connections(*link)) open_again(*link);
  } else {
    end_session(*link);
    announce_down(peer, link->down_later.value_or(why));
  }
  settle(peer);
}

void ParkingTransport::on_dial_failed(Link& link, const Status& why) {
  // Frames that wait for connections which cannot be made: the link is broken. Else it does without
  // them, as before.
  if (!link.held.empty()) return fail_session(link.peer, why);
  link.dial_gap = std::clamp(2 * link.dial_gap, kRedialFirst, kRedialLast);
  link.dial_at = now() + link.dial_gap;
}

void ParkingTransport::on_frame(const PeerId& from, Lane lane, const FrameView& frame) {
  if (is_parking_frame(frame.type)) {
    const Status status = on_parking_frame(from, lane, frame);
    if (!status.ok()) inner_.close(from, status);
    return settle(from);
  }
  Link* link = find(from);
  if (link != nullptr && link->awaits_first) {
    if (lane == Lane::kBulk) {
      link->early_bytes += frame.head.size() + frame.body.size();
      if (link->early_bytes > options_.held_bytes_max) {
        return inner_.close(from, corrupt("bulk frames before the link's first control frame"));
      }
      link->early.push_back({frame.type, Bytes(frame.head.begin(), frame.head.end()),
                             SharedBytes(Bytes(frame.body.begin(), frame.body.end()))});
      return;
    }
    begin_anew(from);
    link = find(from);
  }
  if (link != nullptr && lane == Lane::kBulk) link->bulk_at = now();
  handler_->on_frame(from, lane, frame);
}

Status ParkingTransport::on_parking_frame(const PeerId& from, Lane lane, const FrameView& frame) {
  Link* link = find(from);
  if (link == nullptr || !link->connected) return {};
  if (link->awaits_first && lane == Lane::kControl && frame.type != frame_type::kParkResume &&
      frame.type != frame_type::kRouted) {
    begin_anew(from);
    link = find(from);
    if (link == nullptr || !link->connected) return {};
  }
  if (frame.type == frame_type::kParkDone) return on_done(*link, lane, frame);
  if (lane != Lane::kControl) return corrupt("parked links: a frame of the other lane");
  switch (frame.type) {
    case frame_type::kParkAsk:
      return on_ask(*link, frame);
    case frame_type::kParkAnswer:
      return on_answer(*link, frame);
    case frame_type::kParkResume:
      return on_resume(*link, frame);
    case frame_type::kRouted:
      return on_routed(from, frame);
    default:
      return corrupt("parked links: unknown frame type " + std::to_string(frame.type));
  }
}

void ParkingTransport::on_writable(const PeerId& peer, Lane lane) {
  handler_->on_writable(peer, lane);
}

void ParkingTransport::on_refused(const std::string& remote_endpoint, const Status& why) {
  handler_->on_refused(remote_endpoint, why);
}

void ParkingTransport::on_twin(const PeerId& peer, const std::string& remote_endpoint) {
  handler_->on_twin(peer, remote_endpoint);
}

MutableByteSpan ParkingTransport::body_destination(const PeerId& from, std::uint8_t type,
                                                   ByteSpan head, std::size_t body_bytes) {
  const Link* link = find(from);
  if (link != nullptr && link->awaits_first) return {};
  return handler_->body_destination(from, type, head, body_bytes);
}

// --- Time.

void ParkingTransport::on_timer() {
  // Each link once: one that is due at once again has its turn at the next call.
  std::vector<PeerId> due;
  for (const auto& [when, peer] : due_) {
    if (when > now()) break;
    due.push_back(peer);
  }
  for (const PeerId& peer : due) {
    on_time(peer);
    settle(peer);
  }
}

void ParkingTransport::on_time(const PeerId& peer) {
  Link* link = find(peer);
  if (link == nullptr) return;
  if (link->down_later) return announce_down(peer, Status(*link->down_later));
  if (link->session && link->session->lost(now())) {
    return fail_session(peer, timed_out("no answer through other members"));
  }
  if (link->session && !ring_->contains(peer) && now() >= former_until_) {
    return fail_session(peer, unavailable("it is no member of the view any more"));
  }
  if (link->awaits_first && now() >= link->first_limit) return begin_anew(peer);
  if (link->probe_until != TimePoint::max()) probe(*link);
  if (now() >= link->dial_at) {
    link->dial_at = now() + kDialLimit;
    const PeerAddress* address = ring_->find(peer);
    if (address == nullptr) address = former_ring_->find(peer);
    const bool dials = !link->connected && wants_connections(*link);
    if (address != nullptr && dials) inner_.connect(*address);
  }
  if (now() >= link->park_at) consider_parking(*link);
}

TimePoint ParkingTransport::next_deadline() const {
  return due_.empty() ? TimePoint::max() : due_.begin()->first;
}

TimePoint ParkingTransport::due_of(const Link& link) const {
  if (link.down_later) return now();
  TimePoint due = std::min(link.awaits_first ? link.first_limit : TimePoint::max(), link.dial_at);
  if (link.session) {
    due = std::min(due, link.session->deadline());
    if (link.probe_until != TimePoint::max()) due = std::min(due, link.probe_at);
    if (!ring_->contains(link.peer)) due = std::min(due, former_until_);
  } else if (link.connected && ring_->sparse() && !link.asked) {
    due = std::min(due, link.park_at);
  }
  return std::max(due, now());
}

void ParkingTransport::set_due(Link& link, TimePoint due) {
  if (link.due == due) return;
  if (link.due != TimePoint::max()) due_.erase({link.due, link.peer});
  link.due = due;
  if (due != TimePoint::max()) due_.emplace(due, link.peer);
}

void ParkingTransport::settle(const PeerId& peer) {
  Link* link = find(peer);
  if (link == nullptr) return;
  pump(*link);
  set_due(*link, due_of(*link));
  const bool used = link->up || link->connected || link->session || link->down_later;
  if (used || ring_->contains(peer)) return;
  set_due(*link, TimePoint::max());
  links_.erase(peer);
}

}  // namespace weft
