// BulkLane: the bulk frames of one link, over one or several connections, or through memory.
//
// Each direction of the lane uses one of its ways at a time: a connection (number 0 to 7) or the
// shortcut. The sender announces on the way in use that what follows comes by another one
// (lane_moved), and continues there; the receiver reads only the way whose turn it is. Frames
// therefore keep their order without being sorted here: those that come early wait in the system's
// buffers, whose windows add up.
//
// With several connections the sender moves on after a run of kRunBytes, or when the system takes
// no more, to the connection with the fewest bytes still to send. Frames for which no connection
// has room wait here, so that a slow connection delays no more than its own share.
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
  // `owner` gets the calls of every connection of the lane. Takes the first connection.
  BulkLane(std::size_t low_water_bytes, ConnectionOwner& owner, std::shared_ptr<Connection> first);

  // Lets frames in, including those that have arrived already.
  void open(LinkTrust trust);
  void set_trust(LinkTrust trust);
  void send(Frame frame);
  std::size_t queued_bytes() const;
  // Drops frames of which no byte has been sent; each connection may keep the one that it has
  // begun.
  void cancel();
  // Called when one of its connections can take more: true if that changes the state of the lane as
  // a whole.
  bool on_writable();

  // Takes one more connection to the same peer, by which frames may arrive from now on.
  void add(const std::shared_ptr<Connection>& connection);
  // Sends over the first `count` connections from now on. REQUIRES: in_use() <= count <=
  // connections().
  void use(std::size_t count);
  std::size_t connections() const { return connections_.size(); }
  std::size_t in_use() const { return in_use_; }
  int socket(std::size_t number) const { return connections_[number]->socket(); }
  // True if there is no shortcut, and fewer than the greatest number of connections.
  bool takes_connection() const {
    return shortcut_ == nullptr && connections_.size() < kBulkConnectionsMax;
  }

  // Takes a connection through memory (net/shm/shortcut.h). The side that moves first announces its
  // move at once, the other side upon that announcement. REQUIRES: takes_shortcut().
  enum class Moves : std::uint8_t { kFirst, kSecond };
  void take_shortcut(std::shared_ptr<Connection> shortcut, Moves moves);
  bool takes_shortcut() const { return shortcut_ == nullptr && connections_.size() == 1; }
  bool has_shortcut() const { return shortcut_ != nullptr; }
  // True if `connection` was a shortcut that nobody has moved to; it is closed and dropped.
  bool lose_unused(const Connection& connection);

  // True if frames may arrive by `connection` now.
  bool is_turn_of(const Connection& connection) const { return &connection == &at(in_); }
  // Handles kLaneMoved, received on the way whose turn it is.
  Status on_moved(ByteSpan head);

  void close();
  void fall_silent(Duration limit);
  // Adds the figures of all connections to `sum`.
  void add_stats(TransportStats& sum) const;
  // All connections, whose owner changes while they close.
  const std::vector<std::shared_ptr<Connection>>& all() const { return connections_; }

 private:
  static constexpr std::size_t kShortcut = LaneMovedMessage::kToShortcut;

  Connection& at(std::size_t way) const {
    return way == kShortcut ? *shortcut_ : *connections_[way];
  }
  bool striped() const { return in_use_ > 1; }
  bool has_room(std::size_t number) const;
  // The number of the connection for the next frame; kNowhere if none has room.
  std::size_t choose() const;
  void pump();
  void move_out(std::size_t way);

  static constexpr std::size_t kNowhere = kShortcut + 1;

  ConnectionOwner& owner_;
  LinkTrust trust_ = LinkTrust::kStranger;
  std::size_t low_water_bytes_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::shared_ptr<Connection> shortcut_;
  // The ways by which this side sends and receives.
  std::size_t out_ = 0;
  std::size_t in_ = 0;
  std::size_t in_use_ = 1;
  // Bytes sent since the lane last moved out.
  std::size_t run_bytes_ = 0;
  std::deque<Frame> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool above_low_water_ = false;
};

}  // namespace weft
