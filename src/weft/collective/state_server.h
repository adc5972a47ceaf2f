// StateServer: the member's side of state transfer; answers queries for snapshots and results.
//
// Keeps the last two snapshots (blocks named by SHA-256) and reads the ResultLog. A request for a
// round that is not committed yet waits here and is answered by committed(), so a joiner that asks
// a few rounds ahead gets each result as soon as there is one. At most `queue_bytes_max` lie in a
// peer's bulk queue; the rest waits for on_writable().
//
// Where it stands: SwarmCore owns one, and passes it frames 0x50 to 0x6f of members and joiners.
// Threads: one owner.
// Fails: on_frame gives kCorrupt for what a correct peer would not send.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "weft/base/status.h"
#include "weft/collective/result_log.h"
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
  std::size_t queue_bytes_max = 2 * kStateBlockBytes;
  // Of one peer; more ends its link.
  std::size_t requests_max = 256;
};

class StateServer {
 public:
  // Borrows both.
  StateServer(StateServerOptions options, const ResultLog& log, StateSink& sink)
      : options_(options), log_(log), sink_(sink) {}

  // Takes the state after `round`.
  void publish(Round round, Bytes state);
  // The round of a snapshot; 0 for none.
  Round newest_snapshot() const;
  Round oldest_snapshot() const;
  // True once someone has asked for a snapshot that is not here: make one after the next round.
  bool wanted() const { return wanted_; }
  // Drops the snapshots, once nobody joins any more.
  void forget_snapshots();
  // The log has grown.
  void committed();

  Status on_frame(const PeerId& from, const FrameView& frame);
  void on_writable(const PeerId& peer);
  void on_link_down(const PeerId& peer) { waiting_.erase(peer); }

 private:
  struct Snapshot {
    SnapshotManifest manifest;
    Hash256 id{};
    SharedBytes state;
  };
  // One frame still to be sent: a block, or a piece of a result.
  struct Request {
    bool is_block = false;
    Hash256 manifest{};
    Round round;
    std::uint32_t part = 0;
  };
  enum class Outcome : std::uint8_t { kSent, kMore, kNotYet };

  void offer(const PeerId& to);
  Status enqueue(const PeerId& from, const Request& request);
  void pump(const PeerId& to);
  // Sends what one request asks for next; kMore: it has further pieces.
  Outcome serve(const PeerId& to, Request& request);
  void serve_block(const PeerId& to, const Request& request);
  Outcome serve_result(const PeerId& to, Request& request);
  const Snapshot* find(const Hash256& id) const;

  StateServerOptions options_;
  const ResultLog& log_;
  StateSink& sink_;
  std::deque<Snapshot> snapshots_;
  std::map<PeerId, std::deque<Request>> waiting_;
  bool wanted_ = false;
};

}  // namespace weft
