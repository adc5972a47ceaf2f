#include "weft/collective/parts/event_box.h"

#include <algorithm>
#include <utility>

namespace weft {

static bool may_be_missed(const SwarmEvent& event) {
  return event.kind == SwarmEventKind::kLinkUp || event.kind == SwarmEventKind::kLinkRefused ||
         event.kind == SwarmEventKind::kJoinRefused;
}

SwarmEvent& keep_event(std::vector<SwarmEvent>& box, SwarmEvent event, std::size_t most) {
  if (!box.empty() && box.size() >= most) {
    const auto first = std::ranges::find_if(box, may_be_missed);
    box.erase(first == box.end() ? box.begin() : first);
  }
  return box.emplace_back(std::move(event));
}

}  // namespace weft
