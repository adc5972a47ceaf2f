// RoundCore: the rounds of one view: exchanges, Done from all, commit; or abort and run again.
//
// A round has one exchange or several, each in a team of the view (team/round_plan.h), and one
// commit by the whole view: a member is done with the round when all of its exchanges are complete
// here, so that a round commits with all of them or with none. With `reports` each member also
// sends a report on its part, in bytes that are opaque here. A result is then the sums and the
// reports of all members: a member that sends Done, or states in a promise that it holds the round,
// holds both, and the hash covers both. So one rule decides about both, and all members that apply
// a round have the same reports of it.
//
//   begin -> Ready to all -> data -> complete -> Done to all -> Done from all -> committed
//                 \-> a new view: committed if its base reaches the round, else aborted
//
// Data and reports are sent to a member only after its Ready for this view and round, so no frame
// can arrive before its place exists, and they are sent again over a link that replaces a broken
// one. A member commits a round when every member of the view has sent Done, or when any shows that
// it has committed the round (by a Ready or Done of the next one). Between on_freeze() and
// on_view() no Done is sent; see peer/membership.h for why survivors then agree. Inputs are never
// written to: an aborted round can be run again from them.
//
// Where it stands: SwarmCore owns one. Threads: one owner; no I/O, no clock.
// Fails: on_frame gives kCorrupt for what a correct member would not send: end that link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/owner_thread.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/round/round_attempt.h"
#include "weft/collective/round/round_factory.h"
#include "weft/collective/round/round_types.h"
#include "weft/collective/state/state_server.h"
#include "weft/collective/team/round_plan.h"
#include "weft/peer/view.h"
#include "weft/wire/collective_message.h"

namespace weft {

class RoundCore final : private AllReduceSink {
 public:
  // Borrows `sink`, which must outlive this.
  RoundCore(const RoundCoreOptions& options, StateSink& sink)
      : options_(options), sink_(sink), factory_(options_) {}

  // --- Views. REQUIRES: `view` contains this member.
  void on_freeze() { frozen_ = true; }
  // kInternal if a round is committed here that is not committed by `view`.
  Status on_view(const View& view, TimePoint now);
  // No member any more: the open round is aborted.
  void leave_view(TimePoint now);

  // --- The training side. At most one round is open. An outcome follows in any case.
  // Where rounds have no reports, each member is to be in the team of some exchange.
  void begin(const CollectiveId& id, const RoundPlan& plan, TimePoint now);
  // Elements [offset, offset + values.size()) of this member's input of one exchange. Borrows
  // `values` until the outcome; ignored if the round has ended meanwhile. REQUIRES: this member is
  // in the exchange's team.
  void contribute(std::size_t exchange, std::int64_t offset, std::span<const float> values,
                  TimePoint now);
  // For rounds of one exchange.
  void contribute(std::int64_t offset, std::span<const float> values, TimePoint now) {
    contribute(0, offset, values, now);
  }
  // This member's report on the open round, once, at most kReportBytesMax bytes; the round cannot
  // end without it. Ignored if the round has ended meanwhile.
  void report(Bytes report, TimePoint now);
  // Ends the open round, if there is one, with `why`: its inputs are used no more.
  void cancel(const Status& why, TimePoint now);
  // Ends it for the training side, which need not wait for members that may never return. A
  // complete result stays held: the next view decides about it. REQUIRES: frozen.
  void release(const Status& why, TimePoint now);
  std::optional<RoundOutcome> take_outcome();
  // After on_view(): the result held since release(), if the view commits it.
  std::optional<RoundOutcome> take_adopted() { return std::exchange(adopted_, {}); }

  // --- Events of members of the view; of others they are ignored.
  void on_link_up(const PeerId& peer);
  void on_link_down(const PeerId& peer);
  // kSegment, kReady, kDone, kProgress, kReport.
  Status on_frame(const PeerId& from, const FrameView& frame, TimePoint now);
  MutableByteSpan body_destination(const PeerId& from, ByteSpan head, std::size_t body_bytes);
  void on_writable(const PeerId& peer);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const;
  // The rounds begin anew after `round`: no member has begun one yet. REQUIRES: none is open.
  void restart_at(Round round) { committed_ = round; }
  // Somebody has applied `round`, so it is committed.
  void learn_committed(Round round, TimePoint now);

