#include "weft/net/stream/connection.h"

#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace weft {

namespace {

// A small frame and its successors come in one call; more would be copied once too often.
constexpr std::size_t kStagingBytes = 4096;
// How much one connection may move before the others have their turn.
constexpr std::size_t kBytesPerTurn = 2 * 1024 * 1024;
// And how many frames, give or take those that came in one piece.
constexpr int kFramesPerTurn = 256;
constexpr std::size_t kPartsPerWrite = 48;
// Before the link stands only hello, hello_reply and goodbye may come.
constexpr FrameLimits kHelloLimits{1024, 0};
constexpr FrameLimits kStrangerLimits{kStrangerHeadBytesMax, 0};

Status stream_ended() { return unavailable("the peer's connection closed"); }

// Frames of which the other side may still be reading bodies where they lie: kept until it has
// closed its end.
struct Unread {
  asio::posix::stream_descriptor descriptor;
  FrameQueue frames;
};

void keep_until_read(const std::shared_ptr<Unread>& unread) {
  unread->descriptor.async_wait(
      asio::posix::stream_descriptor::wait_read, [unread](const asio::error_code& error) {
        if (error) return;
        std::array<std::uint8_t, 64> bells;
        const ssize_t got =
            ::recv(unread->descriptor.native_handle(), bells.data(), bells.size(), MSG_DONTWAIT);
        if (got > 0 || (got < 0 && errno == EAGAIN)) keep_until_read(unread);
      });
}

}  // namespace

Connection::Connection(EventLoop& loop, int socket, std::unique_ptr<ByteStream> stream,
                       ConnectionOwner& owner, std::size_t low_water_bytes)
    : loop_(loop),
      descriptor_(loop.impl().context, socket),
      stream_(std::move(stream)),
      polled_(stream_->polled()),
      owner_(&owner),
      decoder_(kStagingBytes),
      low_water_bytes_(low_water_bytes) {
  decoder_.set_limits(kHelloLimits);
}

Connection::~Connection() {
  if (polled_ != nullptr && !closed_) loop_.impl().remove_poller(*this);
}

void Connection::start() { continue_handshake(); }

void Connection::continue_handshake() {
  if (closed_) return;
  const IoResult step = stream_->handshake();
  const auto again = [self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->continue_handshake();
  };
  switch (step.state) {
    case IoState::kWantRead:
      descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, again);
      return;
    case IoState::kWantWrite:
      descriptor_.async_wait(asio::posix::stream_descriptor::wait_write, again);
      return;
    case IoState::kMore:
      break;
    case IoState::kEnd:
      end(stream_ended());
      return;
    case IoState::kFailed:
      end(step.error);
      return;
  }
  if (std::unique_ptr<ByteStream> next = stream_->successor(); next != nullptr) {
    stream_ = std::move(next);
  }
  ready_ = true;
  if (polled_ != nullptr) {
    loop_.impl().add_poller(*this);
    wait_doorbell();
  }
  owner_->on_ready(*this);
  if (closed_) return;
  write_some();
  read_some();
}

void Connection::accept_frames(LinkTrust trust) {
  const bool stranger = trust == LinkTrust::kStranger;
  decoder_.set_limits(stranger ? kStrangerLimits : FrameLimits());
  stream_->set_large(!stranger);
}

void Connection::halt() { decoder_.halt(); }

void Connection::resume() {
  if (!decoder_.halted() || closed_) return;
  loop_.post([self = shared_from_this()] {
    if (self->closed_ || !self->decoder_.halted()) return;
    const Status status = self->decoder_.resume(*self);
    if (self->closed_) return;
    if (!status.ok()) {
      self->end(status);
    } else {
      self->read_some();
    }
  });
}

void Connection::on_frame(const FrameView& frame) {
  ++frames_in_turn_;
  if (!closing_) owner_->on_frame(*this, frame);
}

