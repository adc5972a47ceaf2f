// What a membership remembers of others and of its own attempts: the parts of membership_core.h.
//
// Plain values, each owned by one Membership::Core. Threads: as Membership. Fails: never.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/peer/admission.h"
#include "weft/peer/agreement.h"
#include "weft/peer/failure_detector.h"
#include "weft/peer/membership.h"
#include "weft/peer/ticket.h"
#include "weft/wire/branch_message.h"
#include "weft/wire/membership_message.h"

namespace weft {

inline constexpr TimePoint kNever = TimePoint::max();

// kCollective: it owes the collective something; kComputing: and says itself that it computes it.
enum class SuspicionKind : std::uint8_t { kLink, kSilent, kCollective, kComputing };

// What this peer itself has against a member.
struct OwnSuspicion {
  SuspicionKind kind = SuspicionKind::kLink;
  std::string reason;
  TimePoint since;
  // When to tell the others (again), after how long once more, and whether they were told.
  TimePoint tell_at;
  Duration tell_gap{};
  bool told_others = false;

  WEFT_FIELDS((kind, told_others), (reason, since, tell_at, tell_gap))
};

struct Report {
  std::string reason;
  TimePoint since;

  WEFT_FIELDS_UNTOLD(reason, since)
};

// Another member of the current view, as seen from here.
struct Watched {
  Watched(FailureDetector gaps, TimePoint now) : detector(gaps), unlinked_since(now) {}

  FailureDetector detector;
  bool linked = false;
  // For a member without a link: since when, when to dial, and how long it may take.
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
  // Its new process votes as the old one did.
  bool votes_on = false;

  bool restarted() const { return gone && gone->cause == DepartureCause::kRestarted; }
  // Whether it may answer: one that owes the collective something too long may well do so.
  bool reachable() const { return linked && (!own || owes()) && (!restarted() || votes_on); }
  bool owes() const { return own && (own->kind == SuspicionKind::kCollective || computes()); }
  bool computes() const { return own && own->kind == SuspicionKind::kComputing; }

  WEFT_FIELDS((linked, had_link, own, reports, gone, votes_on),
              (detector, unlinked_since, dial_at, patience, flaps, flapped))
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
  // Since when it is let in, and when it came further last.
  TimePoint since{};
  TimePoint moved{};
  std::uint64_t progress = 0;

  WEFT_FIELDS((member, sponsor, linked, ready, invitation),
              (heard, unlinked_since, since, moved, progress))
};

// A newcomer that waits for its turn.
struct Waiting {
  TimePoint since;
  TimePoint asked;

  WEFT_FIELDS_UNTOLD(since, asked)
};

// This peer's life before its process was started again: a voter of the view that it was in.
struct PastLife {
  std::uint64_t incarnation = 0;
  ViewNoticeMessage notice;
  View view;
  Agreement agreement;
  // When it was first asked to vote for what it has forgotten the grounds of.
  std::optional<TimePoint> doubts_since{};

  WEFT_FIELDS((incarnation, view, agreement, doubts_since), (notice))
};

// Why a proposal gets no vote.
struct Refusal {
  enum class Kind : std::uint8_t {
    kImpossible,  // no correct member proposes it, whatever it was told
    kUnlikely,    // a correct member that was lied to may
    kBanned,      // its proposer may have missed a verdict
  };
  Kind kind = Kind::kImpossible;
  std::string why;
};

// A peer that has proved a ticket and means to join.
struct ExpectedJoiner {
  PeerId peer;
  InvitationId invitation{};
  TimePoint until;

  WEFT_FIELDS((peer, invitation), (until))
};

// The run has ended here; see Membership::run_over().
struct EndedRun {
  Round round;
  TimePoint serves_until;
  bool serves = true;

  WEFT_FIELDS((round, serves), (serves_until))
};

// What a joiner remembers of its attempts.
struct JoinAttempt {
  Ticket ticket;
  std::vector<PeerAddress> candidates;
  std::size_t next = 0;
  std::optional<PeerId> asked;
  bool request_sent = false;
  // When the present attempt ends, when to ask again, and when the whole ends.
  TimePoint attempt_ends = kNever;
  TimePoint ask_at = kNever;
  TimePoint ends = kNever;
  Status last;
  // Once accepted.
  std::optional<PeerId> sponsor;
  View known;
  std::optional<Round> caught_up;
  // Since when a member of `known` has no link, whether that was reported to the sink, and the
  // result of the last dial of each.
  std::optional<TimePoint> unreached_since;
  bool unreached_told = false;
  std::map<PeerId, std::string> dial_failures;
  bool queued = false;
  // What was said last about the wait, and when.
  std::string waiting_text;
  TimePoint waiting_told{};
  // When each member was last asked, over its present link, to admit this peer.
  std::map<PeerId, TimePoint> admission_asked;
  // The run's last round, once a member has said that it is over; until when its state may come;
  // which members have said that they give it no more; since when nobody in reach gives it.
  std::optional<Round> over;
  TimePoint over_until{};
  std::set<PeerId> no_more;
  std::optional<TimePoint> unserved_since;
  // Members at whose addresses nobody listened at the last dial; since when that is so of all.
  std::set<PeerId> deserted;
  std::optional<TimePoint> deserted_since;

  WEFT_FIELDS((candidates, next, asked, request_sent, sponsor, known, caught_up, unreached_since,
               unreached_told, queued, over, no_more, unserved_since, deserted, deserted_since),
              (ticket, attempt_ends, ask_at, ends, last, dial_failures, waiting_text, waiting_told,
               admission_asked, over_until))
};

// A branch that this peer tries to found: everybody in it must agree.
struct BranchAttempt {
  std::uint64_t number = 0;
  std::vector<PeerId> members;
  // Who agrees, and how far it has committed.
  std::map<PeerId, Round> agreed;
  TimePoint ends = kNever;

  WEFT_FIELDS((number, members, agreed), (ends))
};

// What a member says of a later view that this peer has no part in yet.
struct ViewClaim {
  ViewId view;
  TimePoint since;
  // Nothing: this peer is in no later view, for this reason.
  std::optional<ViewNoticeMessage> notice;
  std::string reason;

  WEFT_FIELDS((view), (since, notice, reason))
};

// Somebody who has the run's key speaks of a later view.
struct ViewHint {
  PeerId from;
  TimePoint heard;

  WEFT_FIELDS((from), (heard))
};

// A verdict on somebody who is a member here: it may be from a view that is not installed yet.
struct SparedBan {
  std::string reason;
  TimePoint heard;

  WEFT_FIELDS_UNTOLD(reason, heard)
};

// Another branch, as far as it is known here.
struct Meeting {
  StandingMessage standing;
  TimePoint since;
  TimePoint heard;
  // The snapshot was reported to the sink, and it has it; so do these members.
  bool offered = false;
  bool ready = false;
  std::set<PeerId> holders;

  WEFT_FIELDS((standing, offered, ready, holders), (since, heard))
};

}  // namespace weft
