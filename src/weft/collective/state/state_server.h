// StateServer: the member's side of state transfer; answers queries for snapshots and results.
//
// Keeps the last two snapshots, for a while after the last query about one, so that an interrupted
// transfer can resume; and reads the ResultLog. A request for a round that is not committed yet
// waits here and is answered by committed(), so a joiner that asks a few rounds ahead gets each
// result as soon as there is one. At most `queue_bytes_max` are in a peer's bulk queue; the rest
// waits for on_writable(). Newcomers get the bandwidth that this member's own rounds leave
// (state_throttle.h), in small pieces of which few are in flight; receivers acknowledge them. The
// number in flight is what the path holds without a queue: it grows while pieces arrive in about
// the shortest time. A member that lags delays the rounds, and is served at once.
//
// Where it stands: SwarmCore owns one, and passes it frames 0x50 to 0x6f of members and joiners.
// Threads: one owner.
// Fails: on_frame returns kCorrupt for frames that a correct peer would not send.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "weft/base/owner_thread.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/link/state_throttle.h"
#include "weft/collective/state/result_log.h"
#include "weft/collective/state/state_snapshot.h"
#include "weft/net/transport.h"
#include "weft/wire/state_message.h"

namespace weft {

// Borrowed by a StateServer or StateFetch and must outlive it.
class StateSink {
 public:
  virtual ~StateSink() = default;
  virtual void send(const PeerId& to, Lane lane, Frame frame) = 0;
  // Bytes in the bulk queue to that peer.
  virtual std::size_t queued_bytes(const PeerId& to) const = 0;
};

struct StateServerOptions {
  std::size_t queue_bytes_max = std::size_t{2} << 20;
  // Bytes in flight to a newcomer. Pieces without an acknowledgement for this long count as lost.
  std::size_t window_bytes_min = 2 * kStateBlockBytes;
  std::size_t window_bytes_max = std::size_t{1} << 20;
  Duration lost_after = std::chrono::seconds(5);
  // Maximum requests of one peer; more end its link.
  std::size_t requests_max = 256;
  // A snapshot without a query for this long may be dropped.
  Duration keep_unused = std::chrono::seconds(60);
  StateThrottleOptions throttle;
};

class StateServer {
 public:
  // Borrows both.
  StateServer(StateServerOptions options, const ResultLog& log, StateSink& sink)
      : options_(options), log_(log), sink_(sink), throttle_(options.throttle) {}

  void publish(StateSnapshot snapshot, TimePoint now);
  // The activity of this member's rounds; call pump_all() when it decreases.
  StateThrottle& throttle() { return throttle_; }
  // The round of a snapshot, if there is one.
  std::optional<Round> newest_snapshot() const;
  std::optional<Round> oldest_snapshot() const;
  // True once someone has asked for a snapshot that is not here: make one after the next round.
  bool wanted() const { return wanted_; }
  bool has(const Hash256& root) const { return find(root) != nullptr; }
  // Drops all: they are of another branch, or of before a merge.
  void forget_all() { snapshots_.clear(); }
  // Drops the snapshots without recent queries, once no newcomer is left.
  void forget_unused(TimePoint now);
  // When forget_unused() has something to drop.
  TimePoint unused_at() const;
  // Offers nothing, because a newer state than this member's is being fetched.
  void hold_offers(bool hold) { held_ = hold; }

  // There is an unanswered request.
  bool waiting() const;
  // The log has grown.
  void committed(TimePoint now) { pump_all(now); }
  void pump_all(TimePoint now);
  // When the network counts as free and a request waits for it.
  TimePoint next_deadline(TimePoint now) const;
  // `urgent`: the peer holds this member's rounds up.
  Status on_frame(const PeerId& from, const FrameView& frame, bool urgent, TimePoint now);
  // The requests of `peer` are urgent from now on: it has become a member.
  void hurry(const PeerId& peer, TimePoint now);
  void on_writable(const PeerId& peer, TimePoint now);
  void on_link_down(const PeerId& peer);

 private:
  struct Snapshot {
    StateSnapshot of;
    TimePoint used;
  };
  // One frame still to be sent: a block, or a piece of a result.
  struct Request {
    bool is_block = false;
    Hash256 root{};
    Round round;
    std::uint32_t part = 0;
    // The newest result when it was asked for.
    Round since;
    bool same_as(const Request& other) const {
      return is_block == other.is_block && root == other.root && round == other.round &&
             (!is_block || part == other.part);
    }
  };
  enum class Outcome : std::uint8_t { kSent, kMore, kNotYet };

  struct Sent {
    TimePoint at;
    // All bytes sent over this link up to its end.
    std::uint64_t until = 0;
  };
  // The requests of one peer, and the bytes in flight to it.
  struct Waiting {
    std::deque<Request> requests;
    bool urgent = false;
    std::deque<Sent> under_way;
    std::uint64_t sent_bytes = 0;
    // Arrived or lost.
    std::uint64_t gone_bytes = 0;
    std::size_t window_bytes = 0;
    // The shortest time to arrive; it grows slowly, in case the path has changed.
    Duration shortest = Duration::max();
  };

  void offer(const PeerId& to, const StateQueryMessage& query, TimePoint now);
  bool usable(const Snapshot& snapshot, const StateQueryMessage& query) const;
  std::size_t next_bytes(const Request& request) const;
  bool may_serve(const Waiting& waiting, const Request& request, TimePoint now) const;
  Status on_received(const PeerId& from, const StateReceivedMessage& message, TimePoint now);
  void adapt_window(Waiting& waiting, Duration took);
  void settle_gone(Waiting& waiting, std::uint64_t gone_bytes);
  void give_up_lost(Waiting& waiting, TimePoint now);
  void send_piece(const PeerId& to, const Request& request, Frame frame, TimePoint now);
  StateKind kind_of(const Request& request) const;
  Status enqueue(const PeerId& from, const Request& request, bool urgent, TimePoint now);
  void pump(const PeerId& to, Waiting& waiting, TimePoint now);
  // Sends what one request asks for next; kMore: it has further pieces.
  Outcome serve(const PeerId& to, Request& request, TimePoint now);
  void serve_block(const PeerId& to, const Request& request, TimePoint now);
  Outcome serve_result(const PeerId& to, Request& request, TimePoint now);
  const Snapshot* find(const Hash256& root) const;

  StateServerOptions options_;
  const ResultLog& log_;
  StateSink& sink_;
  std::deque<Snapshot> snapshots_;
  std::map<PeerId, Waiting> waiting_;
  StateThrottle throttle_;
  // Peers that asked for a snapshot when there was none get an offer of the next one.
  std::map<PeerId, StateQueryMessage> unanswered_;
  // Was served last: the others come first next time.
  PeerId served_;
  bool wanted_ = false;
  bool held_ = false;
  OwnerThread owner_;
};

}  // namespace weft
