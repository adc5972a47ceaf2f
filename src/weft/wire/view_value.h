// ViewValue: what the members of a view agree on, and the parts that it is made of.
//
//   member     = peer id 32, incarnation u64, count u32 x endpoint text, halvings u8
//   departure  = peer id 32, incarnation u64, cause u8, reason text
//   point      = branch 32, from view, samples u64
//   absorbed   = branch 32, until u64
//   merge      = branch 32, view, round u64, snapshot 32, samples u64, own samples u64
//   lineage    = count u32 x point, count u32 x absorbed
//   value      = base round u64, count u32 x member, count u32 x departure, lineage,
//                yields u8 [, branch 32], merges u8 [, merge], links
//   links      = the summary of link_code.h, 6
//
// Threads: values. Fails: a Reader records what is out of bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/hash.h"
#include "weft/wire/ids.h"
#include "weft/wire/link_code.h"

namespace weft {

// Bounds of a decoded message; the largest (promise, accept, notice) stays below 256 KiB.
inline constexpr std::uint32_t kMembersMax = 256;
// The decoder's bound, for larger simulated runs; the frame's own bound applies first.
inline constexpr std::uint32_t kViewMembersMax = 4096;
inline constexpr std::uint32_t kEndpointsMax = 4;
inline constexpr std::size_t kEndpointBytesMax = 96;
inline constexpr std::size_t kReasonBytesMax = 160;
inline constexpr std::uint8_t kShareHalvingsMax = 16;
// How deeply branches of branches may nest, and how many absorbed branches are stored.
inline constexpr std::uint32_t kBranchPointsMax = 16;
inline constexpr std::uint32_t kAbsorbedMax = 64;

struct Member {
  PeerId id;
  // Counts the lives of one identity: a restarted peer has a higher one.
  std::uint64_t incarnation = 0;
  // "host:port" each, tried in order.
  std::vector<std::string> endpoints;
  // How often its share of each batch was halved, because it took too long to compute.
  std::uint8_t halvings = 0;
  friend bool operator==(const Member&, const Member&) = default;
};

enum class DepartureCause : std::uint8_t {
  kFailed = 0,     // no sign of life, or its connections broke
  kLeft = 1,       // it asked to leave
  kRestarted = 2,  // its process came back with a higher incarnation
  kExpelled = 3,   // more than half of the others accused it; it is excluded from the run
};

struct Departure {
  PeerId id;
  std::uint64_t incarnation = 0;
  DepartureCause cause = DepartureCause::kFailed;
  // Text for people: "no heartbeat for 2.0 s".
  std::string reason;
  friend bool operator==(const Departure&, const Departure&) = default;
};

// Where a branch left the run, or another branch: members that were cut off continued by
// themselves.
struct BranchPoint {
  // Names the branch that begins here.
  Hash256 branch{};
  // The last view before it, and the samples that the run's state had learned from by then.
  ViewId from;
  std::uint64_t samples = 0;
  friend bool operator==(const BranchPoint&, const BranchPoint&) = default;
};

// A branch whose state was averaged into this one's.
struct AbsorbedBranch {
  Hash256 branch{};
  // The number of samples that its state had learned from by then.
  std::uint64_t until = 0;
  friend bool operator==(const AbsorbedBranch&, const AbsorbedBranch&) = default;
};

// A branch's history since the beginning of the run; empty for a run that was never split.
struct Lineage {
  std::vector<BranchPoint> points;
  std::vector<AbsorbedBranch> absorbed;
  // Zeros stand for the run itself.
  Hash256 branch() const { return points.empty() ? Hash256{} : points.back().branch; }
  friend bool operator==(const Lineage&, const Lineage&) = default;
};

// What the members of a view do before its first round: they average the state after its base round
// with the state that another branch has yielded, weighted by samples.
struct MergeDirective {
  Hash256 branch{};
  // The yielding branch's last view, its base round, and the manifest of its state after that
  // round.
  ViewId view;
  Round round;
  Hash256 snapshot{};
  // The weights: the samples that only the yielding branch, and only this branch, has learned from.
  std::uint64_t samples = 0;
  std::uint64_t own_samples = 0;
  friend bool operator==(const MergeDirective&, const MergeDirective&) = default;
};

// What the members agree on: the next membership and how far the run's history is committed.
struct ViewValue {
  Round base_round;
  // The members in ring order; at least one, and no peer twice.
  std::vector<Member> members;
  std::vector<Departure> departures;
  Lineage lineage{};
  // The branch that is to absorb this one: this branch's members stop at the base round and offer
  // its state.
  std::optional<Hash256> yields_to{};
  std::optional<MergeDirective> merge{};
  LinkSummary links{};
  friend bool operator==(const ViewValue&, const ViewValue&) = default;
};

// Codecs of parts that messages contain.
void write_member(class Writer& out, const Member& member);
Member read_member(class Reader& in);
void write_departures(class Writer& out, const std::vector<Departure>& departures);
std::vector<Departure> read_departures(class Reader& in);
void write_lineage(class Writer& out, const Lineage& lineage);
Lineage read_lineage(class Reader& in);
// What a value says of branches and links: its last three fields.
void write_value_end(class Writer& out, const std::optional<Hash256>& yields_to,
                     const std::optional<MergeDirective>& merge, const LinkSummary& links);
void read_value_end(class Reader& in, std::optional<Hash256>& yields_to,
                    std::optional<MergeDirective>& merge, LinkSummary& links);
void write_view_value(class Writer& out, const ViewValue& value);
ViewValue read_view_value(class Reader& in);

}  // namespace weft
