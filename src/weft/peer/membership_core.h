// Membership::Core: the state of one peer's membership, split over its sources by concern.
//
//   membership.cpp         commands, events, which message goes where
//   membership_watch.cpp   links, heartbeats, suspicions: who is to go
//   membership_change.cpp  ballots, installation of views, isolation, leaving
//   membership_evidence.cpp  whose word of a later view is believed, and who has the run's key
//   membership_join.cpp    the joiner's side and the side that lets it in
//   membership_trust.cpp   what each link may do, and how little a stranger's
//   membership_proposal.cpp  which proposals get no vote
//   membership_conduct.cpp misconduct, accusations, revoked invitations
//   membership_branch.cpp  going on without a quorum
//   membership_meeting.cpp becoming one again with other branches
//   fingerprint.cpp        what tells two states apart
//
// Every entry point sets `now` first and ends in settle(), which does nothing unless `stirred`. All
// sets are ordered, so that the same events give the same actions. Threads: as Membership.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/peer/conduct.h"
#include "weft/peer/lineage.h"
#include "weft/peer/membership.h"
#include "weft/peer/membership_parts.h"
#include "weft/peer/revocations.h"
#include "weft/wire/end_message.h"
#include "weft/wire/frame_type.h"

namespace weft {

struct Membership::Core {
  Core(MembershipOptions given, MembershipSink& outlet, Rng random);

  // --- membership.cpp
  bool active() const {
    return state == MembershipState::kMember || state == MembershipState::kChanging ||
           state == MembershipState::kIsolated;
  }
  PeerRole role(const PeerId& peer) const;
  void found();
  Status dispatch(const PeerId& from, const FrameView& frame);
  Status dispatch_agreement(const PeerId& from, const FrameView& frame);
  Status dispatch_joining(const PeerId& from, const FrameView& frame);
  template <class Message>
  void send(const PeerId& to, std::uint8_t type, const Message& message) {
    if (!may_answer(to)) return;
    sink.send(to, Frame{type, message.encode(), {}});
  }
  // Whether a message about `theirs` is about the current view and from one of its members;
  // otherwise tells whoever is behind.
  bool is_current(const PeerId& from, const ViewId& theirs);
  bool may_tell_outsider(const PeerId& peer);
  void tell_current(const PeerId& to);
  void on_timer();
  void settle();
  TimePoint next_deadline() const;
  // Of a peer in a view that may be large.
  bool is_other_member(const PeerId& peer) const { return watched.count(peer) != 0; }

  // --- membership_watch.cpp
  void on_link_up(const LinkInfo& link);
  void on_link_down(const PeerId& peer, const Status& why);
  void heard(const PeerId& from);
  void beat();
  void send_heartbeat(const PeerId& to);
  void watch_members();
  void watch_links();
  void set_suspicion(const PeerId& peer, SuspicionKind kind, const std::string& reason);
  void withdraw_suspicion(const PeerId& peer);
  void tell_suspicions();
  void tell_suspicion(const PeerId& suspect, int listeners, bool withdrawn);
  void on_heartbeat(const PeerId& from, const HeartbeatMessage& message);
  void on_suspicion(const PeerId& from, const SuspicionMessage& message);
  void on_outside(const PeerId& from, const OutsideMessage& message);
  void on_leaving(const PeerId& from, const LeavingMessage& message);
  void mark_restarted(const PeerId& peer, std::uint64_t incarnation);
  int reporters(const Watched& member) const;
  bool owes_only(const Watched& member) const;
  bool watches_alone() const;
  std::vector<Departure> departures() const;
  void add_bad_links(std::vector<Departure>& out) const;
  int reachable() const;
  bool all_linked() const { return unlinked == 0; }
  void count_unlinked();
  void set_linked(Watched& member, bool linked);
  bool flapping(const Watched& member) const;
  bool is_calm() const;
  void choose_observers();

  // --- membership_change.cpp
  bool may_go_alone() const;
  bool wants_change() const;
  int position(const PeerId& tried = {}) const;
  bool more_to_come() const;
  void schedule_proposal();
  void propose_when_due();
  void start_ballot();
  ViewValue fresh_value(Round base) const;
  void freeze();
  void on_prepare(const PeerId& from, const PrepareMessage& message);
  void on_promise(const PeerId& from, const PromiseMessage& message);
  void on_accept(const PeerId& from, const AcceptMessage& message);
  void on_accepted(const PeerId& from, const AcceptedMessage& message);
  void on_rejected(const PeerId& from, const RejectedMessage& message);
  void on_notice(const PeerId& from, const ViewNoticeMessage& message);
  void on_removed(const PeerId& from, const RemovedMessage& message);
  void decide(const ViewValue& value);
  void install(const ViewNoticeMessage& next);
  ViewChange change_to(const ViewNoticeMessage& next) const;
  void remember_departures(const ViewChange& change);
  void rebuild_watch(const View& previous, const std::set<PeerId>& returned);
  std::set<PeerId> returned_members() const;
  void be_removed(const std::string& reason);
  void check_quorum();
  void isolate();
  std::string isolation_text(const IsolatedReport& report) const;
  void leave();
  void tell_leaving();
  void finish_leave();
  bool all_others_gone() const;

