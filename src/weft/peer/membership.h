// Membership: agreement among equals on which peers take part, without any distinguished member.
//
// Members watch each other (failure_detector.h), agree on each next view by single-decree Paxos
// among the members of the current one (agreement.h), and accept ticket holders (admission.h). The
// whole is sans-I/O: frames, link events and timers go in with the time, calls on a MembershipSink
// come out. The same code runs on real transports and in the simulator.
//
//   Outside -> Joining -> Syncing -> Member <-> Changing -> Left | Removed
//                                        \-> Isolated -> Member
//
// With SplitPolicy::kMerge an isolated side goes on as a branch of the run after a while (see
// branch/branching.cpp and lineage.h). When branches meet, the smaller one yields and offers its
// state, the larger one averages it into its own, and the smaller one's members join as newcomers:
// to them that is on_removed(), and ticket() names the members of the larger one.
//
// Bounds. A peer whose connection breaks is suspected after one failed reconnection attempt, at
// most `reconnect_timeout` later; one that falls silent after its adaptive timeout, at most
// `suspicion_timeout` (+ one heartbeat interval). The view changes two round trips of the quorum's
// later, or, if the proposer dies too, `takeover_timeout` (+ jitter) after that for each proposer
// lost. Without a quorum the state is kIsolated after `quorum_timeout`. A newcomer that cannot
// reach every member reports so after `bad_link_timeout`, and stops trying after
// `unreached_timeout`. Nothing waits without a deadline.
//
// Round commit and view change agree by one rule. RoundStatus.done of the sink is the highest round
// whose complete result it holds. The new view's base is max(base, min done over the promises of
// the deciding quorum). A round may be committed only when all members, this one included, have
// sent Done for it, and after on_freeze() no member sends Done for the old view: therefore every
// round that anyone committed is at or below the base, and every member of the quorum holds its
// result. A member that is done after the freeze has not sent `Done` and may not commit by the
// others' messages; and a result that was held in one view counts in the next one only, since after
// missed views the round may have been run again.
//
// A restarted member. Its process has lost its rounds, so it takes no part in a view that it was in
// before: it asks to be admitted again, with a higher incarnation. Its record holds what it had
// promised and accepted, so until a view admits it, it acts as the voter that it was, and as
// nothing else; the others remove its old incarnation (DepartureCause::kRestarted) and count its
// vote meanwhile. Thus members that wait for a quorum go on as soon as enough are back, even if all
// of their processes were restarted. agreement.h says why this is sound.
//
// Threads: none of its own; one owner. The sink's methods must not call back into methods that
// are not const.
// Fails: hostile or faulty frames end the sender's link (MembershipSink::close) with kCorrupt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/owner_thread.h"
#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/net/transport.h"
#include "weft/peer/admission.h"
#include "weft/peer/membership_defaults.h"
#include "weft/peer/ticket.h"
#include "weft/peer/view.h"
#include "weft/peer/voter_record.h"

namespace weft {

// What members that are cut off from a quorum do (group.on_split).
enum class SplitPolicy : std::uint8_t {
  kPause,  // wait
  kMerge,  // go on as a branch of the run, and become one again with the others on meeting them
};

enum class MembershipState : std::uint8_t {
  kOutside,   // nothing begun
  kJoining,   // asking members in turn
  kSyncing,   // accepted; taking the state from members
  kMember,    // has a view and may act in it
  kChanging,  // frozen: the members are agreeing on the next view
  kIsolated,  // no quorum within quorum_timeout; keeps trying
  kLeft,      // left politely
  kRemoved,   // the others agreed on a view without this peer
};
std::string_view to_string(MembershipState state);

// What a peer is to this one; frames of the collective are for members and joiners only.
enum class PeerRole : std::uint8_t { kStranger, kJoiner, kMember };

struct MembershipOptions {
  PeerId self;
  // Higher than in any earlier life of this identity: the driver gives the time of its start.
  std::uint64_t incarnation = 1;
  // Where others can reach this peer.
  std::vector<std::string> endpoints;
  RunId run{};
  Hash256 layout_hash{};
  Hash256 recipe_hash{};
  // See Member::halvings.
  std::uint8_t share_halvings = 0;
  // Given to ticket holders; at most kRecipeBytesMax.
  std::string recipe_text;
  // Founder: 32 random bytes. Joiners get it with the view that admits them; zeros until then.
  Hash256 invitation_key{};
  // Which peers this run accepts. The recipe sets it, so it is the same at all members.
  InviteMode invite = InviteMode::kTicket;
  std::set<PeerId> allowed;
  // Where the founder resumes: the rounds up to it are part of its state.
  Round founded_at;
  // The record of an earlier process of this peer; a founder has one only where it resumes a run.
  // This process's incarnation is raised above the one in it.
  std::optional<VoterRecord> past;

