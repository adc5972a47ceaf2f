// Relay: joins two connections of other peers and forwards bytes between them, unread.
//
// A pair of peers is offered four tokens, one for each side of each lane. Each token admits one
// connection, within seconds; when both sides of a lane have come, the bytes of one go to the
// other. Inside runs the peers' own TLS link, so the relay sees ciphertext. Bounds: the connections
// at once, in total, for one asker and for one pair; the bytes a second in total; and the time in
// which neither side moves a byte. Relayed connections of a peer end when it loses its right to
// them, and a few seconds after its own link is gone.
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
  // Takes a connection that showed `pass`. kCorrupt if its token was not offered, or was used.
  Status take(Socket socket, const RelayToken& pass);
  // The peer has no link; it has a moment to come back.
  void on_absent(const PeerId& peer);
  void on_back(const PeerId& peer) { absent_.erase(peer); }
  // Ends all relayed and waiting connections of this peer at once.
  void end_for(const PeerId& peer);
  // The number of joined pairs, and of waiting sides halved.
  std::size_t connections() const { return splices_.size() + halves_.size() / 2; }
  std::uint64_t bytes_relayed() const { return bytes_relayed_; }

 private:
  class Splice;
  // The peer that asked, and the other one.
  using Ends = std::array<PeerId, 2>;
  // One side of one lane: a connection that is expected, or that waits for the other side.
  struct Half {
    Ends ends;
    // The pass of the other side.
    RelayToken other{};
    // Valid once this side has come.
    Socket socket;
    TimePoint expires;
  };

  // Counts the joined pairs and the waiting sides for whose ends `which` is true.
  template <class Which>
  std::size_t count(const Which& which) const;
  Status has_room(const PeerId& asker, const PeerId& other) const;
  void sweep();
  void join(const Ends& ends, Socket a, Socket b);
  bool serves(const PeerId& peer) const;
  // The number of bytes, out of `wanted`, that may move now.
  std::size_t allow(std::size_t wanted);
  void moved(std::size_t bytes);

  const LinkContext& context_;
  // The halves, by the pass that admits each.
  std::map<RelayToken, Half> halves_;
  std::map<std::uint64_t, std::shared_ptr<Splice>> splices_;
  // Peers without a link whose connections are relayed, and since when the link is gone.
  std::map<PeerId, TimePoint> absent_;
  std::uint64_t next_splice_ = 0;
  std::uint64_t bytes_relayed_ = 0;
  double allowance_ = 0;
  TimePoint filled_at_;
  TimerId sweep_timer_;
};

}  // namespace weft
