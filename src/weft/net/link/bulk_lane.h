// BulkLane: the bulk frames of one link, over one or several connections, or through memory.
//
// Each direction of the lane runs over one of its ways at a time: a connection (number 0 to 7) or
// the shortcut. Who sends says on the way in use that what follows comes by another (lane_moved),
// and goes on there; who receives reads that way only whose turn it is. So frames keep their order,
// and none is ever put in order here: what comes early waits in the system's buffers, whose windows
// add up.
//
// With several connections the sender moves on after a run of kRunBytes, or when the system takes
// no more, to the connection with the least still to send. Frames that no connection has room for
// wait here, so that a slow connection holds up no more than its own share.
//
// Where it stands: Link owns one. Threads: the loop thread. Fails: kCorrupt for a move that no
// correct peer makes.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "weft/base/status.h"
#include "weft/net/stream/connection.h"
#include "weft/wire/link_message.h"

namespace weft {

class BulkLane {
 public:
  // `owner` hears of every connection of the lane. Takes the first one.
  BulkLane(std::size_t low_water_bytes, ConnectionOwner& owner, std::shared_ptr<Connection> first);

  // Lets frames in, those that have arrived already included.
  void open(LinkTrust trust);
  void set_trust(LinkTrust trust);
  void send(Frame frame);
  std::size_t queued_bytes() const;
  // Forgets frames of which nothing has been sent; each connection may keep the one it has begun.
  void cancel();
  // After one of its connections can take more: true if that is news for the lane as a whole.
  bool on_writable();

  // Takes one more connection to the same peer, by which frames may come from now on.
  void add(const std::shared_ptr<Connection>& connection);
  // Sends over the first `count` from now on. REQUIRES: in_use() <= count <= connections().
  void use(std::size_t count);
  std::size_t connections() const { return connections_.size(); }
  std::size_t in_use() const { return in_use_; }
  int socket(std::size_t number) const { return connections_[number]->socket(); }
  // Neither a shortcut nor the greatest number of connections.
  bool takes_connection() const {
    return shortcut_ == nullptr && connections_.size() < kBulkConnectionsMax;
  }

  // Takes a connection through memory (shortcut.h). Who moves first says so at once; the other side
  // when it has heard of it. REQUIRES: takes_shortcut().
  enum class Moves : std::uint8_t { kFirst, kSecond };
  void take_shortcut(std::shared_ptr<Connection> shortcut, Moves moves);
  bool takes_shortcut() const { return shortcut_ == nullptr && connections_.size() == 1; }
  bool has_shortcut() const { return shortcut_ != nullptr; }
  // True if `connection` was a shortcut that nobody has moved to; it is closed and forgotten.
  bool lose_unused(const Connection& connection);

  // Whether frames may come by `connection` now.
  bool is_turn_of(const Connection& connection) const { return &connection == &at(in_); }
  // kLaneMoved, on the way whose turn it is.
  Status on_moved(ByteSpan head);

  void close();
  void fall_silent(Duration limit);
  // Adds what all connections have moved.
  void add_stats(TransportStats& sum) const;
  // All of them, to be told of while they take leave.
  const std::vector<std::shared_ptr<Connection>>& all() const { return connections_; }

 private:
  static constexpr std::size_t kShortcut = LaneMovedMessage::kToShortcut;

  Connection& at(std::size_t way) const {
    return way == kShortcut ? *shortcut_ : *connections_[way];
  }
  bool striped() const { return in_use_ > 1; }
  bool has_room(std::size_t number) const;
  // Where the next frame goes; kNowhere if no connection has room.
  std::size_t choose() const;
  void pump();
  void move_out(std::size_t way);

  static constexpr std::size_t kNowhere = kShortcut + 1;

  ConnectionOwner& owner_;
  LinkTrust trust_ = LinkTrust::kStranger;
  std::size_t low_water_bytes_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::shared_ptr<Connection> shortcut_;
  // Ways of what is sent and of what is received.
  std::size_t out_ = 0;
  std::size_t in_ = 0;
  std::size_t in_use_ = 1;
  // Sent since the lane last moved out.
  std::size_t run_bytes_ = 0;
  std::deque<Frame> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool above_low_water_ = false;
};

}  // namespace weft
