// Relay: joins two connections of other peers and carries bytes between them, unread.
//
// A pair of peers is offered four tokens, one for each side of each lane. Each token buys one
// connection, within seconds; when both sides of a lane have come, whatever one sends goes to the
// other. Inside runs the peers' own TLS link, so the relay sees ciphertext. Bounded: connections at
// once, in all, for one asker and for one pair, bytes a second in all, and the time for which
// neither side moves a byte. What is carried for a peer ends with its right to it, and a few
// seconds after its own link is gone.
//
// Threads: the loop thread. Fails: kUnavailable when there is no room.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "weft/base/status.h"
#include "weft/net/stream/medium.h"
#include "weft/net/stream/socket.h"
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

  Result<Tokens> offer(const PeerId& asker, const PeerId& other);
  // Takes a connection that showed `pass`. kCorrupt for one whose token was not offered, or was
  // used.
  Status take(Socket socket, const RelayToken& pass);
  // The peer has no link; it is given a moment to come back.
  void on_absent(const PeerId& peer);
  void on_back(const PeerId& peer) { absent_.erase(peer); }
  // Ends at once what is carried, or waits to be, for this peer.
  void end_for(const PeerId& peer);
  // Joined pairs and sides that wait.
  std::size_t connections() const { return splices_.size() + halves_.size() / 2; }
  std::uint64_t bytes_relayed() const { return bytes_relayed_; }

 private:
  class Splice;
  // Who asked, and for whom.
  using Ends = std::array<PeerId, 2>;
  // One side of one lane: who waits for it, or is it.
  struct Half {
    Ends ends;
    // The pass of the other side.
    RelayToken other{};
    // Valid once this side has come.
    Socket socket;
    TimePoint expires;
  };

  // The joined pairs and sides that wait of which `which` holds, given their ends.
  template <class Which>
  std::size_t count(const Which& which) const;
  Status has_room(const PeerId& asker, const PeerId& other) const;
  void sweep();
  void join(const Ends& ends, Socket a, Socket b);
  bool serves(const PeerId& peer) const;
  // How many of `wanted` bytes may move now.
  std::size_t allow(std::size_t wanted);
  void moved(std::size_t bytes);

  const LinkContext& context_;
  // By the pass that buys each.
  std::map<RelayToken, Half> halves_;
  std::map<std::uint64_t, std::shared_ptr<Splice>> splices_;
  // Customers without a link, and since when.
  std::map<PeerId, TimePoint> absent_;
  std::uint64_t next_splice_ = 0;
  std::uint64_t bytes_relayed_ = 0;
  double allowance_ = 0;
  TimePoint filled_at_;
  TimerId sweep_timer_;
};

}  // namespace weft
