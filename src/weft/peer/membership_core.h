// Membership::Core: the state of one peer's membership, split over four sources by concern.
//
//   membership.cpp         commands, events, which message goes where
//   membership_watch.cpp   links, heartbeats, suspicions: who is to go
//   membership_change.cpp  ballots, installation of views, isolation, leaving
//   membership_join.cpp    the joiner's side and the side that lets it in
//   membership_conduct.cpp misconduct, accusations, revoked invitations
//
// Every entry point sets `now` first and ends in settle(), which does nothing unless `stirred`. All
// sets are ordered, so that the same events give the same actions. Threads: as Membership.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/peer/admission.h"
#include "weft/peer/agreement.h"
#include "weft/peer/conduct.h"
#include "weft/peer/failure_detector.h"
#include "weft/peer/membership.h"
#include "weft/peer/revocations.h"
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
  std::optional<OwnSuspicion> own;
  // By others, by reporter.
  std::map<PeerId, Report> reports;
  // It said itself that it is leaving, or that its process is a new one.
  std::optional<Departure> gone;
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
  std::vector<Departure> departures() const;
  void add_bad_links(std::vector<Departure>& out) const;
  int reachable() const;
  bool all_linked() const { return unlinked == 0; }
  void count_unlinked();
  void choose_observers();

  // --- membership_change.cpp
  bool may_go_alone() const;
  bool wants_change() const;
  int position() const;
  bool more_to_come() const;
  void schedule_proposal();
  void propose_when_due();
  void start_ballot();
  ViewValue fresh_value() const;
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
  void rebuild_watch(const View& previous);
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
  void ask(const PeerAddress& member);
  void send_request();
  void join_timer();
  void fail_join(const Status& why);
  void admit_again();
  void know_view(const ViewNoticeMessage& notice);
  void on_accepted_join(const PeerId& from, const JoinAcceptedMessage& message);
  void on_refused_join(const PeerId& from, const JoinRefusedMessage& message);
  void on_recipe_request(const PeerId& from, const RecipeRequestMessage& message);
  void on_join_request(const PeerId& from, const JoinRequestMessage& message);
  void on_admit_request(const PeerId& from, const AdmitRequestMessage& message);
  void on_joiner(const PeerId& from, const JoinerMessage& message);
  std::optional<JoinRefusedMessage> refuse_now(const JoinRequestMessage& request);
  void refuse(const PeerId& peer, const JoinRefusedMessage& why);
  void tell_joiner(const Joiner& joiner, bool present);
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
  // The view must change even if nobody comes or goes: it was isolated.
  bool must_change = false;
  TimePoint propose_at = kNever;
  int ballots = 0;
  std::optional<TimePoint> unreachable_since;

  bool leaving = false;
  TimePoint leave_ends = kNever;
};

}  // namespace weft
