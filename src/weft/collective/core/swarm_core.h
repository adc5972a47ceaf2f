// SwarmCore: one peer's part in a run without threads, sockets or clocks of its own.
//
// It joins together who is in (peer/membership.h), the rounds (round_core.h), what newcomers and
// laggards fetch (state_fetch.h) and the comparison of states, and decides what the training side
// does next. Its driver hands it the transport's events, the timer and the training side's
// commands, and after each of them takes turn, outcome and events. The same code runs on real
// transports (swarm_loop.cpp) and in the simulator.
//
// The training side stands after `trainer_round()`; it applies committed rounds only, one after
// the other, so its state is always a prefix of the run's history.
//
// Threads: one owner. Fails: what peers send wrongly ends their link; what ends this peer's part
// is the Status that take_turn() gives from then on.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/core/late_round.h"
#include "weft/collective/core/state_comparison.h"
#include "weft/collective/core/swarm_types.h"
#include "weft/collective/core/swarm_waits.h"
#include "weft/collective/engine/group_core.h"
#include "weft/collective/link/link_rates.h"
#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/state/merge_states.h"
#include "weft/collective/state/result_log.h"
#include "weft/collective/state/state_fetch.h"
#include "weft/collective/state/state_server.h"
#include "weft/net/transport.h"
#include "weft/peer/membership.h"

namespace weft {

struct SwarmCoreOptions {
  MembershipOptions membership;
  RoundCoreOptions rounds;
  StateFetchOptions fetch;
  // `self` is set.
  LinkRatesOptions links;
  std::uint64_t result_log_bytes_max = swarm_defaults::kResultLogBytesMax;
  std::int64_t vector_elements_max = swarm_defaults::kVectorElementsMax;
  // 0: never finished.
  Round last_round;
  Round resume_round;
  // A founder that resumes takes the newest state that one of its first members holds.
  bool gather_states = false;
  // The training side of a joiner holds the state after this round, from a checkpoint; 0: none.
  Round held_round;
  // The run that this state, or the one that a founder resumes from, is of; zeros: not known.
  RunId held_run{};
  // Where the membership's record is kept; null: nowhere. Borrowed.
  RecordKeep* records = nullptr;
  // The first round waits for so many members, at most `start_timeout`.
  int start_members = swarm_defaults::kStartMembers;
  Duration start_timeout = swarm_defaults::kStartTimeout;
  bool exit_on_quorum_lost = false;
  // How long the others are waited for once the last round is applied here.
  Duration finish_timeout = std::chrono::seconds(5);
  // And how long newcomers are given the final state, if there are any.
  Duration linger = swarm_defaults::kLinger;
  // A removed peer asks in again so many times without a round in between.
  int rejoins_max = 5;
  // How long a member that still computes its part of a round is waited for, after which the others
  // suspect it; zero and `compute_timeout_first`: see round_times.h.
  Duration compute_timeout{};
  Duration compute_timeout_first = swarm_defaults::kComputeTimeoutFirst;
  // What a round adds to the samples that a state has learned from: the weights of branches.
  std::uint64_t samples_a_round = 1;
};

class SwarmCore final : public TransportHandler,
                        private MembershipSink,
                        private StateSink,
                        private LinkRateSink {
 public:
  // Borrows `transport` and `clock`, which must outlive this. The driver sets the transport's
  // handler: this, or one that hands on to it.
  SwarmCore(SwarmCoreOptions options, Transport& transport, const Clock& clock, Rng rng);
  ~SwarmCore() override;

  // --- Commands; one of the first two, once.
  void found();
  void join(const Ticket& ticket);
  // The training side is done with the last turn and wants the next.
  void request_turn();
  // Opens the round of a kTrain turn; take_outcome() gives its end in any case.
  void begin(const ViewId& view, Round round, std::int64_t elements);
  // Borrows `values` until the outcome.
  void contribute(std::int64_t offset, std::span<const float> values);
  // What this member reports of the round that it has begun, at most kReportBytesMax bytes. Only
  // where rounds have reports, and then always, after begin().
  void report(Bytes report);
  // After a kTrain turn: the state may, or may no longer, be serialised although the training
  // side is at work. Ends with the round and with the next request.
  void lend_state(bool lent);
  // What this member gives where its input comes too late: for the round of the latest kTrain turn
  // and those after it. See late_round.h.
  void stand_in(const ViewId& view, Round round, StandIn stand_in);
  // Ends an open round at once: the training side waits no longer.
  void cancel_round(const Status& why);
  void applied(Round round, StateHash hash);
  // The second hashes all of it; the first was made where that may take its time.
  // Where branches merge, the first has the turn's `state` in front; the second puts it there.
  void publish_state(StateSnapshot snapshot);
  void publish_state(Round round, Bytes state);
  // What take_snapshot_order() asked for is not made: the state was not lent any more.
  void snapshot_missed();
  // A collective beside the rounds; take_group_outcomes() gives its end under this number.
  std::uint64_t begin_group(const ViewId& view, GroupCall call);
  void leave();
  // As those of the membership.
  Status revoke(const InvitationId& invitation);
  Result<std::string> expel(const PeerId& peer, const std::string& reason);

  // --- Events. Call on_timer() at next_deadline(); it may have changed after any other call.
  void on_link_up(const LinkInfo& link) override;
  void on_link_down(const PeerId& peer, const Status& why) override;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& peer, Lane lane) override;
  void on_refused(const std::string& remote_endpoint, const Status& why) override;
  void on_twin(const PeerId& peer, const std::string& remote_endpoint) override;
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override;
  void on_timer();
  TimePoint next_deadline() const;

