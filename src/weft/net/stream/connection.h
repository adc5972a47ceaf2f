// Connection: frames over one ByteStream: the pumps between a socket and its owner.
//
// Its owner is called until the connection is closed; owners change when a connection goes from
// handshake to link. Inside an owner's call the connection may be closed, halted or given to
// another owner. Threads: the loop thread.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include <asio/posix/stream_descriptor.hpp>

#include "weft/base/status.h"
#include "weft/net/stream/byte_stream.h"
#include "weft/net/stream/frame_codec.h"
#include "weft/net/stream/frame_queue.h"
#include "weft/net/stream/loop_impl.h"
#include "weft/net/stream/socket.h"

namespace weft {

class Connection;

// The fields of LinkInfo that describe the path.
struct LinkRoute {
  LinkPath path = LinkPath::kDirect;
  std::string via;
  std::string why;
};

class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  // The stream's handshake is done.
  virtual void on_ready(Connection& connection) = 0;
  virtual void on_frame(Connection& connection, const FrameView& frame) = 0;
  virtual MutableByteSpan body_destination(Connection& /*connection*/, std::uint8_t /*type*/,
                                           ByteSpan /*head*/, std::size_t /*body_bytes*/) {
    return {};
  }
  // Like TransportHandler::reads_body_once.
  virtual bool reads_body_once(Connection& /*connection*/, std::uint8_t /*type*/) { return false; }
  virtual void on_writable(Connection& /*connection*/) {}
  // The stream has ended or failed; close() is still to be called.
  virtual void on_ended(Connection& connection, const Status& why) = 0;
};

class Connection final : public std::enable_shared_from_this<Connection>,
                         private FrameSink,
                         private LoopPoller {
 public:
  // Takes the connected non-blocking `socket`. Borrows the rest.
  Connection(EventLoop& loop, int socket, std::unique_ptr<ByteStream> stream,
             ConnectionOwner& owner, std::size_t low_water_bytes);
  ~Connection() override;

  // Starts the stream's handshake; only hello frames are accepted at first.
  void start();
  void set_owner(ConnectionOwner& owner) { owner_ = &owner; }
  // Sets which frames are accepted from now on: those of a stranger, or all, through large buffers.
  void accept_frames(LinkTrust trust);
  // Halts reading, inside or outside of an owner's call; resume() delivers the frames held back.
  void halt();
  void resume();

  // Queues the frame, and passes to the system what it takes at once. Calls no owner.
  void send(Frame frame);
  // Removes and returns the frames of which no byte has been sent.
  std::deque<Frame> cancel_queued() { return queue_.cancel(bytes_ahead()); }
  void set_low_water_bytes(std::size_t bytes) { low_water_bytes_ = bytes; }
  // Bytes named to the other side do not count, up to kBytesAheadFree.
  std::size_t queued_bytes() const {
    return queue_.bytes() - std::min(bytes_ahead(), kBytesAheadFree);
  }

  std::size_t queued_frames() const { return queue_.frames(); }

  // Closes at once; queued bytes are lost. The owner gets no more calls.
  void close();
  // Sends the queue, then closes; at the latest after `limit`.
  void close_after_sending(Duration limit);
  // Stops reading and writing, and calls the owner no more, but the other side sees no end before
  // `limit`.
  void fall_silent(Duration limit);
  bool closed() const { return closed_; }

  // Returns the socket; this connection is closed then. Before the first frame nothing that was
  // read is lost.
  Socket release();

  // Sets how the two ends found each other; direct by default.
  void set_route(LinkRoute route) { route_ = std::move(route); }
  const LinkRoute& route() const { return route_; }
  const ByteStream& stream() const { return *stream_; }
  int socket() { return descriptor_.native_handle(); }
  const TransportStats& stats() const { return stats_; }
  std::string remote_endpoint();

 private:
  // Named bytes that do not count as queued: a reader that is behind then finds all of them
  // available, instead of taking turns with the sender.
  static constexpr std::size_t kBytesAheadFree = std::size_t{8} << 20;

  // FrameSink.
  void on_frame(const FrameView& frame) override;
  MutableByteSpan body_destination(std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override;
  // LoopPoller, for streams that the system cannot wait on.
  bool poll() override;
  bool prepare_sleep() override;
  void end_sleep() override;

  void continue_handshake();
  std::size_t bytes_ahead() const { return polled_ == nullptr ? 0 : polled_->bytes_ahead(); }
  bool takes_more() const { return polled_ != nullptr && polled_->writable(queue_.bytes()); }
  // Delivers the next frame if its body may be read in place; returns the number of bytes.
  Result<std::size_t> take_named_body();
  void read_some();
  void write_some();
  // Returns false when there is no more to write now.
  bool write_step();
  void wait_readable();
  void wait_writable();
  void wait_doorbell();
  void end(const Status& why);
  void fail_later(const Status& why);
  void finish_closing();

  EventLoop& loop_;
  asio::posix::stream_descriptor descriptor_;
  std::unique_ptr<ByteStream> stream_;
  PolledStream* polled_;
  ConnectionOwner* owner_;
  FrameDecoder decoder_;
  FrameQueue queue_;
  TransportStats stats_;
  LinkRoute route_;
  std::size_t low_water_bytes_;
  TimerId closing_timer_;
  bool ready_ = false;
  bool closed_ = false;
  bool closing_ = false;
  bool silent_ = false;
  bool ended_ = false;
  bool above_low_water_ = false;
  bool waits_to_read_ = false;
  bool waits_to_write_ = false;
  bool in_read_ = false;
  int frames_in_turn_ = 0;
};

}  // namespace weft
