#include "weft/net/link/link.h"

#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "weft/base/hash.h"
#include "weft/net/handshake_gate.h"
#include "weft/net/link/partings.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/link_message.h"

namespace weft {

namespace {

constexpr Duration kGoodbyeTimeout = std::chrono::seconds(2);
constexpr Duration kLastWordsTimeout = std::chrono::milliseconds(50);
constexpr double kSecondsPerMicrosecond = 1e-6;
// What a queued frame costs beside its bytes.
constexpr std::size_t kQueuedFrameBytes = 128;
constexpr std::size_t kShortcutBytesMax = 256;

double round_trip_seconds(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_rtt * kSecondsPerMicrosecond;
}

}  // namespace

LinkInfo make_link_info(const PeerId& peer, bool inbound, Connection& control, ByteSpan link_id) {
  LinkInfo info;
  info.peer = peer;
  info.inbound = inbound;
  info.remote_endpoint = control.remote_endpoint();
  info.origin = origin_of(control.socket());
  info.path = control.route().path;
  info.via = control.route().via;
  info.why = control.route().why;
  // Without a secret of the two ends, at least the same value at both.
  info.exporter = control.stream().exporter().value_or(sha256(link_id));
  return info;
}

Link::Link(const LinkContext& context, LinkParts parts, LinkOwner& owner)
    : context_(context),
      parts_(std::move(parts)),
      owner_(owner),
      lane_(context.options.low_water_bytes, *this, parts_.bulk) {}

void Link::open(LinkTrust trust) {
  trust_ = trust;
  parts_.control->set_owner(*this);
  parts_.control->accept_frames(trust);
  parts_.control->resume();
  lane_.open(trust);
}

void Link::set_trust(LinkTrust trust) {
  if (trust == trust_) return;
  const std::shared_ptr<Link> self = shared_from_this();
  trust_ = trust;
  frames_of_stranger_ = bytes_of_stranger_ = 0;
  parts_.control->accept_frames(trust);
  lane_.set_trust(trust);
  if (trust != LinkTrust::kProved || early_shortcut_.empty()) return;
  // Later, as this is a call of the owner's.
  context_.loop.post([weak = weak_from_this(), offer = std::exchange(early_shortcut_, {})] {
    const std::shared_ptr<Link> late = weak.lock();
    if (late == nullptr || late->parts_.control->closed()) return;
    const Status status = late->owner_.on_link_shortcut(*late, offer);
    if (!status.ok()) late->owner_.on_link_ended(*late, status);
  });
}

Status Link::send(Lane lane, Frame frame) {
  const std::size_t size = frame.head.size() + frame.body.size() + kFrameHeaderBytes;
  const std::size_t limit = lane == Lane::kBulk ? context_.options.bulk_queue_bytes_max
                                                : context_.options.control_queue_bytes_max;
  const std::size_t entries =
      lane == Lane::kControl ? parts_.control->queued_frames() * kQueuedFrameBytes : 0;
  if (queued_bytes(lane) + entries + size > limit) {
    if (lane == Lane::kControl && !overflowed_) {
      // Control frames may not be lost while the link stands.
      overflowed_ = true;
      context_.loop.post([weak = weak_from_this()] {
        const std::shared_ptr<Link> self = weak.lock();
        if (self == nullptr || self->parts_.control->closed()) return;
        self->owner_.on_link_ended(*self, unavailable("the peer takes no control frames"));
      });
    }
    return unavailable(fmt::format("queue: expected at most {} bytes", limit));
  }
  if (lane == Lane::kBulk) {
    lane_.send(std::move(frame));
  } else {
    parts_.control->send(std::move(frame));
  }
  return {};
}

std::size_t Link::queued_bytes(Lane lane) const {
  return lane == Lane::kControl ? parts_.control->queued_bytes() : lane_.queued_bytes();
}

bool Link::within_one_machine() const {
  if (parts_.info.path != LinkPath::kDirect && parts_.info.path != LinkPath::kMapped) return false;
  return ends_meet(parts_.control->socket());
}

void Link::drop() {
  parts_.control->close();
  lane_.close();
}

void Link::say_goodbye(const Status& why) {
  // Nothing more is read: a bulk body goes to memory that is only lent while the link stands. The
  // socket stays a moment, so that the peer reads the reason before it sees an end.
  lane_.fall_silent(kGoodbyeTimeout);
  for (const std::shared_ptr<Connection>& connection : lane_.all()) {
    context_.partings.add(connection);
  }
  context_.partings.add(parts_.control);
  const GoodbyeMessage goodbye{why.code(), why.message()};
  parts_.control->send({frame_type::kGoodbye, goodbye.encode(), {}});
  parts_.control->close_after_sending(kGoodbyeTimeout);
}

TransportStats Link::stats() const {
  TransportStats sum = parts_.control->stats();
  lane_.add_stats(sum);
  if (!parts_.control->closed()) sum.rtt_seconds = round_trip_seconds(parts_.control->socket());
  return sum;
}

void Link::on_frame(Connection& connection, const FrameView& frame) {
  const std::shared_ptr<Link> self = shared_from_this();
  const Lane lane = lane_of(connection);
  if (lane == Lane::kBulk && !lane_.is_turn_of(connection)) {
    return owner_.on_link_ended(*this, corrupt("a bulk frame out of turn"));
  }
  Status status = count(frame);
  if (status.ok() && frame.type > frame_type::kLastLinkType) {
    return owner_.on_link_frame(*this, lane, frame);
  }
  if (status.ok()) status = on_own_frame(lane, frame);
  if (!status.ok()) owner_.on_link_ended(*this, status);
}

void Link::ask_alive() {
  (void)send(Lane::kControl, {frame_type::kAlive, AliveMessage{false}.encode(), {}});
}

Status Link::count(const FrameView& frame) {
  if (trust_ != LinkTrust::kStranger) return {};
  ++frames_of_stranger_;
  bytes_of_stranger_ += kFrameHeaderBytes + frame.head.size() + frame.body.size();
  if (frames_of_stranger_ > kStrangerFramesMax) {
    return unavailable(fmt::format("more than {} frames of a stranger", kStrangerFramesMax));
  }
  if (bytes_of_stranger_ > kStrangerBytesMax) {
    return unavailable(fmt::format("more than {} bytes of a stranger", kStrangerBytesMax));
  }
  return {};
}

Status Link::on_own_frame(Lane lane, const FrameView& frame) {
  if (lane == Lane::kBulk && frame.type == frame_type::kLaneMoved) {
    return lane_.on_moved(frame.head);
  }
  if (lane == Lane::kControl) {
    if (frame.type == frame_type::kGoodbye) {
      WEFT_TRY_ASSIGN(const GoodbyeMessage goodbye, GoodbyeMessage::decode(frame.head));
      const Code code = goodbye.code == Code::kOk ? Code::kUnavailable : goodbye.code;
      return Status(code, "the peer ended the link: " + goodbye.text);
    }
    if (frame.type == frame_type::kAlive) return on_alive(frame);
    const bool reach =
        frame.type >= frame_type::kIntroduce && frame.type <= frame_type::kLastReachType;
    if (reach || frame.type == frame_type::kShortcut || frame.type == frame_type::kConnections) {
      return on_proved_frame(frame);
    }
  }
  return corrupt(fmt::format("frame.type: expected no {} on an open link", frame.type));
}

// A stranger gets no answer: nobody asks whether it lives.
Status Link::on_alive(const FrameView& frame) {
  WEFT_TRY_ASSIGN(const AliveMessage alive, AliveMessage::decode(frame.head));
  if (trust_ == LinkTrust::kStranger) return {};
  if (alive.answer) {
    owner_.on_link_alive(*this);
    return {};
  }
  // Without room for it the other side takes no frames; that ends the link.
  (void)send(Lane::kControl, {frame_type::kAlive, AliveMessage{true}.encode(), {}});
  return {};
}

// From others they are neither answered nor acted upon.
Status Link::on_proved_frame(const FrameView& frame) {
  if (frame.type == frame_type::kShortcut) {
    if (trust_ == LinkTrust::kProved) return owner_.on_link_shortcut(*this, frame.head);
    if (early_shortcut_.empty() && frame.head.size() <= kShortcutBytesMax) {
      early_shortcut_.assign(frame.head.begin(), frame.head.end());
    }
    return {};
  }
  if (trust_ != LinkTrust::kProved) return {};
  if (frame.type == frame_type::kConnections) return owner_.on_link_connections(*this, frame.head);
  return owner_.on_link_reach(*this, frame);
}

MutableByteSpan Link::body_destination(Connection& connection, std::uint8_t type, ByteSpan head,
                                       std::size_t body_bytes) {
  if (lane_of(connection) == Lane::kControl || type <= frame_type::kLastLinkType) return {};
  const std::shared_ptr<Link> self = shared_from_this();
  return owner_.link_body_destination(*this, type, head, body_bytes);
}

bool Link::reads_body_once(Connection& connection, std::uint8_t type) {
  if (lane_of(connection) == Lane::kControl || type <= frame_type::kLastLinkType) return false;
  const std::shared_ptr<Link> self = shared_from_this();
  return owner_.link_reads_body_once(*this, type);
}

void Link::on_writable(Connection& connection) {
  const std::shared_ptr<Link> self = shared_from_this();
  const Lane lane = lane_of(connection);
  if (lane == Lane::kBulk && !lane_.on_writable()) return;
  owner_.on_link_writable(*this, lane);
}

void Link::on_ended(Connection& connection, const Status& why) {
  const std::shared_ptr<Link> self = shared_from_this();
  if (lane_.lose_unused(connection)) return;
  if (lane_of(connection) == Lane::kControl || why.code() == Code::kCorrupt) {
    return owner_.on_link_ended(*this, why);
  }
  if (bulk_ended_) return;
  // All connections of a peer that went end at once; its last control frames, and its reason, are
  // still to be read.
  bulk_ended_ = true;
  context_.loop.call_at(context_.loop.now() + kLastWordsTimeout, [weak = weak_from_this(), why] {
    const std::shared_ptr<Link> late = weak.lock();
    if (late != nullptr && !late->parts_.control->closed()) {
      late->owner_.on_link_ended(*late, why);
    }
  });
}

}  // namespace weft