  Duration heartbeat_interval = membership_defaults::kHeartbeatInterval;
  // The adaptive timeout stays within [4 * heartbeat_interval, suspicion_timeout].
  Duration suspicion_timeout = membership_defaults::kSuspicionTimeout;
  Duration reconnect_timeout = std::chrono::milliseconds(500);
  // Between attempts to reach a member without a link, after the first.
  Duration redial_interval = std::chrono::seconds(1);
  // An agreement that has not ended by then is taken over by another proposer.
  Duration takeover_timeout = std::chrono::milliseconds(400);
  Duration quorum_timeout = membership_defaults::kQuorumTimeout;
  // Two members whose link stays broken while all others reach both: after this the one of higher
  // rank is removed, because a collective cannot go on without the link.
  Duration bad_link_timeout = std::chrono::seconds(10);
  Duration join_timeout = std::chrono::seconds(30);
  // A newcomer stops trying after this if no process listens at the members' addresses.
  Duration deserted_timeout = std::chrono::seconds(5);
  // A newcomer that has the state and still lacks a link with a member gives up after this.
  Duration unreached_timeout = membership_defaults::kUnreachedTimeout;
  // For each address of a ticket.
  Duration join_attempt_timeout = std::chrono::seconds(3);
  Duration leave_timeout = std::chrono::seconds(5);
  // Peers that have only a link.
  StrangerLimits strangers;
  int joins_at_once = membership_defaults::kJoinsAtOnce;
  // While others wait for their turn, a newcomer that makes no progress for this long loses its
  // own, and so does one that has had it for `join_turn`. The newcomer keeps what it has of the
  // state.
  Duration join_stall_timeout = membership_defaults::kJoinStallTimeout;
  Duration join_turn = std::chrono::minutes(3);
  // How many others watch each member.
  int observers = 3;
  SplitPolicy on_split = SplitPolicy::kPause;
  // Members that are isolated for this long found a branch.
  Duration split_after = membership_defaults::kSplitAfter;
  // A branch that has yielded goes on alone if it is not absorbed by then.
  Duration merge_timeout = membership_defaults::kMergeTimeout;
  // Former members are dialled one after the other, one in each such interval, for ever.
  Duration former_redial_interval = std::chrono::seconds(1);
  // Either of two members may go on alone. Unsafe where the two can lose each other and both live.
  bool lone_survivor = false;
};

struct IsolatedReport {
  View view;
  // Members that cannot be reached.
  std::vector<Member> missing;
  // How many more are needed for a quorum.
  int needed = 0;
  // For people: which members are missing, what is kept, what to do.
  std::string text;
};

// An offence of a peer that `by` observed, or an accusation by `by`, which is a vote to expel the
// peer.
struct Misconduct {
  PeerId peer;
  PeerId by;
  Offence offence = Offence::kMalformed;
  std::string evidence;
  bool accusation = false;
  // This peer's own score of it (conduct.h).
  double score = 0;
};

// Another branch has stopped and offers its state.
struct MergeOffer {
  Hash256 branch{};
  // Its last view; any of its members has the snapshot of the state after its base round.
  View view;
  Hash256 snapshot{};
};

// What a membership needs done; the driver implements it. REQUIRES: see the header's "Threads".
class MembershipSink {
 public:
  virtual ~MembershipSink() = default;
  // Transport. send() on the control lane; without a link the frame is lost.
  virtual void send(const PeerId& to, Frame frame) = 0;
  virtual void connect(const PeerAddress& peer) = 0;
  virtual void close(const PeerId& peer, const Status& why) = 0;
  // How far the peer of a link is trusted from now on; for Transport::set_trust().
  virtual void set_trust(const PeerId& /*peer*/, LinkTrust /*trust*/) {}
  // Seconds since 1970, for the expiry of tickets.
  virtual std::int64_t unix_time_s() const = 0;
  // 32 random bytes.
  virtual Hash256 fresh_secret() {
    Hash256 secret{};
    random_bytes(secret);
    return secret;
  }

  // Puts `record` (VoterRecord::encode) in place of the one before. With `durable` it must outlast
  // the machine's power before this returns. False: the old one is still there, or may be; then
  // nothing that it lacks may be sent. True if nothing is kept at all.
  virtual bool keep_record(ByteSpan /*record*/, bool /*durable*/) { return true; }
  virtual bool keeps_records() const { return false; }

