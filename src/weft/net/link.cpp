#include "weft/net/link.h"

#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "weft/base/hash.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/link_message.h"

namespace weft {

namespace {

constexpr Duration kGoodbyeTimeout = std::chrono::seconds(2);
constexpr Duration kLastWordsTimeout = std::chrono::milliseconds(50);
constexpr double kMicrosecond = 1e-6;

double round_trip_seconds(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_rtt * kMicrosecond;
}

}  // namespace

LinkInfo make_link_info(const PeerId& peer, bool inbound, Connection& control, ByteSpan link_id) {
  LinkInfo info;
  info.peer = peer;
  info.inbound = inbound;
  info.remote_endpoint = control.remote_endpoint();
  info.path = control.route().path;
  info.via = control.route().via;
  info.why = control.route().why;
  // Without a secret of the two ends, at least the same value at both.
  info.exporter = control.stream().exporter().value_or(sha256(link_id));
  return info;
}

Link::Link(const LinkContext& context, LinkParts parts, LinkOwner& owner)
    : context_(context), parts_(std::move(parts)), owner_(owner) {}

void Link::open() {
  for (const auto& connection : {parts_.control, parts_.bulk}) {
    connection->set_owner(*this);
    connection->accept_all_frames();
    connection->resume();
  }
}

Status Link::send(Lane lane, Frame frame) {
  Connection& to = lane == Lane::kControl ? *parts_.control
                   : moved_out_           ? *shortcut_
                                          : *parts_.bulk;
  const std::size_t size = frame.head.size() + frame.body.size() + kFrameHeaderBytes;
  const std::size_t limit = lane == Lane::kBulk ? context_.options.bulk_queue_bytes_max
                                                : context_.options.control_queue_bytes_max;
  if (queued_bytes(lane) + size > limit) {
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
  to.send(std::move(frame));
  return {};
}

std::size_t Link::queued_bytes(Lane lane) const {
  if (lane == Lane::kControl) return parts_.control->queued_bytes();
  return parts_.bulk->queued_bytes() + (shortcut_ ? shortcut_->queued_bytes() : 0);
}

void Link::cancel_bulk() {
  // On the old connection the word that the lane has moved waits behind other frames.
  if (moved_out_) return shortcut_->cancel_queued();
  parts_.bulk->cancel_queued();
}

bool Link::within_one_machine() const {
  if (parts_.info.path != LinkPath::kDirect && parts_.info.path != LinkPath::kMapped) return false;
  return ends_meet(parts_.control->socket());
}

void Link::take_shortcut(std::shared_ptr<Connection> shortcut, Moves moves) {
  shortcut_ = std::move(shortcut);
  // Until the other side has said that it sends no more on the old one.
  shortcut_->halt();
  shortcut_->set_owner(*this);
  shortcut_->accept_all_frames();
  if (moves == Moves::kFirst) move_out();
}

void Link::move_out() {
  parts_.bulk->send({frame_type::kLaneMoved, {}, {}});
  moved_out_ = true;
}

Status Link::on_lane_moved() {
  if (shortcut_ == nullptr || moved_in_) return corrupt("a lane that cannot have moved");
  moved_in_ = true;
  if (!moved_out_) move_out();
  shortcut_->resume();
  return {};
}

void Link::drop() {
  parts_.control->close();
  parts_.bulk->close();
  if (shortcut_) shortcut_->close();
}

void Link::say_goodbye(const Status& why) {
  // Nothing more is read: a bulk body goes to memory that is only lent while the link stands. The
  // socket stays a moment, so that the peer reads the reason before it sees an end.
  parts_.bulk->fall_silent(kGoodbyeTimeout);
  if (shortcut_) shortcut_->fall_silent(kGoodbyeTimeout);
  const GoodbyeMessage goodbye{why.code(), why.message()};
  parts_.control->send({frame_type::kGoodbye, goodbye.encode(), {}});
  parts_.control->close_after_sending(kGoodbyeTimeout);
}

TransportStats Link::stats() const {
  TransportStats sum = parts_.control->stats();
  sum.bytes_sent += parts_.bulk->stats().bytes_sent;
  sum.bytes_received += parts_.bulk->stats().bytes_received;
  if (shortcut_) {
    sum.in_memory = moved_out_;
    sum.bytes_sent += shortcut_->stats().bytes_sent;
    sum.bytes_received += shortcut_->stats().bytes_received;
  }
  if (!parts_.control->closed()) sum.rtt_seconds = round_trip_seconds(parts_.control->socket());
  return sum;
}

void Link::on_frame(Connection& connection, const FrameView& frame) {
  const std::shared_ptr<Link> self = shared_from_this();
  const Lane lane = lane_of(connection);
  if (frame.type > frame_type::kLastLinkType) return owner_.on_link_frame(*this, lane, frame);
  if (frame.type == frame_type::kGoodbye && lane == Lane::kControl) {
    const Result<GoodbyeMessage> goodbye = GoodbyeMessage::decode(frame.head);
    if (goodbye.ok()) {
      const Code code = goodbye->code == Code::kOk ? Code::kUnavailable : goodbye->code;
      return owner_.on_link_ended(*this, Status(code, "the peer ended the link: " + goodbye->text));
    }
  }
  if (frame.type == frame_type::kShortcut && lane == Lane::kControl) {
    const Status status = owner_.on_link_shortcut(*this, frame.head);
    if (!status.ok()) owner_.on_link_ended(*this, status);
    return;
  }
  if (frame.type == frame_type::kLaneMoved && &connection == parts_.bulk.get()) {
    if (const Status status = on_lane_moved(); !status.ok()) owner_.on_link_ended(*this, status);
    return;
  }
  const bool reach =
      frame.type >= frame_type::kIntroduce && frame.type <= frame_type::kLastReachType;
  if (reach && lane == Lane::kControl) {
    const Status status = owner_.on_link_reach(*this, frame);
    if (!status.ok()) owner_.on_link_ended(*this, status);
    return;
  }
  owner_.on_link_ended(
      *this, corrupt(fmt::format("frame.type: expected no {} on an open link", frame.type)));
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
  owner_.on_link_writable(*this, lane_of(connection));
}

void Link::on_ended(Connection& connection, const Status& why) {
  const std::shared_ptr<Link> self = shared_from_this();
  if (&connection == shortcut_.get() && !moved_out_ && !moved_in_) {
    shortcut_->close();
    shortcut_.reset();
    return;
  }
  if (lane_of(connection) == Lane::kControl || why.code() == Code::kCorrupt || bulk_ended_) {
    return owner_.on_link_ended(*this, why);
  }
  // Both connections of a peer that went end at once; its last control frames, and its reason,
  // are still to be read.
  bulk_ended_ = true;
  context_.loop.call_at(context_.loop.now() + kLastWordsTimeout, [weak = weak_from_this(), why] {
    const std::shared_ptr<Link> late = weak.lock();
    if (late != nullptr && !late->parts_.control->closed()) {
      late->owner_.on_link_ended(*late, why);
    }
  });
}

}  // namespace weft
