// Dial: one attempt to make a link: the peer's endpoints in order, control lane, then bulk lane.
//
// Threads: the loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/posix/stream_descriptor.hpp>

#include "weft/net/link.h"
#include "weft/net/medium.h"
#include "weft/wire/link_message.h"

namespace weft {

class Dial final : public ConnectionOwner, public std::enable_shared_from_this<Dial> {
 public:
  // Called once, unless abandoned, from the loop.
  using Done = std::function<void(Result<LinkParts>)>;

  Dial(const LinkContext& context, PeerAddress peer, Done done);
  void start();
  // Closes everything; `done` is not called any more.
  void abandon();
  // The peer may have heard of this dial.
  bool greeted() const { return greeted_; }
  const PeerAddress& peer() const { return peer_; }

 private:
  void on_ready(Connection& connection) override;
  void on_frame(Connection& connection, const FrameView& frame) override;
  void on_ended(Connection& connection, const Status& why) override;

  void next_endpoint();
  void next_address();
  void connect(Lane lane);
  void take_socket(Lane lane);
  void on_reply(const HelloReplyMessage& reply);
  void on_accepted(const HelloReplyMessage& reply);
  // This address did not do: tries the next one.
  void fail_address(const Status& why);
  void try_address_again();
  void drop_connections();
  void set_timer(Duration limit, std::function<void()> body);
  void finish(Result<LinkParts> result);
  Lane lane() const { return control_ == nullptr ? Lane::kControl : Lane::kBulk; }

  const LinkContext& context_;
  PeerAddress peer_;
  Done done_;
  std::size_t endpoint_ = 0;
  std::vector<SocketAddress> addresses_;
  std::size_t address_ = 0;
  std::unique_ptr<asio::posix::stream_descriptor> connecting_;
  // The connection whose hello is not answered yet.
  std::shared_ptr<Connection> greeting_;
  std::shared_ptr<Connection> control_;
  LinkId link_{};
  std::uint64_t remote_instance_ = 0;
  TimerId timer_;
  TimePoint deadline_;
  Duration pause_{};
  bool greeted_ = false;
  bool finished_ = false;
  std::string failures_;
  Code failure_code_ = Code::kUnavailable;
};

}  // namespace weft