  // --- Queries.
  // The status for a promise: the highest round whose result is held, given that `held` is.
  RoundStatus status(const RoundStatus& held) const;
  Round committed() const { return committed_; }
  bool open() const { return attempt_.has_value(); }
  // Whether the view has as many members, in the teams of the round that was begun last, as the
  // rule needs; kInvalidArgument with that number.
  Status can_aggregate() const { return factory_.can_aggregate(plan_); }
  // A round is open whose result is not whole yet.
  bool moving() const { return attempt_ && !attempt_->round->sealed(); }
  // The sums of one exchange of the open round once all of its team has given its part; they count
  // only if the round is committed. Valid until the next call.
  std::optional<std::span<const float>> early_sums(std::size_t exchange) const;
  // The exchanges of the open round. REQUIRES: open().
  const RoundPlan& plan() const { return attempt_->round->plan(); }
  // A member of this view has begun `round`.
  bool begun_elsewhere(Round round) const { return elements_elsewhere(round).has_value(); }
  // The number of elements in all exchanges of that round.
  std::optional<std::uint64_t> elements_elsewhere(Round round) const;
  // Likewise, with these exchanges.
  bool begun_alike(Round round, const RoundPlan& plan) const;
  // The residuals of this member's encoders, for checkpoints.
  ResidualState residual_state() const { return factory_.codec().state(); }
  std::vector<Stall> take_stalls();
  // The wait in the open round, once nothing has arrived for `wait_interval`.
  std::optional<RoundWait> waiting(TimePoint now) const;
  // The members that have asked lately why this member's input does not come.
  std::optional<RoundAwaited> awaited(TimePoint now) const;

 private:
  // The state of a member in this view.
  struct Peer {
    std::optional<ReadyMessage> ready;
    Round done;
    Hash128 done_hash{};
  };
  struct Attempt {
    std::shared_ptr<RoundAttempt> round;
    // Done was sent. A round that completes after the freeze is not announced, and so the others'
    // messages do not commit it: this member's promise has stated that it was not done with the
    // round.
    bool announced = false;
    TimePoint begun;
    // The last time that data arrived, or that the member whose data is missing was found alive.
    TimePoint progress;
    // The member that was asked for its Progress since then.
    std::optional<PeerId> asked;
    // The last time that anything moved.
    TimePoint moved;
    // When all members are asked for their progress, unless data arrives, and which of them have
    // reported since then that they compute.
    TimePoint ask_at;
    std::set<PeerId> computing;
    // By rank, seconds after `begun` at which the member's report was here; -1: it is not. Empty
    // where rounds have none.
    std::vector<double> entered;
  };

  void send(Rank to, Frame frame) override;
  std::size_t queued_bytes(Rank to) const override;

  void keep_early(const PeerId& from, const ReadyMessage& message);
  Status on_ready(Rank from, const ReadyMessage& message, TimePoint now);
  Status on_done(Rank from, const DoneMessage& message, TimePoint now);
  Status on_progress(Rank from, const ProgressMessage& message, TimePoint now);
  Status on_segment(Rank from, const FrameView& frame, TimePoint now);
  Status on_report(Rank from, ReportMessage message, TimePoint now);
  // kCorrupt, or ok where the sender could not know better: of what is not of the open round.
  Status check_not_open(const CollectiveId& id, std::string_view what) const;
  void answer_progress(Rank from, const ProgressMessage& query, TimePoint now);
  void note_movement(TimePoint now);
  void note_entry(Rank member, TimePoint now);
  void ask_all(TimePoint now);
  Status resume(Rank to);
  Status differs(const Status& status, TimePoint now);
  void send_ready(Rank to);
  void send_done(Rank to);
  void send_report(Rank to);
  void send_control(Rank to, std::uint8_t type, Bytes head);
  // After anything that may have completed the round.
  void settle(TimePoint now);
  void collect_findings();
  bool all_done();
  void announce();
  void end_attempt(Status status, TimePoint now);
  // Its Ready, if it is of this round.
  const ReadyMessage* ready_of(Rank from, const CollectiveId& id) const;
  PeerId owes() const;

  Rank rank_of(const PeerId& peer) const { return view_.rank_of(peer); }
  Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank.value())]; }
  const PeerId& id_of(Rank rank) const {
    return view_.members[static_cast<std::size_t>(rank.value())].id;
  }

  const RoundCoreOptions options_;
  StateSink& sink_;
  View view_;
  Rank self_;
  bool frozen_ = false;
  Round committed_;
  // The last round of this view to which this member gave all its input and that has ended here,
  // perhaps without its result: the others may be done with it all the same.
  Round given_;
  std::vector<Peer> peers_;
  // Ready messages for a view that we have not installed yet, one per peer; used once we do.
  std::map<PeerId, ReadyMessage> early_;
  RoundFactory factory_;
  // The exchanges of the round that was begun last.
  RoundPlan plan_ = 0;
  std::optional<Attempt> attempt_;
  // The last Done that this member sent in this view, for links that are restored.
  std::optional<DoneMessage> last_done_;
  std::optional<RoundOutcome> outcome_;
  // A whole result whose round was released, and the same once a view has committed it.
  std::optional<RoundOutcome> held_;
  std::optional<RoundOutcome> adopted_;
  std::vector<Stall> stalls_;
  // The members that asked for this member's input, the last time of each, and the round.
  std::map<PeerId, TimePoint> awaited_by_;
  Round awaited_round_;
  // By sender, the round to whose buffer its body is being written; kept until the frame or the
  // link ends.
  std::map<PeerId, std::shared_ptr<RoundAttempt>> receiving_;
  OwnerThread owner_;
};

}  // namespace weft