  // The members of a view that this peer proposes, in the order of the ring.
  virtual std::vector<Member> arrange(std::vector<Member> members) const { return members; }
  // What is known about the links between `members`, which are in that order.
  virtual LinkSummary links_of(const std::vector<Member>& /*members*/) const { return {}; }
  // Whether newcomers alone are reason enough to propose a view now; if not, Membership::admit() is
  // called once they are.
  virtual bool may_admit() const { return true; }
  // Asked when a promise is made, after on_freeze().
  virtual RoundStatus round_status() const = 0;
  // The highest round that is committed here: all members were done with it. At most done, and at
  // most one less than what any other member may be done with.
  virtual Round committed_round() const = 0;
  // A view change began: from now until on_view() no Done may be sent for the current view.
  virtual void on_freeze() = 0;
  virtual void on_view(const View& view, const ViewChange& change) = 0;
  virtual void on_isolated(const IsolatedReport& report) = 0;
  // Before the on_view() that ends the isolation.
  virtual void on_quorum_back() = 0;
  // The others agreed on a view without this peer: it may join again, with its own ticket().
  virtual void on_removed(const Status& why) = 0;
  virtual void on_left() = 0;

  // Member: `joiner` proved a ticket, here or at another member, and may ask for the state.
  virtual void on_joiner(const Member& joiner) = 0;
  virtual void on_joiner_gone(const PeerId& joiner, const Status& why) = 0;
  // Member: a stranger was refused; the reason has been sent to it as well.
  virtual void on_refused(const PeerId& peer, const Status& why) = 0;
  // For the log: the evidence of what peers did, and what follows for tickets.
  virtual void on_misconduct(const Misconduct& /*report*/) {}
  virtual void on_revoked(const InvitationId& /*invitation*/, const PeerId& /*by*/) {}
  // Two processes use `peer`'s identity, which may be this peer's own.
  virtual void on_second_process(const PeerId& /*peer*/, const std::string& /*text*/) {}
  // Joiner: `sponsor` let us in; take the state from it or from any member of `view`. Comes again,
  // with another sponsor, if the first one is lost.
  virtual void on_join_accepted(const View& view, const PeerId& sponsor) = 0;
  // Joiner: the members' view moved on while we sync.
  virtual void on_view_ahead(const View& view) = 0;
  // Joiner: no link with `members` since it was accepted, for bad_link_timeout; `text` has the
  // reason for people, and what to do. The joiner goes on trying until unreached_timeout.
  virtual void on_unreached(const std::vector<Member>& /*members*/, const std::string& /*text*/) {}
  // Joiner: it is not its turn yet, or the members wait themselves. Called now and then, with a
  // text for people.
  virtual void on_join_waiting(const std::string& /*text*/) {}
  // Joiner: a number that grows whenever it has come further in taking the state.
  virtual std::uint64_t sync_progress() const { return 0; }
  // Joiner: given up.
  virtual void on_join_failed(const Status& why) = 0;
  // Joiner: a member reports that the run has ended with `round`. The joiner may take the state as
  // long as any member serves it; it is not admitted any more.
  virtual void on_run_over(Round /*round*/) {}
  // The joiner stops: the run has ended with that round, and no member serves its state any more.
  // Without a round: no process listens at its members' addresses.
  virtual void on_run_gone(const std::optional<Round>& /*ended_with*/) {}

