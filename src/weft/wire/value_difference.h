// ValueDifference: a value as what it changes in the view that it follows.
//
//   difference = base round u64, count u32 x place, count u32 x member, order,
//                count u32 x departure, moved u8 [, lineage], yields u8 [, branch 32],
//                merges u8 [, merge], links, next 32
//   place      = u16, in the ring of the view that the value follows, counted from 0
//   order      = count u32 x place in the default order; a place is u8 if there are at most 256
//
// The places are those of the members that do not go on as they are, in ascending order; the
// members those that come, in the order of their ids. The default order of the next ring has those
// that stay in their order, and then those that come; `order` is empty where the value has just
// that, and else a permutation of it. `next` is the hash of the view that the value makes, which
// covers all of the value: its receiver puts the value together again and compares it. Thus a
// change of one member is some 200 bytes, however many members there are; see view_value.h for the
// parts.
//
// Threads: values. Fails: as each function says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"
#include "weft/wire/view_value.h"

namespace weft {

struct ValueDifference {
  Round base_round;
  std::vector<std::uint16_t> going;
  std::vector<Member> coming;
  std::vector<std::uint16_t> order;
  std::vector<Departure> departures;
  // Set where it is not that of the view.
  std::optional<Lineage> lineage{};
  std::optional<Hash256> yields_to{};
  std::optional<MergeDirective> merge{};
  LinkSummary links{};
  Hash256 next{};
  friend bool operator==(const ValueDifference&, const ValueDifference&) = default;
};

// What `value` changes in a view of these members, none of them twice, with this lineage; `next` is
// left to the caller.
ValueDifference difference_of(const std::vector<Member>& members, const Lineage& lineage,
                              const ViewValue& value);
// The value; `next` is not looked at. kCorrupt for what fits no view of these members.
Result<ViewValue> apply_difference(const ValueDifference& difference,
                                   const std::vector<Member>& members, const Lineage& lineage);

void write_difference(class Writer& out, const ValueDifference& difference);
ValueDifference read_difference(class Reader& in);

}  // namespace weft