MutableByteSpan Connection::body_destination(std::uint8_t type, ByteSpan head,
                                             std::size_t body_bytes) {
  if (closing_) return {};
  return owner_->body_destination(*this, type, head, body_bytes);
}

Result<std::size_t> Connection::take_named_body() {
  if (polled_ == nullptr || decoder_.body_due() == 0) return std::size_t{0};
  const ByteSpan body = polled_->named_bytes();
  if (body.size() != decoder_.body_due() || closing_ ||
      !owner_->reads_body_once(*this, decoder_.type_due())) {
    return std::size_t{0};
  }
  const std::size_t size = body.size();
  const Status status = decoder_.take_body(body, *this);
  polled_->release_named_bytes();
  if (!status.ok()) return status;
  return size;
}

void Connection::read_some() {
  if (in_read_ || waits_to_read_ || silent_) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  in_read_ = true;
  std::size_t moved = 0;
  frames_in_turn_ = 0;
  IoResult result;
  Status status;
  while (!closed_ && !decoder_.halted() && moved < kBytesPerTurn &&
         frames_in_turn_ < kFramesPerTurn) {
    const Result<std::size_t> named = take_named_body();
    status = named.status();
    if (named.ok() && *named > 0) {
      result = {IoState::kMore, *named, {}};
    } else if (named.ok()) {
      result = stream_->read(decoder_.destinations());
      if (result.bytes > 0) status = decoder_.received(result.bytes, *this);
    }
    moved += result.bytes;
    stats_.bytes_received += result.bytes;
    if (!status.ok() || result.state != IoState::kMore) break;
  }
  in_read_ = false;
  if (closed_) return;
  if (!status.ok()) return end(status);
  if (result.state == IoState::kEnd) return end(stream_ended());
  if (result.state == IoState::kFailed) return end(result.error);
  if (decoder_.halted()) return;
  if (result.state == IoState::kMore) {
    waits_to_read_ = true;
    loop_.post([self] {
      self->waits_to_read_ = false;
      if (!self->closed_) self->read_some();
    });
    return;
  }
  // TLS may have to answer on its own account.
  if (result.state == IoState::kWantWrite) wait_writable();
  wait_readable();
}

void Connection::wait_readable() {
  if (waits_to_read_) return;
  waits_to_read_ = true;
  if (polled_ != nullptr) return;
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const asio::error_code& error) {
                           self->waits_to_read_ = false;
                           if (!error && !self->closed_) self->read_some();
                         });
}

void Connection::send(Frame frame) {
  if (closed_ || closing_) return;
  queue_.push(std::move(frame));
  if (ready_ && (!waits_to_write_ || takes_more())) {
    waits_to_write_ = false;
    // One call only: a long queue goes on from the loop.
    if (write_step() && !queue_.empty()) wait_writable();
  }
  if (queued_bytes() > low_water_bytes_) above_low_water_ = true;
}

bool Connection::write_step() {
  std::array<ByteSpan, kPartsPerWrite> parts;
  const std::size_t used = queue_.gather(parts, bytes_ahead());
  const IoResult result = stream_->write(std::span(parts).first(used));
  queue_.consume(result.bytes);
  stats_.bytes_sent += result.bytes;
  if (result.state == IoState::kMore) return !queue_.empty();
  if (result.state == IoState::kFailed || result.state == IoState::kEnd) {
    fail_later(result.error.ok() ? stream_ended() : result.error);
  } else {
    wait_writable();
  }
  return false;
}

void Connection::write_some() {
  if (!ready_ || waits_to_write_ || closed_ || silent_) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  const std::uint64_t before = stats_.bytes_sent;
  while (write_step()) {
    if (stats_.bytes_sent - before < kBytesPerTurn) continue;
    waits_to_write_ = true;
    loop_.post([self] {
      self->waits_to_write_ = false;
      self->write_some();
    });
    break;
  }
  if (closing_ && queue_.empty() && !waits_to_write_) return finish_closing();
  if (above_low_water_ && queued_bytes() <= low_water_bytes_ && !closing_) {
    above_low_water_ = false;
    owner_->on_writable(*this);
  }
}

