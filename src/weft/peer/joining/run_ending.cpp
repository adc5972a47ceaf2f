// The end of a run: whom the members still serve.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// A peer that has proved a ticket is expected for this long: it may have data to read before it
// joins.
constexpr Duration kExpectedFor = std::chrono::seconds(10);
constexpr std::size_t kExpectedMax = 64;

}  // namespace

void RunEnding::run_over(Round round, TimePoint serves_until) {
  if (state_.ended) return;
  state_.ended = EndedRun{round, serves_until, true};
  core_.newcomers.admit_none();
  for (const auto& [peer, joiner] : core_.newcomers.joiners()) send_over(peer);
}

void RunEnding::stop_serving() {
  if (!state_.ended || !std::exchange(state_.ended->serves, false)) return;
  for (const auto& [peer, joiner] : core_.newcomers.joiners()) send_over(peer);
  for (const ExpectedJoiner& each : state_.expected) {
    if (core_.newcomers.joiners().count(each.peer) == 0) send_over(each.peer);
  }
}

// A newcomer without a link is informed when that comes up.
void RunEnding::send_over(const PeerId& peer) {
  if (!state_.ended || !core_.links.up(peer)) return;
  RunOverMessage message{state_.ended->round, 0};
  if (state_.ended->serves && core_.now < state_.ended->serves_until) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          state_.ended->serves_until - core_.now)
                          .count();
    message.serves_for_ms = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(left, 1, std::int64_t{kServesForMsMax}));
  }
  core_.send(peer, frame_type::kRunOver, message);
}

void RunEnding::expect(const PeerId& peer, const InvitationId& invitation) {
  std::erase_if(state_.expected, [&](const ExpectedJoiner& each) { return each.peer == peer; });
  if (state_.expected.size() >= kExpectedMax) state_.expected.pop_back();
  state_.expected.insert(state_.expected.begin(),
                         ExpectedJoiner{peer, invitation, core_.now + kExpectedFor});
}

// The peer is let in. One may ask for the recipe under another key than it joins with; the
// invitation, where it is known, is the same.
void RunEnding::meet_expected(const PeerId& peer, const InvitationId* invitation) {
  auto found = std::find_if(state_.expected.begin(), state_.expected.end(),
                            [&](const ExpectedJoiner& each) { return each.peer == peer; });
  if (found == state_.expected.end() && invitation != nullptr) {
    found =
        std::find_if(state_.expected.begin(), state_.expected.end(),
                     [&](const ExpectedJoiner& each) { return each.invitation == *invitation; });
  }
  if (found != state_.expected.end()) state_.expected.erase(found);
}

bool RunEnding::awaits_newcomers() const {
  return std::any_of(
      state_.expected.begin(), state_.expected.end(), [&](const ExpectedJoiner& each) {
        return core_.now < each.until && core_.newcomers.joiners().count(each.peer) == 0 &&
               !core_.view.contains(each.peer);
      });
}

// A process that was started again is no newcomer, and there is no time for a view without the
// earlier one.
bool RunEnding::answer_over(const PeerId& from) {
  if (!state_.ended) return false;
  const bool full = core_.view.members.size() + core_.newcomers.joiners().size() >= kMembersMax;
  if (state_.ended->serves && core_.now < state_.ended->serves_until &&
      !core_.view.contains(from) && !full)
    return false;
  core_.send(from, frame_type::kRunOver, RunOverMessage{state_.ended->round, 0});
  return true;
}

void RunEnding::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