  // --- membership_join.cpp
  RunFacts facts() const;
  void join(const Ticket& ticket);
  void ask_next();
  void ask_others();
  void ask(const PeerAddress& member);
  void send_request();
  void join_timer();
  void fail_join(const Status& why);
  bool reaches_all() const;
  std::vector<Member> unreached() const;
  std::string unreached_text(const std::vector<Member>& members) const;
  void watch_reach();
  void dial_known();
  void admit_again();
  void know_view(const ViewNoticeMessage& notice);
  bool has_sponsor(const PeerId& peer) const {
    return state == MembershipState::kSyncing && attempt && attempt->sponsor == peer;
  }
  void ask_sponsor_again();
  void on_accepted_join(const PeerId& from, const JoinAcceptedMessage& message);
  void on_refused_join(const PeerId& from, const JoinRefusedMessage& message);
  void on_recipe_request(const PeerId& from, const RecipeRequestMessage& message);
  void on_join_request(const PeerId& from, const JoinRequestMessage& message);
  void on_admit_request(const PeerId& from, const AdmitRequestMessage& message);
  void on_joiner(const PeerId& from, const JoinerMessage& message);
  std::optional<JoinRefusedMessage> refuse_now(const JoinRequestMessage& request);
  void refuse(const PeerId& peer, const JoinRefusedMessage& why);
  void tell_joiner(const Joiner& joiner, bool present);
  void retell_joiners();
  void send_joiners_away();
  void drop_joiner(const PeerId& peer, const Status& why);
  void joiners_timer();
  std::vector<Member> newcomers() const;
  bool has_ready_joiner() const;

  std::optional<JoinRefusedMessage> queue_up(const PeerId& peer);
  bool others_wait() const;
  void note_progress(const PeerId& peer, std::uint64_t progress);
  void take_turns();
  void wait_on(const std::string& text);

  // --- membership_record.cpp
  VoterRecord record() const;
  bool keep_record(bool durable);
  void begin_record();
  void become_past();
  void say_outside(const PeerId& to);
  std::optional<SuccessorRun> successor_for(const PeerId& from, const JoinProof& proof);
  bool is_past_matter(const PeerId& from, const ViewId& asked) const;
  void vote_as_past(const PeerId& from, const PrepareMessage& message);
  void vote_as_past(const PeerId& from, const AcceptMessage& message);
  void follow_as_past(const PeerId& from, const ViewNoticeMessage& message);
  void past_beat();
  void greet_restarted();

  // --- membership_end.cpp
  void run_over(Round round, TimePoint serves_until);
  void stop_serving();
  void tell_over(const PeerId& peer);
  void expect(const PeerId& peer, const InvitationId& invitation);
  void meet_expected(const PeerId& peer, const InvitationId* invitation);
  bool awaits_newcomers() const;
  // Answers a joiner's request where the run is over: true if there is nothing more to say.
  bool answer_over(const PeerId& from);
  void on_run_over(const PeerId& from, const RunOverMessage& message);
  void note_dial(const PeerId& peer, const Status& why);
  void watch_end();
  bool still_served() const;
  void give_up_run(const std::optional<Round>& ended_with);

  // --- membership_trust.cpp
  bool may_speak(const PeerId& from, const FrameView& frame);
  bool may_answer(const PeerId& to);
  // Whether the ticket or the view that this peer would join names it.
  bool is_candidate(const PeerId& peer) const;
  LinkTrust trust_of(const PeerId& peer) const;
  bool keeps_link(const PeerId& peer) const;
  void tell_trust(const PeerId& peer);
  void tell_trusts();
  void accept_ticket(const PeerId& peer);
  void turn_away(const PeerId& peer, const Status& why);
  void turn_away_expired();