  // With SplitPolicy::kMerge only.
  // The samples that the state after `round` has learned from, over all of its history, those of
  // absorbed branches included. Asked for the last applied round and the one after it, if done.
  virtual std::uint64_t samples_after(Round round) const { return round.value(); }
  // Dial the members of offer.view, fetch offer.snapshot, then call merge_ready(). While that goes
  // on they are PeerRole::kJoiner here, as this side's members are there. A view with `merge` may
  // come before: then fetch it before the first round.
  virtual void on_merge_offer(const MergeOffer& /*offer*/) {}
};

// What is known of one member, for the status block.
struct MemberHealth {
  PeerId id;
  bool linked = false;
  bool suspected = false;
  Duration silent_for{};
};

class Membership {
 public:
  // Borrows `sink`, which must outlive this. `rng` draws the jitter only.
  Membership(MembershipOptions options, MembershipSink& sink, Rng rng);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // --- Commands. One of the first two, once; join() again after kRemoved or a failed join.
  // Makes the view of one member.
  void found(TimePoint now);
  // Asks the ticket's members in turn; ends in on_join_accepted or on_join_failed.
  void join(const Ticket& ticket, TimePoint now);
  // Joiner: everything up to `round` is applied here; ask for admission (again, if further).
  void caught_up(Round round, TimePoint now);
  // Called by the collective: `peer` has owed it something for too long.
  void suspect(const PeerId& peer, const std::string& reason, TimePoint now);
  // The same for a peer that reported within the last seconds that it still computes: it can vote
  // for its own removal.
  void overdue(const PeerId& peer, const std::string& reason, TimePoint now);
  // For the next join(); see Member::halvings.
  void set_share_halvings(std::uint8_t halvings);
  // Proposes a view even if no member joins or leaves, because MembershipSink::arrange() has a
  // better order. Does nothing while a change is under way, or in a view that yields.
  void reorder(TimePoint now);
  // While `on`, newcomers are accepted regardless of joins_at_once.
  void gather(bool on);
  // Which runs the present one goes on from, newest first, itself in front.
  void set_history(const std::vector<PastRun>& history, TimePoint now);
  // Between two rounds: newcomers that are ready come in now.
  void admit(TimePoint now);
  // Whether a newcomer asks to be admitted.
  bool newcomer_ready() const;
  // In a view that yields: the manifest of the state after its base round, once it can be fetched.
  void offer_state(const Hash256& snapshot, TimePoint now);
  // The snapshot of on_merge_offer() has arrived.
  void merge_ready(const Hash256& snapshot, TimePoint now);
  // This peer's state is not one that a member of the view can have: the peer leaves the view as if
  // the others had gone on without it. Ends in on_removed().
  void drop_out(const std::string& reason, TimePoint now);
  // Ends in on_left(), at the latest after leave_timeout.
  void leave(TimePoint now);
  // Member: `round` is the run's last, and applied here. From now on newcomers are informed of
  // this; until `serves_until` they are accepted to take the state, but never admitted. No view is
  // proposed.
  void run_over(Round round, TimePoint serves_until, TimePoint now);
  // From now on this member does not serve the state any more; newcomers that still lack it are
  // informed.
  void stop_serving(TimePoint now);
  // Makes an invitation (or kAllInvitations) void at all members, permanently. Peers that joined by
  // it stay; members that are away at that time need a new one.
  Status revoke(const InvitationId& invitation, TimePoint now);
  // Votes to expel `peer`; it is expelled for good once more than half of the others have voted.
  // Returns a text about what is still needed.
  Result<std::string> expel(const PeerId& peer, const std::string& reason, TimePoint now);
  // Called by the collective: no honest peer sends what `peer` sent over its authenticated link.
  void blame(const PeerId& peer, Offence offence, const std::string& evidence, TimePoint now);

  // --- Events.
  void on_link_up(const LinkInfo& link, TimePoint now);
  void on_link_down(const PeerId& peer, const Status& why, TimePoint now);
  // Another process, at `where`, wants a link as `peer`, whose own link lives: it was refused.
  void on_twin(const PeerId& peer, const std::string& where, TimePoint now);
  // Frames of the types 0x10 to 0x2f.
  void on_frame(const PeerId& from, const FrameView& frame, TimePoint now);
  // Whether a frame of any other type is to be processed; a stranger's is counted and dropped.
  bool admits_frame(const PeerId& from, const FrameView& frame, TimePoint now);
  // Any other frame of a member shows as well that it lives.
  void on_sign_of_life(const PeerId& from, TimePoint now);
  void on_timer(TimePoint now);
  // When on_timer() wants to be called next; TimePoint::max() for never.
  TimePoint next_deadline() const;

  // --- Queries.
  MembershipState state() const;
  // The last installed view; empty before the first.
  const View& view() const;
  bool frozen() const;
  PeerRole role(const PeerId& peer) const;
  // Whether a peer that is not a member yet has lately asked for the recipe or to join.
  bool awaits_newcomers(TimePoint now) const;
  std::vector<MemberHealth> health(TimePoint now) const;
  // An invitation by this member, valid from now on. REQUIRES: is or was a member or accepted.
  Ticket ticket(std::int64_t now_unix_s, Duration valid_for, const InvitationId& invitation) const;
  // Whether this member would still accept the holder: the ticket is neither expired nor revoked.
  bool stands(const Ticket& ticket, std::int64_t now_unix_s) const;

  // Joiner: its turn to take the state is still to come.
  bool queued() const;
  // The run is over and this peer has its last state: its record names no peer to wait for any
  // more, and its vote is over.
  void end_record();
  // The record as it would be stored now.
  VoterRecord record() const;

  // --- For exploring all orders of events (weft/sim/membership/explorer.h).
  // A copy of this membership with the same sink.
  std::unique_ptr<Membership> copy() const;
  // Equal for states that behave alike, clocks and jitter left out.
  Hash128 fingerprint() const;

  struct Core;
  const Core& core() const { return *core_; }

 private:
  explicit Membership(std::unique_ptr<Core> core);

  OnOwnerThread<Core> core_;
};

// True for the frame types that on_frame() takes.
bool is_membership_frame(std::uint8_t type);

}  // namespace weft
