// GroupCore: any number of collectives at once among the members of one view; no I/O.
//
// Calls are numbered by channel: on one channel all members call the same operations in the same
// order; different channels are independent. Among several current calls the frames of the more
// urgent are sent first: a frame waits behind at most `window_bytes` of less urgent ones. A view
// change ends all calls with kAborted. Unlike a round nothing is committed: a call that succeeded
// here may have been aborted elsewhere; use a round if all members need the same outcome.
//
//   begin -> Ready to all -> data -> result -> Done to all; kept until all others are done
//
// Where it stands: SwarmCore owns one and a RoundCore; swarm_engine.h is its interface for threads.
// Threads: one owner; no I/O, no clock. Fails: on_frame returns kCorrupt for frames that a correct
// member would not send: end that link. A call's own end is its GroupOutcome.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/owner_thread.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/state/state_server.h"
#include "weft/peer/view.h"
#include "weft/wire/group_message.h"

namespace weft {

enum class Priority : std::uint8_t { kUrgent = 0, kNormal = 1, kBackground = 2 };
inline constexpr std::size_t kPriorities = 3;

struct GroupCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint16_t channel = 0;
  Priority priority = Priority::kNormal;
  // Elements of the whole vector; see collective.h.
  std::int64_t elements = 0;
  // Reduce-scatter and all-reduce: all of it; all-gather: this member's part; broadcast: the root's
  // vector, empty elsewhere. Borrowed until the outcome.
  std::span<const float> input;
  // The root of a broadcast.
  Rank root;
  // If set: point to point with that member, which calls the counterpart. The sender has the input;
  // `kind` is ignored.
  std::optional<Rank> partner;
  bool gives = false;
  Algorithm algorithm = Algorithm::kAuto;
  WirePrecision precision = WirePrecision::kF32;
  Aggregator aggregator;
  AggregateRound aggregate_round;
  // Ends with kTimeout then.
  TimePoint deadline = TimePoint::max();
};

struct GroupOutcome {
  std::uint64_t call = 0;
  // kAborted: the view changed, or this peer is in none.
  Status status;
  // The result; see CollectiveKind. Null if not ok.
  std::shared_ptr<FloatBuffer> values;
};

struct GroupCoreOptions {
  PeerId self;
  // Segment sizes and properties of links; the rest is set for each call.
  CollectiveOptions collective;
  // Limit of bulk frames for one member that the transport has not sent yet. It must exceed the
  // transport's low-water mark, and a round's limit there (queue_bytes_max).
  std::size_t window_bytes = 1536 * 1024;
  std::size_t calls_max = 256;
};

class GroupCore {
 public:
  // Borrows `sink`, which must outlive this.
  GroupCore(GroupCoreOptions options, StateSink& sink);
  ~GroupCore();

  // REQUIRES: `view` contains this member.
  void on_view(const View& view);
  void leave_view();

  // An outcome with this number follows in any case. `view`: in which the caller counted ranks.
  std::uint64_t begin(const ViewId& view, GroupCall call, TimePoint now);
  std::vector<GroupOutcome> take_outcomes();

  void on_link_up(const PeerId& peer);
  void on_link_down(const PeerId& peer);
  // kGroupSegment, kGroupReady, kGroupDone.
  Status on_frame(const PeerId& from, const FrameView& frame);
  MutableByteSpan body_destination(const PeerId& from, ByteSpan head, std::size_t body_bytes);
  void on_writable(const PeerId& peer);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const;

  // Calls of which this member keeps data, ended or not.
  std::size_t open() const { return open_.size(); }
  const View& view() const { return view_; }

 private:
  class Open;
  // A row of calls: those of all members, or of one direction between two.
  struct Row {
    GroupScope scope{};  // from this member's side
    Rank partner = Rank(-1);
    std::uint16_t channel = 0;
    friend auto operator<=>(const Row&, const Row&) = default;
  };
  struct Key {
    Row row;
    std::uint64_t sequence = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Early {
    GroupReadyMessage ready;
    bool done = false;
  };
  // Frames for one member that the transport has not got yet.
  struct Outbox {
    std::array<std::deque<Frame>, kPriorities> frames;
    std::array<std::size_t, kPriorities> bytes{};
  };

  // The call as it is named here, when `from` names it so.
  Key key_of(const GroupCallId& call, Rank from) const;
  GroupCallId name_of(const Key& key) const;
  Status check_call(const GroupCall& call) const;
  Status on_segment(Rank from, const FrameView& frame);
  Status on_ready(Rank from, const GroupReadyMessage& message);
  Status on_done(Rank from, const GroupDoneMessage& message);
  Status take_ready(Open& call, Rank from, const GroupReadyMessage& message);
  void take_early(Open& call);
  bool closed(const Key& key) const;
  void keep_early(const PeerId& from, GroupReadyMessage message);
  void send_ready(const Open& call, Rank to);
  void send_done(const Key& key, Rank to);
  void settle(const Key& key);
  void end(const Key& key, Status status);
  void enqueue(Rank to, Priority priority, Frame frame);
  std::size_t queued(Rank to, Priority priority) const;
  void pump(Rank to);

  const PeerId& id_of(Rank rank) const {
    return view_.members[static_cast<std::size_t>(rank.value())].id;
  }
  Outbox& outbox(Rank rank) { return outboxes_[static_cast<std::size_t>(rank.value())]; }

  const GroupCoreOptions options_;
  StateSink& sink_;
  View view_;
  Rank self_;
  std::uint64_t calls_ = 0;
  std::map<Row, std::uint64_t> next_;
  std::map<Key, std::shared_ptr<Open>> open_;
  std::vector<Outbox> outboxes_;
  // Frames of calls that this member has not begun, or of a later view.
  std::map<PeerId, std::vector<Early>> early_;
  // By sender, the call to whose buffer its body is being written; kept until the frame or the link
  // ends.
  std::map<PeerId, std::shared_ptr<Open>> receiving_;
  std::vector<GroupOutcome> outcomes_;
  OwnerThread owner_;
};

}  // namespace weft