  // --- membership_conduct.cpp
  // What a member says that is about to be put out, as far as it is about others.
  bool ignores(const PeerId& from, std::uint8_t type) const;
  bool shuns(const PeerId& stranger) const;
  void blame(const PeerId& peer, Offence offence, const std::string& evidence);
  void report(const PeerId& peer, const PeerId& by, Offence offence, const std::string& evidence,
              bool accusation);
  void consider(const PeerId& peer);
  void accuse(const PeerId& peer, Offence offence, const std::string& evidence);
  void judge(const PeerId& peer);
  void retell_accusations();
  Result<std::string> expel(const PeerId& peer, const std::string& reason);
  Status revoke(const InvitationId& invitation);
  void void_invitation(const InvitationId& invitation, const PeerId& by);
  void tell_revocations(const PeerId& to);
  void on_accusation(const PeerId& from, const AccusationMessage& message);
  void on_revocation(const PeerId& from, const RevocationMessage& message);
  // After a view was installed.
  void take_verdicts(const ViewNoticeMessage& next, const ViewChange& change);
  void shut_out(const PeerId& peer, const std::string& reason);
  void apply_spared_bans(const ViewChange& change);
  void accuse_banned();
  void tell_bans(const PeerId& to);

  // --- membership_proposal.cpp
  std::optional<Refusal> refusal(const PeerId& by, const ViewValue& value) const;
  std::optional<Refusal> refuse_expulsions(const PeerId& by, const ViewValue& value) const;
  bool may_be_convicted(const PeerId& peer, const PeerId& by) const;
  bool is_convicted(const PeerId& peer) const;
  bool admits_banned(const ViewValue& value) const;
  // Whether this member, or the voter that it was, gives `from` no vote for what it proposes.
  bool refuses(const PeerId& from, const AcceptMessage& message);
  bool refuses_as_past(const ViewValue& value);
  // Whether a promise tells of what no correct member can have accepted or be done with.
  bool is_incredible(const PromiseMessage& message) const;
  // Whether the view that follows is believed of one member's word.
  bool believes_next(const PeerId& from, const ViewNoticeMessage& message) const;
  Round committed_here() const { return std::max(view.base_round, sink.committed_round()); }

  // --- membership_evidence.cpp
  bool has_accepted(const PeerId& peer) const;
  bool has_met(const PeerId& peer) const;
  bool is_accepted_value(const ViewNoticeMessage& message) const;
  bool may_tell_newcomer(const PeerId& from) const;
  bool concerns_us(const ViewNoticeMessage& message, bool included) const;
  bool includes_us(const ViewNoticeMessage& message) const;
  void take_notice(const ViewNoticeMessage& message);
  void claim_view(const PeerId& from, ViewClaim claim);
  void weigh_claims();
  // REQUIRES: it is the only one.
  bool claims_refused(const ViewClaim& claim) const;
  void hear_of_view(const PeerId& from);
  void ask_members();
  void follow_hint();
  bool has_key() const { return options.invitation_key != Hash256{}; }
  bool lacks_key(const PeerId& asker);
  RunKey run_key() const { return {revocations.renewals(), options.invitation_key}; }
  void learn_key(const RunKey& key);
  ViewNoticeMessage notice_for(const PeerId& to) const;
  void show_key(const PeerId& to);
  void on_member_proof(const PeerId& from, const MemberProofMessage& message);
  void forget_former_members();
  void on_twin(const PeerId& peer, const std::string& where);
  bool may_tell_twin(const PeerId& peer);
  void hear_of_own_twin(const PeerId& from, const std::string& reason);

  // --- membership_branch.cpp
  bool merges() const { return options.on_split == SplitPolicy::kMerge; }
  bool of_other_branch(const ViewId& theirs) const;
  bool may_branch() const;
  bool holds_base() const;
  void branch_when_due();
  void propose_branch();
  void found_branch();
  void on_branch(const PeerId& from, const BranchMessage& message);
  void miss(const PeerId& peer);
  bool fits_branch(const PeerId& from, const BranchMessage& message) const;
  void answer_branch(const PeerId& from, const BranchMessage& message);
  void remember_former(const Member& member);
  void follow_departures(const ViewChange& change);
  void follow_branch(const ViewChange& change);
  void dial_former();
  void tell_former();
  void tell_former(const PeerId& to);
  // --- membership_meeting.cpp
  StandingMessage standing() const;
  BranchTotal total() const;
  void tell_standing(const PeerId& to);
  void tell_standings();
  void on_standing(const PeerId& from, const StandingMessage& message);
  void meet(const PeerId& from, const StandingMessage& message);
  bool in_meeting(const PeerId& peer) const;
  void be_absorbed(const StandingMessage& by);
  bool yields_to_us(const Meeting& other) const;
  bool absorbs_us(const Hash256& branch, const Meeting& other) const;
  std::optional<Hash256> absorber() const;
  const Meeting* mergeable() const;
  bool resumes() const;
  bool wants_merge() const;
  void add_merge(ViewValue& value) const;
  void branch_beat();
  void offer_state(const Hash256& snapshot);
  void merge_ready(const Hash256& snapshot);
  void tell_have();