  // --- Outcomes; each is given once.
  // Nothing unless a turn was requested and there is something to do.
  std::optional<Result<Turn>> take_turn();
  std::optional<RoundOutcome> take_outcome();
  // A kSnapshot turn for the thread that reads the state that is lent: publish_state() or
  // snapshot_missed() is to follow.
  std::optional<Turn> take_snapshot_order();
  std::vector<SwarmEvent> take_events();
  std::vector<GroupOutcome> take_group_outcomes() { return group_.take_outcomes(); }

  // --- Queries.
  // Left, or nobody is there to take leave of.
  bool left() const { return left_; }
  Round trainer_round() const { return trainer_round_; }
  Round committed() const { return rounds_.committed(); }
  const View& view() const { return membership_.view(); }
  const LinkRates& link_rates() const { return link_rates_; }
  MembershipState state() const { return membership_.state(); }
  // Those that this peer may have a link with: members, and newcomers that it knows of.
  std::set<PeerId> partners() const;
  // Why an open round does not end, for people: who is owed.
  std::string owed_text() const;
  // All but the training side's wait_seconds.
  SwarmStatus status() const;
  // RoundCore's.
  ResidualState residual_state() const { return rounds_.residual_state(); }
  Ticket ticket(Duration valid_for);
  bool stands(const Ticket& ticket) const { return membership_.stands(ticket, unix_time_s()); }
  const Hash256& recipe_hash() const { return options_.membership.recipe_hash; }
  // What is kept of the memberships, for the process that comes after this one.
  VoterRecord record() const { return membership_.record(); }

 private:
  enum class Fetching : std::uint8_t { kNothing, kSnapshot, kResults };

  // MembershipSink.
  void send(const PeerId& to, Frame frame) override;
  void connect(const PeerAddress& peer) override;
  void close(const PeerId& peer, const Status& why) override;
  void set_trust(const PeerId& peer, LinkTrust trust) override;
  std::int64_t unix_time_s() const override { return clock_.unix_time_s(); }
  bool keeps_records() const override { return options_.records != nullptr; }
  bool keep_record(ByteSpan record, bool durable) override {
    return options_.records == nullptr || options_.records->keep(record, durable);
  }
  void on_join_waiting(const std::string& text) override {
    event(SwarmEventKind::kStartWaiting, "not let in yet: " + text);
  }
  std::uint64_t sync_progress() const override {
    return fetch_.bytes_received() + trainer_round_.value() + (has_state_ ? 1 : 0);
  }
  RoundStatus round_status() const override;
  void on_freeze() override;
  void on_view(const View& view, const ViewChange& change) override;
  void on_isolated(const IsolatedReport& report) override;
  void on_quorum_back() override;
  void on_removed(const Status& why) override;
  void on_left() override { left_ = true; }
  void on_joiner(const Member& joiner) override;
  void on_joiner_gone(const PeerId& joiner, const Status& why) override;
  void on_refused(const PeerId& peer, const Status& why) override;
  void on_second_process(const PeerId& peer, const std::string& text) override;
  void on_misconduct(const Misconduct& report) override;
  void on_revoked(const InvitationId& invitation, const PeerId& by) override;
  void on_join_accepted(const View& view, const PeerId& sponsor) override;
  void on_view_ahead(const View& view) override;
  void on_unreached(const std::vector<Member>& members, const std::string& text) override;
  void on_join_failed(const Status& why) override;
  void on_run_over(Round round) override;
  void on_run_gone(const std::optional<Round>& ended_with) override;
  std::vector<Member> arrange(std::vector<Member> members) const override;
  LinkSummary links_of(const std::vector<Member>& members) const override;
  bool may_admit() const override { return !rounds_.open(); }
  std::uint64_t samples_after(Round round) const override;
  Round committed_round() const override { return rounds_.committed(); }
  void on_merge_offer(const MergeOffer& offer) override;
  // StateSink, LinkRateSink.
  void send(const PeerId& to, Lane lane, Frame frame) override;
  std::size_t queued_bytes(const PeerId& to) const override;
  bool linked(const PeerId& peer) const override { return transport_.linked(peer); }
  double rtt_seconds(const PeerId& peer) const override;

