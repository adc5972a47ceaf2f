// Relay: joins two connections of other peers and carries bytes between them, unread.
//
// A pair of peers is offered four tokens, one for each side of each lane. Each token buys one
// connection, within seconds; when both sides of a lane have come, whatever one sends goes to the
// other. Inside runs the peers' own TLS link, so the relay sees ciphertext. Bounded: connections at
// once, bytes a second in all, and the time for which neither side moves a byte.
//
// Threads: the loop thread. Fails: kUnavailable when there is no room.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "weft/net/medium.h"
#include "weft/net/socket.h"
#include "weft/wire/reach_message.h"

namespace weft {

class Relay {
 public:
  // [side][lane].
  using Tokens = std::array<std::array<RelayToken, 2>, 2>;

  explicit Relay(const LinkContext& context);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  Result<Tokens> offer();
  // Takes a connection that showed `token`. kCorrupt for a token that was not offered, or was used.
  Status take(Socket socket, const RelayToken& token);
  // Joined pairs and sides that wait.
  std::size_t connections() const { return splices_.size() + halves_.size() / 2; }
  std::uint64_t bytes_relayed() const { return bytes_relayed_; }

 private:
  class Splice;
  // One side of one lane: who waits for it, or is it.
  struct Half {
    RelayToken other{};
    // Valid once this side has come.
    Socket socket;
    TimePoint expires;
  };

  void sweep();
  void join(Socket a, Socket b);
  // How many of `wanted` bytes may move now.
  std::size_t allow(std::size_t wanted);
  void moved(std::size_t bytes);

  const LinkContext& context_;
  std::map<RelayToken, Half> halves_;
  std::map<std::uint64_t, std::shared_ptr<Splice>> splices_;
  std::uint64_t next_splice_ = 0;
  std::uint64_t bytes_relayed_ = 0;
  double allowance_ = 0;
  TimePoint filled_at_;
  TimerId sweep_timer_;
};

}  // namespace weft
