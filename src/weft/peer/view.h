// View: one agreed, ordered membership: the members in ring order, and the last committed round.
//
// Views form a chain: each ViewId's hash covers the one before, so a forked history is visible.
// Threads: values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/wire/ids.h"
#include "weft/wire/membership_message.h"
#include "weft/wire/value_difference.h"
#include "weft/wire/view_value.h"

namespace weft {

struct View {
  ViewId id;
  // Ring order: rank r sends to rank (r + 1) mod size.
  std::vector<Member> members;
  // Rounds up to this one are committed in this view's history; the next to run is the one after.
  Round base_round;
  // Which branch of the run this is (lineage.h).
  Lineage lineage{};
  // Set where the members wait for this other branch to absorb theirs: no round is run.
  std::optional<Hash256> yields_to{};
  // Set where the members average another branch's state into theirs before the first round.
  std::optional<MergeDirective> merge{};
  // What the members know about their links; they choose their algorithm by it.
  LinkSummary links{};

  int size() const { return static_cast<int>(members.size()); }
  bool contains(const PeerId& peer) const { return rank_of(peer).value() >= 0; }
  // Rank(-1) for a peer that is no member.
  Rank rank_of(const PeerId& peer) const;
  // Null for a peer that is no member.
  const Member* find(const PeerId& peer) const;
  // More than half: any two quorums of one view share a member.
  int quorum() const { return size() / 2 + 1; }
  friend bool operator==(const View&, const View&) = default;
};

// The view in a notice, unchecked.
View view_of(const ViewNoticeMessage& notice);

// The id of the view that follows `previous` with this value: number + 1, and a hash over the
// run, `previous` and the value.
ViewId next_view_id(const RunId& run, const ViewId& previous, const ViewValue& value);

// `value` as what it changes in `view`, which it follows.
ValueDifference difference_to(const RunId& run, const View& view, const ViewValue& value);
// The value again. kCorrupt where it fits no successor of `view`, or is not the one that was meant.
Result<ViewValue> value_after(const RunId& run, const View& view,
                              const ValueDifference& difference);

// A view of two may shrink to one only if the survivor is this member: the one whose id hashes
// lowest with the run id. REQUIRES: two members.
const PeerId& tie_breaker(const RunId& run, const View& view);

// The members that follow `current`: the survivors in their order, then the newcomers by id.
std::vector<Member> next_members(const View& current, const std::vector<Departure>& departures,
                                 std::vector<Member> newcomers);

// Each member is watched by the members at these distances after it in the ring: `observers` of
// them, or all others in a smaller view. They follow from the view's hash, so all members agree.
std::vector<int> observer_distances(const View& view, int observers);

// Whether a correct member of `current` may propose this value; kCorrupt has the reason against it.
// The check needs only the two: each member stays unchanged or departs, nobody else departs, the
// base round does not decrease, and the branch stays the same; `merges` is set by the run's recipe.
Status check_successor(const View& current, const ViewValue& value, bool merges);

// What changed between two views, for people and for the collective.
struct ViewChange {
  std::vector<Member> joined;
  std::vector<Departure> left;
  // True where this peer missed views in between; then `left` may be incomplete in its reasons.
  bool caught_up = false;
  // From the first sign of trouble seen here (or the freeze) to the installation.
  Duration took{};
};

// "peer b81f left (no heartbeat for 2.0 s)": one line per change, for logs and events.
std::string to_string(const Departure& departure);

}  // namespace weft
