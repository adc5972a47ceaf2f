#include "weft/net/dial.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <openssl/rand.h>

#include "weft/net/socket.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(3);
constexpr Duration kPauseMin = std::chrono::milliseconds(20);
constexpr Duration kPauseMax = std::chrono::milliseconds(500);

}  // namespace

Dial::Dial(const LinkContext& context, PeerAddress peer, Done done)
    : context_(context), peer_(std::move(peer)), done_(std::move(done)) {}

void Dial::start() {
  if (finished_) return;
  next_endpoint();
}

void Dial::abandon() {
  finished_ = true;
  context_.loop.cancel(timer_);
  connecting_.reset();
  drop_connections();
}

void Dial::drop_connections() {
  if (greeting_ != nullptr) greeting_->close();
  if (control_ != nullptr) control_->close();
  greeting_.reset();
  control_.reset();
  greeted_ = false;
}

void Dial::finish(Result<LinkParts> result) {
  if (finished_) return;
  abandon();
  done_(std::move(result));
}

void Dial::set_timer(Duration limit, std::function<void()> body) {
  context_.loop.cancel(timer_);
  timer_ = context_.loop.call_at(context_.loop.now() + limit,
                                 [self = shared_from_this(), body = std::move(body)] {
                                   if (!self->finished_) body();
                                 });
}

void Dial::next_endpoint() {
  if (endpoint_ == peer_.endpoints.size()) {
    if (failures_.empty()) failures_ = "no endpoint is known";
    return finish(
        Status(failure_code_, fmt::format("dial {}: {}", peer_.id.short_name(), failures_)));
  }
  addresses_.clear();
  address_ = 0;
  set_timer(context_.options.handshake_timeout,
            [this] { fail_address(timed_out("its name was not resolved in time")); });
  const std::string& endpoint = peer_.endpoints[endpoint_++];
  context_.medium.resolve(endpoint, [self = shared_from_this(),
                                     turn = endpoint_](Result<std::vector<SocketAddress>> found) {
    if (self->finished_ || self->endpoint_ != turn || !self->addresses_.empty()) return;
    if (!found.ok()) return self->fail_address(found.status());
    self->addresses_ = std::move(found).value();
    self->next_address();
  });
}

void Dial::next_address() {
  if (address_ == addresses_.size()) return next_endpoint();
  deadline_ = context_.loop.now() + context_.options.handshake_timeout;
  pause_ = kPauseMin;
  connect(Lane::kControl);
}

void Dial::fail_address(const Status& why) {
  drop_connections();
  connecting_.reset();
  if (!failures_.empty()) failures_ += "; ";
  failures_ += fmt::format("{}: {}", peer_.endpoints[endpoint_ - 1], why.message());
  failure_code_ = why.code();
  if (address_ < addresses_.size()) ++address_;
  next_address();
}

void Dial::try_address_again() {
  drop_connections();
  const TimePoint now = context_.loop.now();
  if (now + pause_ >= deadline_) {
    return fail_address(timed_out("both sides dial, and the peer's dial does not arrive"));
  }
  set_timer(pause_, [this] { connect(Lane::kControl); });
  pause_ = std::min(2 * pause_, kPauseMax);
}

void Dial::connect(Lane lane) {
  if (lane == Lane::kControl && RAND_bytes(link_.data(), static_cast<int>(link_.size())) != 1) {
    return finish(internal_error("no random numbers"));
  }
  Result<Socket> socket = begin_connect(addresses_[address_]);
  if (!socket.ok()) return fail_address(socket.status());
  connecting_ = std::make_unique<asio::posix::stream_descriptor>(context_.loop.impl().context,
                                                                 socket->release());
  const TimePoint now = context_.loop.now();
  set_timer(std::min(deadline_ - now, kConnectTimeout),
            [this] { fail_address(timed_out("no answer")); });
  connecting_->async_wait(asio::posix::stream_descriptor::wait_write,
                          [self = shared_from_this(), lane](const asio::error_code& error) {
                            if (error || self->finished_ || self->connecting_ == nullptr) return;
                            self->take_socket(lane);
                          });
}

void Dial::take_socket(Lane lane) {
  Socket socket(connecting_->release());
  connecting_.reset();
  Status status = connect_outcome(socket.get());
  if (status.ok()) status = context_.medium.prepare(socket.get());
  if (!status.ok()) return fail_address(status);
  set_timer(deadline_ - context_.loop.now(),
            [this] { fail_address(timed_out("the handshake was not done in time")); });
  std::unique_ptr<ByteStream> stream = context_.medium.dial(socket.get(), lane);
  greeting_ = std::make_shared<Connection>(context_.loop, socket.release(), std::move(stream),
                                           *this, context_.options.low_water_bytes);
  greeting_->start();
}

void Dial::on_ready(Connection& connection) {
  const std::shared_ptr<Dial> self = shared_from_this();
  const std::optional<PeerId> proven = connection.stream().proven_peer();
  if (proven.has_value() && *proven != peer_.id) {
    return fail_address(corrupt(
        fmt::format("expected peer {}, got {}", peer_.id.short_name(), proven->short_name())));
  }
  HelloMessage hello;
  hello.lane = static_cast<std::uint8_t>(lane());
  hello.from = context_.self;
  hello.to = peer_.id;
  hello.link = link_;
  hello.instance = context_.instance;
  greeted_ = true;
  connection.send({frame_type::kHello, hello.encode(), {}});
}

void Dial::on_frame(Connection& /*connection*/, const FrameView& frame) {
  const std::shared_ptr<Dial> self = shared_from_this();
  if (frame.type != frame_type::kHelloReply) {
    return fail_address(corrupt("expected an answer to the hello"));
  }
  const Result<HelloReplyMessage> reply = HelloReplyMessage::decode(frame.head);
  if (!reply.ok()) return fail_address(reply.status());
  on_reply(*reply);
}

void Dial::on_reply(const HelloReplyMessage& reply) {
  switch (reply.verdict) {
    case HelloVerdict::kAccepted:
      return on_accepted(reply);
    case HelloVerdict::kWaitForMine:
    case HelloVerdict::kLinked:
      return try_address_again();
    case HelloVerdict::kWrongPeer:
    case HelloVerdict::kWrongVersion:
      break;
  }
  fail_address(corrupt("refused: " + reply.text));
}

void Dial::on_accepted(const HelloReplyMessage& reply) {
  if (reply.from != peer_.id) {
    return fail_address(corrupt(
        fmt::format("expected peer {}, got {}", peer_.id.short_name(), reply.from.short_name())));
  }
  if (control_ == nullptr) {
    control_ = std::move(greeting_);
    // Frames may come as soon as the peer has both lanes, before this side has.
    control_->halt();
    remote_instance_ = reply.instance;
    return connect(Lane::kBulk);
  }
  if (reply.instance != remote_instance_) return fail_address(unavailable("the peer restarted"));
  LinkParts parts;
  parts.control = std::move(control_);
  parts.bulk = std::move(greeting_);
  // What follows the reply is for the link.
  parts.bulk->halt();
  parts.info = make_link_info(peer_.id, false, *parts.control, link_);
  parts.remote_instance = remote_instance_;
  finish(std::move(parts));
}

void Dial::on_ended(Connection& /*connection*/, const Status& why) {
  const std::shared_ptr<Dial> self = shared_from_this();
  fail_address(why);
}

}  // namespace weft