  Status on_collective_frame(const PeerId& from, const FrameView& frame);
  Status on_state_frame(const PeerId& from, const FrameView& frame);
  bool may_tell_refusal();
  // After any event: what it has caused.
  void settle();
  void settle_outcome();
  bool may_stand_in() const;
  void settle_late();
  void enter_late(const CollectiveId& id);
  void settle_stalls();
  // Waits for members that compute (swarm_waits.cpp).
  void settle_waits();
  void settle_awaited();
  void tell_wait(const RoundWait& wait);
  void end_wait();
  void measure_round(const RoundOutcome& outcome);
  void note_slowness(const Status& why);
  Duration wait_limit(const RoundWait& wait) const;
  void add_waits(SwarmStatus& status) const;
  void settle_membership();
  void settle_links();
  void count_round(const RoundOutcome& outcome);
  void settle_fetch();
  void start_fetch();
  void stop_fetch();
  bool fetch_stalled();
  void on_state_loaded();
  void note_sent(std::uint8_t type, std::size_t bytes);
  void note_received(std::uint8_t type, std::size_t bytes);
  void settle_serving();
  // After all have died (swarm_gathering.cpp).
  void begin_gathering();
  void tell_held_state(const PeerId& sponsor);
  void on_held_state(const PeerId& from, const HeldStateMessage& held);
  void take_held_state(const PeerId& from, const HeldStateMessage& held);
  void settle_gathering();
  bool settle_adoption();
  std::vector<PeerId> awaited() const;
  void tell_awaited(const std::vector<PeerId>& missing);
  void end_gathering();
  void settle_comparison();
  std::vector<PeerId> sources() const;

  // Branches (swarm_branches.cpp).
  bool merges() const { return options_.membership.on_split == SplitPolicy::kMerge; }
  // Whether the training side's state is one of that lineage.
  bool fits(const Lineage& lineage) const {
    return history_.branch == lineage.branch() && history_.absorbed == lineage.absorbed;
  }
  void follow_lineage(const View& view, const ViewChange& change);
  void expect_merge(const View& view);
  void tell_split(const View& view);
  void tell_yielding(const View& view);
  void leave_branch();
  void forget_snapshots();
  void drop_foreign_state();
  bool keep_published(const StateSnapshot& snapshot);
  bool take_fetched_snapshot();
  bool must_offer() const;
  bool wants_snapshot() const;
  void settle_branches();
  std::optional<Turn> merge_turn();
  void on_merged();
  std::vector<PeerId> merge_sources() const;
  bool from_merge_source(const PeerId& peer) const;

  std::optional<Result<Turn>> decide();
  std::optional<Turn> load_turn();
  std::optional<Turn> apply_turn();
  bool may_start() const;
  Turn make_turn(TurnKind kind, Round round) const;

  // The end of the run (swarm_end.cpp).
  bool at_end() const;
  bool end_is_committed() const;
  bool end_is_coming() const;
  void reach_end();
  void tell_finished(const PeerId& peer);
  void on_finished(const PeerId& from);
  bool others_finished() const;
  bool is_needed() const;
  bool holds_on();
  std::optional<Turn> ending_turn();
  void miss_end(std::string text);

  bool is_member() const { return view().contains(options_.membership.self) && !removed_; }
  Turn snapshot_turn(Round round);
  void keep_result(ResultLog::Entry result);
  void fail(Status why);
  SwarmEvent& event(SwarmEventKind kind, std::string text);
  TimePoint now() const { return clock_.now(); }