void Connection::wait_writable() {
  if (waits_to_write_ || closed_) return;
  waits_to_write_ = true;
  if (polled_ != nullptr) return;
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_write,
                         [self = shared_from_this()](const asio::error_code& error) {
                           self->waits_to_write_ = false;
                           if (!error) self->write_some();
                         });
}

bool Connection::poll() {
  if (closed_) return false;
  const std::shared_ptr<Connection> self = shared_from_this();
  bool progress = false;
  if (waits_to_write_ && takes_more()) {
    progress = true;
    waits_to_write_ = false;
    write_some();
  }
  if (!closed_ && waits_to_read_ && polled_->readable()) {
    progress = true;
    waits_to_read_ = false;
    read_some();
  }
  return progress;
}

bool Connection::prepare_sleep() {
  // Whether the other side has read the last of it can wait until this side has more to say.
  const bool more = queue_.bytes() > polled_->bytes_ahead() || above_low_water_ || closing_;
  polled_->ask_for_bell(waits_to_write_ && more);
  return !(waits_to_write_ && takes_more()) && !(waits_to_read_ && polled_->readable());
}

void Connection::end_sleep() { polled_->withdraw_bell(); }

void Connection::wait_doorbell() {
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const asio::error_code& error) {
                           if (error || self->closed_) return;
                           const IoResult bell = self->polled_->answer_bell();
                           if (bell.state == IoState::kWantRead) return self->wait_doorbell();
                           // What it wrote before it went is still there.
                           self->waits_to_read_ = false;
                           self->read_some();
                           if (!self->closed_) self->end(stream_ended());
                         });
}

void Connection::end(const Status& why) {
  if (closed_) return;
  // The other side has nothing more to read or to say.
  if (closing_) return close();
  if (ended_) return;
  ended_ = true;
  owner_->on_ended(*this, why);
}

void Connection::fail_later(const Status& why) {
  waits_to_write_ = true;
  loop_.post([self = shared_from_this(), why] { self->end(why); });
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  decoder_.halt();
  loop_.cancel(closing_timer_);
  if (polled_ != nullptr) loop_.impl().remove_poller(*this);
  if (bytes_ahead() > 0) {
    const int socket = descriptor_.release();
    ::shutdown(socket, SHUT_WR);
    keep_until_read(std::make_shared<Unread>(
        Unread{asio::posix::stream_descriptor(loop_.impl().context, socket), std::move(queue_)}));
    return;
  }
  asio::error_code ignored;
  descriptor_.close(ignored);
}

Socket Connection::release() {
  closed_ = true;
  decoder_.halt();
  loop_.cancel(closing_timer_);
  return Socket(descriptor_.release());
}

void Connection::close_after_sending(Duration limit) {
  if (closed_ || closing_) return;
  closing_ = true;
  const std::shared_ptr<Connection> self = shared_from_this();
  closing_timer_ = loop_.call_at(loop_.now() + limit, [self] { self->close(); });
  if (decoder_.halted()) resume();
  if (queue_.empty() && !waits_to_write_) finish_closing();
}

void Connection::fall_silent(Duration limit) {
  if (closed_) return;
  closing_ = silent_ = true;
  decoder_.halt();
  cancel_queued();
  closing_timer_ =
      loop_.call_at(loop_.now() + limit, [self = shared_from_this()] { self->close(); });
}

// All is sent. Closing a socket with unread bytes would reset it and lose what was sent, so the
// other side closes first, or the timer does.
void Connection::finish_closing() {
  if (ended_ || polled_ != nullptr) return close();
  ended_ = true;
  ::shutdown(descriptor_.native_handle(), SHUT_WR);
}

std::string Connection::remote_endpoint() {
  const Result<SocketAddress> remote = remote_address(socket());
  return remote.ok() ? address_text(*remote) : "";
}

}  // namespace weft