  MembershipOptions options;
  MembershipSink& sink;
  Rng rng;
  TimePoint now{};

  MembershipState state = MembershipState::kOutside;
  View view;
  // How `view` came about, for whoever is behind.
  ViewNoticeMessage notice;
  std::map<PeerId, LinkInfo> links;
  std::map<PeerId, Watched> watched;
  // How many of them have no link.
  int unlinked = 0;
  std::map<PeerId, Joiner> joiners;
  // The latest first.
  std::vector<ExpectedJoiner> expected;
  std::optional<EndedRun> ended;
  // The latest reason for which each former member went.
  std::map<PeerId, Departure> departed;
  // What members of this view say of later ones, not believed yet; and the latest such word of
  // somebody else with the run's key.
  std::map<PeerId, ViewClaim> claims;
  std::optional<ViewHint> hint;
  // Not before this the members are asked again whether there is a later view.
  TimePoint ask_members_at{};
  // Over its present link: who has shown the run's key here, and to whom it was shown.
  std::set<PeerId> key_shown;
  std::set<PeerId> key_told;
  // When each peer was last said to have two processes.
  std::map<PeerId, TimePoint> twins_told;
  // When linked peers that are neither members nor joiners were last told so.
  std::map<PeerId, TimePoint> outsiders_told;
  Strangers strangers;
  // What the sink was told of each link.
  std::map<PeerId, LinkTrust> trusts;
  // Whose links are being closed.
  std::set<PeerId> turned_away;
  std::optional<JoinAttempt> attempt;
  Conduct conduct;
  Accusations accusations;
  Revocations revocations;
  std::map<PeerId, SparedBan> spared;
  // Those that were out already when this peer made its last promise.
  std::set<PeerId> banned_at_promise;
  // How many bans each linked member was told of.
  std::map<PeerId, std::size_t> bans_told;
  // When to tell this member's accusations again, and after how long once more.
  TimePoint retell_at = kNever;
  Duration retell_gap{};

  std::map<PeerId, Waiting> waiting;
  // When another member last said that newcomers wait there.
  std::optional<TimePoint> others_waited_at;
  bool gathering = false;

  // What is kept, and from when on (membership_record.cpp).
  std::optional<PastLife> past;
  std::uint32_t generation = 0;
  std::vector<EarlierRun> earlier;
  RunId view_run{};
  std::uint64_t last_view = 0;
  std::vector<PeerId> last_members;
  bool record_begun = false;
  bool record_ended = false;
  Bytes kept_record;
  bool record_durable = false;

  // Something happened from which settle() may draw consequences.
  bool stirred = false;
  // Nobody is missing, suspected or on the way in: time alone changes nothing.
  bool calm = false;
  std::uint64_t beats = 0;
  TimePoint beat_at = kNever;
  std::vector<PeerId> observers_of_self;
  std::vector<PeerId> observed;

  std::optional<Agreement> agreement;
  bool frozen = false;
  TimePoint frozen_since{};
  // The first sign that the view must change.
  std::optional<TimePoint> trouble_since;
  // The evidence here may be known to no one else, so this peer proposes without waiting its turn.
  bool own_news = false;
  // The view must change even if nobody comes or goes: it was isolated, or the ring is reordered.
  bool must_change = false;
  TimePoint propose_at = kNever;
  int ballots = 0;
  std::optional<TimePoint> unreachable_since;

  bool leaving = false;
  TimePoint leave_ends = kNever;

  // This branch, and its views that were installed here, the latest 256.
  Hash256 own_branch{};
  std::set<ViewId> own_views;
  std::optional<TimePoint> isolated_since;
  // This peer has agreed to a branch, so it votes in the present view no more.
  bool retired = false;
  // To whom it agreed last, and until when it waits for the outcome.
  std::optional<PeerId> agreed_with;
  TimePoint agreed_until{};
  std::uint64_t branch_attempts = 0;
  std::optional<BranchAttempt> branching;
  TimePoint branch_again_at{};
  // How often each refused this peer's last attempts, or did not answer.
  std::map<PeerId, int> misses;
  // Where the members of the present view are to be found.
  std::map<PeerId, Member> addresses;
  // Members of earlier views that did not leave by their own wish: dialled for ever.
  std::map<PeerId, Member> former;
  std::optional<PeerId> former_dialled;
  TimePoint dial_former_at{};
  // By branch.
  std::map<Hash256, Meeting> meetings;
  std::optional<Hash256> offered_snapshot;
  std::optional<Hash256> yielding_to;
  TimePoint yielding_since{};
  // After a yield in vain.
  TimePoint yield_again_at{};
  // The members of the branch that absorbed this peer's, for its ticket.
  std::vector<PeerAddress> refuge;
};

}  // namespace weft