  const SwarmCoreOptions options_;
  Transport& transport_;
  const Clock& clock_;
  Rng rng_;
  ResultLog log_;
  StateServer server_;
  StateFetch fetch_;
  RoundCore rounds_;
  GroupCore group_;
  LinkRates link_rates_;
  StateComparison comparison_;
  Membership membership_;

  // The training side.
  bool founder_ = false;
  bool has_state_ = false;
  Round trainer_round_;
  Hash128 state_hash_{};
  bool requested_ = false;
  TurnKind given_ = TurnKind::kWait;
  std::optional<StateFetch::Snapshot> snapshot_;
  std::shared_ptr<FloatBuffer> apply_;
  std::optional<Round> published_;
  // That one is being made.
  bool publishing_ = false;
  // The training side has lent its state.
  bool lent_ = false;
  std::optional<RoundOutcome> outcome_;
  std::int64_t open_elements_ = 0;
  LateRound late_;
  Status failure_;

  // The first round comes after this one.
  Round start_round_;

  // After all have died: see swarm_gathering.cpp.
  struct HeldState {
    HeldClaim claim;
    HeldStateMessage message;
  };
  bool gathering_ = false;
  int start_members_ = 1;
  Round held_round_;
  std::map<PeerId, HeldState> held_states_;
  // The run of the founder's state, counted from the first, and the runs that led to it.
  std::uint32_t own_generation_ = 0;
  std::vector<PastRun> own_history_;
  HeldStateMessage taken_;
  TimePoint gathering_told_at_ = TimePoint::max();
  std::optional<PeerId> adopting_;
  std::uint64_t adopted_bytes_ = 0;
  TimePoint adopt_until_;
  std::optional<PeerId> adopted_from_;
  Hash256 adopted_root_{};

  // Branches: the history of the training side's state, the samples beside the rounds that the view
  // says, and the merges that it says and the training side has yet to do.
  struct Merging {
    Round round;
    MergeDirective directive;
    std::vector<AbsorbedBranch> absorbed;
    SharedBytes state;
  };
  MergeStates merge_states_;
  StateHistory history_;
  StateHistory fetched_history_;
  std::uint64_t samples_added_ = 0;
  std::deque<Merging> merging_;
  bool in_view_ = false;
  // The snapshot after `published_`, and the view for whose sake it was offered to another branch.
  std::optional<Hash256> published_root_;
  std::optional<ViewId> offered_in_;
  // The view yields, and the others were told so.
  bool yielding_ = false;
  // Why this peer's state is none of its view's.
  std::string foreign_;

  // Joining, lagging, leaving.
  Fetching fetching_ = Fetching::kNothing;
  TimePoint fetch_retry_at_;
  // A snapshot that is of another branch is not asked for again before.
  TimePoint refetch_at_;
  TimePoint results_since_;
  std::uint64_t fetched_bytes_ = 0;
  View sync_view_;
  std::vector<PeerId> sources_;
  std::optional<Round> admission_asked_;
  bool removed_ = false;
  bool rejoin_ = false;
  int rejoins_ = 0;
  bool left_ = false;
  TimePoint started_;
  TimePoint sync_started_;
  std::set<PeerId> joiners_;
  std::set<PeerId> finished_;
  // Members of this view whose state differs.
  std::set<PeerId> mismatched_;
  TimePoint finished_at_ = TimePoint::max();
  bool told_lingering_ = false;
  bool leaving_ = false;

  // What may not be called from inside the membership's own calls.
  std::vector<std::pair<PeerId, std::string>> suspects_;
  // As those, of members that say themselves that they compute.
  std::vector<std::pair<PeerId, std::string>> overdue_;
  SwarmWaits waits_;
  // How often this member was removed while the others waited for its part.
  int halvings_ = 0;
  std::vector<std::pair<PeerId, Status>> closing_;

  std::vector<SwarmEvent> events_;
  // Links of which no event has told, since the peer is no member or joiner yet.
  std::map<PeerId, LinkInfo> untold_links_;
  // Refused connections since the second that began then.
  TimePoint refusals_since_;
  std::uint64_t refusals_ = 0;
  TimePoint frozen_at_ = TimePoint::max();
  std::uint64_t view_changes_ = 0;
  std::uint64_t rounds_rerun_ = 0;
  double seconds_lost_ = 0;
};

}  // namespace weft
