// Values that a membership keeps about others and about its own attempts, for the parts of
// membership_core.h.
//
// Each is owned by one Membership::Core. Threads: as Membership. Fails: never.
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

// kCollective: the member owes the collective something; kComputing: so it does, and it reports
// that it still computes it.
enum class SuspicionKind : std::uint8_t { kLink, kSilent, kCollective, kComputing };

// This peer's own suspicion of a member.
struct OwnSuspicion {
  SuspicionKind kind = SuspicionKind::kLink;
  std::string reason;
  TimePoint since;
  // When to announce it to the others (again), the interval until the next time, and whether it was
  // announced.
  TimePoint announce_at;
  Duration announce_gap{};
  bool announced = false;

  WEFT_FIELDS((kind, announced), (reason, since, announce_at, announce_gap))
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
  // How often its link was restored lately, fading; such a link gets more time.
  double flaps = 0;
  TimePoint flapped;
  std::optional<OwnSuspicion> own;
  // The reports of others, by reporter.
  std::map<PeerId, Report> reports;
  // It has reported that it is leaving, or that its process is a new one.
  std::optional<Departure> gone;
  // Its new process votes as the old one did.
  bool votes_on = false;

  bool restarted() const { return gone && gone->cause == DepartureCause::kRestarted; }
  // Whether it may answer; one that has owed the collective something for too long may well do so.
  bool reachable() const { return linked && (!own || owes()) && (!restarted() || votes_on); }
  bool owes() const { return own && (own->kind == SuspicionKind::kCollective || computes()); }
  bool computes() const { return own && own->kind == SuspicionKind::kComputing; }

  WEFT_FIELDS((linked, had_link, own, reports, gone, votes_on),
              (detector, unlinked_since, dial_at, patience, flaps, flapped))
};

// A peer that has proved a ticket and takes the state.
struct Joiner {
  Member member;
  // The member that accepted it and sees its signs of life.
  PeerId sponsor;
  TimePoint seen_at;
  TimePoint unlinked_since;
  bool linked = false;
  // It has asked to be admitted.
  bool ready = false;
  // The invitation by which it joined; known to its sponsor.
  InvitationId invitation{};
  // When it was accepted, and when it last made progress.
  TimePoint since{};
  TimePoint moved{};
  std::uint64_t progress = 0;

  WEFT_FIELDS((member, sponsor, linked, ready, invitation),
              (seen_at, unlinked_since, since, moved, progress))
};

// A newcomer that waits for its turn.
struct Waiting {
  TimePoint since;
  TimePoint asked;

  WEFT_FIELDS_UNTOLD(since, asked)
};

// The voter that this peer was, in the view that it was in, before its process was started again.
struct PastLife {
  std::uint64_t incarnation = 0;
  ViewNoticeMessage notice;
  View view;
  Agreement agreement;
  // When it was first asked to vote for a value whose grounds it has forgotten.
  std::optional<TimePoint> doubts_since{};

  WEFT_FIELDS((incarnation, view, agreement, doubts_since), (notice))
};

// Why this peer refuses to vote for a proposal.
struct Refusal {
  enum class Kind : std::uint8_t {
    kImpossible,  // no correct member proposes it, whatever it has received
    kUnlikely,    // a correct member that was lied to may
    kBanned,      // its proposer may have missed a verdict
  };
  Kind kind = Kind::kImpossible;
  std::string why;
};

// A peer that has proved a ticket and intends to join.
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
  // Set once this peer is accepted.
  std::optional<PeerId> sponsor;
  View known;
  std::optional<Round> caught_up;
  // Since when a member of `known` has no link, whether that was reported to the sink, and the
  // result of the last dial of each.
  std::optional<TimePoint> unreached_since;
  bool unreached_reported = false;
  std::map<PeerId, std::string> dial_failures;
  bool queued = false;
  // The last text that was reported about the wait, and when.
  std::string waiting_text;
  TimePoint waiting_reported_at{};
  // When each member was last asked, over its present link, to admit this peer.
  std::map<PeerId, TimePoint> admission_asked;
  // The run's last round, once a member has reported that it is over; until when its state may
  // come; the members that have reported that they do not serve it any more; since when no member
  // in reach serves it.
  std::optional<Round> over;
  TimePoint over_until{};
  std::set<PeerId> no_more;
  std::optional<TimePoint> unserved_since;
  // Members at whose addresses no process listened at the last dial; since when that is true of
  // all.
  std::set<PeerId> deserted;
  std::optional<TimePoint> deserted_since;

  WEFT_FIELDS((candidates, next, asked, request_sent, sponsor, known, caught_up, unreached_since,
               unreached_reported, queued, over, no_more, unserved_since, deserted, deserted_since),
              (ticket, attempt_ends, ask_at, ends, last, dial_failures, waiting_text,
               waiting_reported_at, admission_asked, over_until))
};

// A branch that this peer tries to found: all of its members must agree.
struct BranchAttempt {
  std::uint64_t number = 0;
  std::vector<PeerId> members;
  // The members that agree, and how far each has committed.
  std::map<PeerId, Round> agreed;
  TimePoint ends = kNever;

  WEFT_FIELDS((number, members, agreed), (ends))
};

// A member's claim that there is a later view, which this peer is not in yet.
struct ViewClaim {
  ViewId view;
  TimePoint since;
  // Empty: this peer is in no later view, for this reason.
  std::optional<ViewNoticeMessage> notice;
  std::string reason;

  WEFT_FIELDS((view), (since, notice, reason))
};

// A peer that has the run's key names a later view.
struct ViewHint {
  PeerId from;
  TimePoint seen_at;

  WEFT_FIELDS((from), (seen_at))
};

// A ban of a peer that is a member here: it may be from a view that is not installed yet.
struct SparedBan {
  std::string reason;
  TimePoint seen_at;

  WEFT_FIELDS_UNTOLD(reason, seen_at)
};

// Another branch, as far as it is known here.
struct Meeting {
  StandingMessage standing;
  TimePoint since;
  TimePoint seen_at;
  // The snapshot was reported to the sink, and it has it; so do these members.
  bool offered = false;
  bool ready = false;
  std::set<PeerId> holders;

  WEFT_FIELDS((standing, offered, ready, holders), (since, seen_at))
};

}  // namespace weft
