// GroupCore::Open: one call of a GroupCore that is under way, or kept for members that are not
// done.
//
// Threads: as GroupCore. Fails: never.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/base/time.h"
#include "weft/collective/engine/group_core.h"
#include "weft/collective/reduce/collective.h"
#include "weft/wire/codec.h"
#include "weft/wire/frame_type.h"

namespace weft {

// Its core, and how ranks of the core and of the view belong together.
class GroupCore::Open final : public CollectiveSink {
 public:
  Open(GroupCore& group, std::uint64_t call_number, Key call_key, const GroupCall& call)
      : owner(group),
        number(call_number),
        key(call_key),
        priority(call.priority),
        deadline(call.deadline) {}

  void send(Rank to, Frame frame) override {
    Writer head;
    head.u8(static_cast<std::uint8_t>(key.row.scope)).u16(key.row.channel).raw(frame.head);
    frame.type = frame_type::kGroupSegment;
    frame.head = head.take();
    owner.enqueue(members[static_cast<std::size_t>(to.value())], priority, std::move(frame));
  }
  std::size_t queued_bytes(Rank to) const override {
    return owner.queued(members[static_cast<std::size_t>(to.value())], priority);
  }
  // Rank(-1) for a member that has no part.
  Rank local(Rank member) const {
    const auto found = std::ranges::find(members, member);
    return found == members.end() ? Rank(-1) : Rank(static_cast<int>(found - members.begin()));
  }
  bool all_done() const {
    return std::ranges::all_of(done, [](bool each) { return each; });
  }

  GroupCore& owner;
  const std::uint64_t number;
  const Key key;
  const Priority priority;
  const TimePoint deadline;
  std::uint8_t form = 0;
  // By rank of the core: the rank in the view; whether it has sent Ready over this link; Done.
  std::vector<Rank> members;
  std::vector<bool> ready;
  std::vector<bool> done;
  std::unique_ptr<Collective> core;
  // The outcome was given.
  bool ended = false;
};

}  // namespace weft
