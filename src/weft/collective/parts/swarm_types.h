// The values that cross between the swarm and the training thread: turns, hashes, events, status.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/time.h"
#include "weft/wire/ids.h"

namespace weft {

enum class TurnKind : std::uint8_t {
  kWait,       // nothing to do yet: show the status, look at Ctrl-C, ask again
  kLoadState,  // load `state`, the bytes some member gave to publish_state() after round `round`
  kApply,      // apply `reduced` as round `round` without computing anything (catch-up)
  kTrain,      // compute shard `rank` of `members` of round `round`; begin, contribute, finish
  kSnapshot,   // serialise the state after round `round` (the last applied), publish_state() it
  kMerge,      // average `state`, a part of `weight`, into the state after `round`, this one's own
  kFinished,   // the last round is committed at every member
};
std::string_view to_string(TurnKind kind);

// A member's place where each has a number, work of its own and no share of a common batch.
struct OwnWork {
  std::uint32_t member = 0;
  std::uint32_t members = 1;
  std::uint32_t steps = 1;  // of its optimizer
};

// The next task of the training thread.
struct Turn {
  TurnKind kind = TurnKind::kWait;
  Round round;
  ViewId view;
  Rank rank;
  int members = 0;
  // By rank; empty where the members are fixed.
  std::vector<PeerId> peers;
  // Likewise: how often the member's share of a batch is halved.
  std::vector<std::uint8_t> halvings;
  // For kSnapshot: the prefix of the state (StateHistory), which publish_state() of a Swarm adds.
  SharedBytes state;
  // Weight of `state` in the mean, in [0, 1].
  double weight = 0;
  // The results of the round's exchanges, one after the other (RoundPlan::result()). Valid until
  // the next call to next().
  std::span<const float> reduced;
  // For kApply: the reports of the round's members, by their ranks in it, which need not be the
  // present ones; empty if rounds have no reports.
  std::vector<Bytes> reports;
  OwnWork own;
};

// Serialises the training side's state as it stands after the last applied round.
using StateReader = std::function<Bytes()>;

// What a member contributes to a round in place of its input if that comes too late.
struct StandIn {
  // Counts from the moment at which the first member has begun the round; zero: the round waits.
  Duration deadline{};
  // Elements of rounds like this one, with one exchange of all members; it does not apply to
  // others.
  std::int64_t elements = 0;
  // The report that goes with the zeros, where rounds have reports. It is used as long as the view
  // stays; after that the report is empty.
  Bytes report;
  // Values and report for the round of the latest kTrain turn, in place of the zeros and theirs;
  // empty: there are none. Borrowed until finish() returns; as many values as the vector has
  // elements.
  std::span<const float> carried;
  Bytes carried_report;
};

// The hash of one tensor (or of any part of the state that deserves a name).
struct TensorHash {
  std::string name;
  Hash128 hash{};
  friend bool operator==(const TensorHash&, const TensorHash&) = default;
};

// The hash of the whole state after a round, and of its parts in layout order, so that a
// difference can be named. Equal at all members or something is wrong.
struct StateHash {
  Hash128 total{};
  std::vector<TensorHash> tensors;
};

enum class SwarmEventKind : std::uint8_t {
  kViewChanged,    // view, round = its base, peers = its members
  kPeerJoined,     // peer
  kPeerLeft,       // peer, text = why
  kRoundRerun,     // round, seconds = lost since the round was begun
  kQuorumLost,     // peers = missing, text = what to do
  kQuorumBack,     //
  kJoinRefused,    // peer, text = why (at the member), or this peer's own refusal
  kLinkRefused,    // peer, text = why
  kLinkUp,         // peer, link = how it was reached, text = why that way
  kStateMismatch,  // round, peer = the one that differs, text names the tensor
  kJoinerSyncing,  // peer, round = of the snapshot
  kStateReceived,  // at the joiner: round, seconds it took, bytes
  kCaughtUp,       // at the joiner: round
  kLate,           // round: others did not wait for this member's part
  kStalled,        // peer = the one whose data is missing, seconds
  kWaiting,        // round, peers = the awaited ones, seconds, limit_seconds
  kOverdue,        // the same, for a member that will be removed soon
  kAwaited,        // round, peers = those that wait for this member, seconds, limit_seconds
  kWaitOver,       // round, peers, seconds: after kWaiting or kOverdue
  kMisconduct,     // peer, peers = its accusers, text = the observation
  kRevoked,        // peer = the member that revoked a ticket, text = which
  kRingProposed,   // round, peers = a better order, seconds = saved each round, text = the reason
  kUnreached,      // at the joiner: peers = members it has no path to, text = why, what to do
  kSplit,          // round: this side goes on as a branch of the run, peers = its members
  kYielding,       // round: this branch waits for another one to average its state in
  kMerged,         // round: another branch's state was averaged in, merge = how much
  kTwin,           // peer = whose identity two processes use, text = what was done about it
  kRemoved,        // this peer is no member any more, text = why
  kRunOver,        // round = the run's last: text = what this peer still does
  kRunMissed,      // the run is over, and its final state is not here: next() fails with the text
  kStartWaiting,   // text = what this peer waits for before it can take part or begin
};
std::string_view to_string(SwarmEventKind kind);

// How a link came about; see LinkInfo.
struct LinkNews {
  std::string path;
  std::string via;
  std::string endpoint;
  bool inbound = false;
};

// A state that was averaged in: its branch, and the samples that either side had learned from since
// they parted.
struct MergeNews {
  std::string branch;
  double weight = 0;
  std::uint64_t samples = 0;
  std::uint64_t own_samples = 0;
};

struct SwarmEvent {
  SwarmEventKind kind{};
  PeerId peer;
  Round round;
  ViewId view;
  double seconds = 0;
  // For waits: the seconds after which the others go on without the members that they wait for.
  double limit_seconds = 0;
  std::uint64_t bytes = 0;
  std::vector<PeerId> peers;
  // Waits: as in SwarmStatus.
  std::vector<PeerId> absent;
  std::vector<PeerId> unsent;
  LinkNews link;
  MergeNews merge;
  // The whole sentence for people, with its reason and numbers.
  std::string text;
};

struct PeerStatus {
  PeerId id;
  Rank rank;
  bool self = false;
  bool linked = false;
  double rtt_seconds = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  // From this peer's beginning of a round until that member's input is complete, as its report
  // shows: the median of recent rounds; -1: not known.
  double entry_seconds = -1;
  // Bytes per second that the link takes while data waits for it; 0: it always kept up.
  double send_rate = 0;
};

struct SwarmStatus {
  // "member", "joining", "changing view", "isolated", "left", ...
  std::string state;
  ViewId view;
  std::vector<PeerStatus> members;
  // Without agreement on the members: how many this one knows, itself included; `members` need not
  // have all of them then. 0: `members` has all.
  std::uint64_t known_members = 0;
  Round committed;
  Round applied;
  std::uint64_t view_changes = 0;
  std::uint64_t rounds_rerun = 0;
  // Rounds for which this member's input was too late.
  std::uint64_t rounds_late = 0;
  // Time of begun rounds that were discarded, and of waits for a new view.
  double seconds_lost = 0;
  // Time that the training thread spent inside finish() and next().
  double wait_seconds = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  // Members for which the open round has waited for more than 2 s, for how long it has, and for how
  // long it will at most; and the members that wait for this one.
  std::vector<PeerId> waits_for;
  double waits_seconds = 0;
  double waits_limit_seconds = 0;
  std::vector<PeerId> awaited_by;
  // While the round waits: members whose input is not complete, and members for which data waits
  // here to be sent.
  std::vector<PeerId> absent;
  std::vector<PeerId> unsent;
  // Bytes per second of the links, by receiver and then by sender, as the receivers have measured
  // them; 0: not known. Empty: none is known.
  std::vector<double> link_rates;
  // The state hash of the last applied round.
  Hash128 state_hash{};
};

}  // namespace weft
