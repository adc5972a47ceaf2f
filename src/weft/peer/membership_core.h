// Membership::Core: the state of one peer's membership, split over its sources by concern.
//
//   membership.cpp         commands, events, which message goes where
//   membership_watch.cpp   links, heartbeats, suspicions: who is to go
//   membership_change.cpp  ballots, installation of views, isolation, leaving
//   membership_join.cpp    the joiner's side and the side that lets it in
//   membership_conduct.cpp misconduct, accusations, revoked invitations
//   membership_branch.cpp  going on without a quorum
//   membership_meeting.cpp becoming one again with other branches
//   fingerprint.cpp        what tells two states apart
//
// Every entry point sets `now` first and ends in settle(), which does nothing unless `stirred`. All
// sets are ordered, so that the same events give the same actions. Threads: as Membership.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weft/peer/admission.h"
#include "weft/peer/agreement.h"
#include "weft/peer/conduct.h"
#include "weft/peer/failure_detector.h"
#include "weft/peer/lineage.h"
#include "weft/peer/membership.h"
#include "weft/peer/revocations.h"
#include "weft/wire/branch_message.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/membership_message.h"

namespace weft {

inline constexpr TimePoint kNever = TimePoint::max();

enum class SuspicionKind : std::uint8_t { kLink, kSilent, kCollective };

// What this peer itself has against a member.
struct OwnSuspicion {
  SuspicionKind kind = SuspicionKind::kLink;
  std::string reason;
  TimePoint since;
  // When to tell the others (again), after how long once more, and how often it was told.
  TimePoint tell_at;
  Duration tell_gap{};
  int tellings = 0;
};

struct Report {
  std::string reason;
  TimePoint since;
};

// Another member of the current view, as seen from here.
struct Watched {
  Watched(FailureDetector gaps, TimePoint now) : detector(gaps), unlinked_since(now) {}

  FailureDetector detector;
  bool linked = false;
  // Of a member without link: since when, when to dial, and how long it may take.
  TimePoint unlinked_since;
  TimePoint dial_at = kNever;
  Duration patience{};
  bool had_link = false;
  // How often its link came back lately, fading; a line that does so is given more time.
  double flaps = 0;
  TimePoint flapped;
  std::optional<OwnSuspicion> own;
  // By others, by reporter.
  std::map<PeerId, Report> reports;
  // It said itself that it is leaving, or that its process is a new one.
  std::optional<Departure> gone;

  // Whether it may answer: one that owes the collective something too long may well do so.
  bool reachable() const { return linked && (!own || own->kind == SuspicionKind::kCollective); }
};

// A peer that has proved a ticket and takes the state.
struct Joiner {
  Member member;
  // Which member let it in; this one sees its signs of life.
  PeerId sponsor;
  TimePoint heard;
  TimePoint unlinked_since;
  bool linked = false;
  // It has asked to be admitted.
  bool ready = false;
  // By which it came; known to its sponsor.
  InvitationId invitation{};
};

// What a joiner remembers of its attempts.
struct JoinAttempt {
  Ticket ticket;
  std::vector<PeerAddress> candidates;
  std::size_t next = 0;
  std::optional<PeerId> asked;
  bool request_sent = false;
  // Of the present attempt; ask again at; of the whole.
  TimePoint attempt_ends = kNever;
  TimePoint ask_at = kNever;
  TimePoint ends = kNever;
  Status last;
  // Once accepted.
  std::optional<PeerId> sponsor;
  View known;
  std::optional<Round> caught_up;
  // Since when a member of `known` has no link, whether the sink was told of it, and what the
  // last dial of each came to.
  std::optional<TimePoint> unreached_since;
  bool unreached_told = false;
  std::map<PeerId, std::string> dial_failures;
  // When each member was last asked, over its present link, to admit this peer.
  std::map<PeerId, TimePoint> admission_asked;
};

// A branch that this peer tries to found: everybody in it must agree.
struct BranchAttempt {
  std::uint64_t number = 0;
  std::vector<PeerId> members;
  // Who agrees, and how far it has committed.
  std::map<PeerId, Round> agreed;
  TimePoint ends = kNever;
};

// Another branch, as far as it is known here.
struct Meeting {
  StandingMessage standing;
  TimePoint since;
  TimePoint heard;
  // The sink was told of the snapshot, and has it; so do these members.
  bool offered = false;
  bool ready = false;
  std::set<PeerId> holders;
};

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
  bool may_speak(const PeerId& from);
  template <class Message>
  void send(const PeerId& to, std::uint8_t type, const Message& message) {
    sink.send(to, Frame{type, message.encode(), {}});
  }
  // Whether a message about `theirs` is about the current view and from one of its members;
  // otherwise tells whoever is behind.
  bool is_current(const PeerId& from, const ViewId& theirs);
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
  bool has_accepted(const PeerId& peer) const;
  bool has_met(const PeerId& peer) const;
  bool may_tell_views(const PeerId& from) const;
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
  // --- membership_branch.cpp
  bool merges() const { return options.on_split == SplitPolicy::kMerge; }
  bool of_other_branch(const ViewId& theirs) const;
  bool may_branch() const;
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
  // The latest reason for which each former member went.
  std::map<PeerId, Departure> departed;
  Strangers strangers;
  std::optional<JoinAttempt> attempt;
  Conduct conduct;
  Accusations accusations;
  Revocations revocations;
  // When to tell this member's accusations again, and after how long once more.
  TimePoint retell_at = kNever;
  Duration retell_gap{};

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
