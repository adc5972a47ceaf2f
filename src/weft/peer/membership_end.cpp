// The end of a run: whom the members still serve, and how a newcomer learns of it.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/peer/membership_core.h"

namespace weft {
namespace {

// Who has proved a ticket is expected for so long: it may have data to read before it joins.
constexpr Duration kExpectedFor = std::chrono::seconds(10);
constexpr std::size_t kExpectedMax = 64;
// What was sent last may take so long to arrive.
constexpr Duration kLastWords = std::chrono::seconds(2);

}  // namespace

// --- The members.

void RunEnding::run_over(Round round, TimePoint serves_until) {
  if (state_.ended) return;
  state_.ended = EndedRun{round, serves_until, true};
  core_.newcomers.admit_none();
  for (const auto& [peer, joiner] : core_.newcomers.joiners()) tell_over(peer);
}

void RunEnding::stop_serving() {
  if (!state_.ended || !std::exchange(state_.ended->serves, false)) return;
  for (const auto& [peer, joiner] : core_.newcomers.joiners()) tell_over(peer);
  for (const ExpectedJoiner& each : state_.expected) {
    if (core_.newcomers.joiners().count(each.peer) == 0) tell_over(each.peer);
  }
}

// To one without a link it is told when that comes up.
void RunEnding::tell_over(const PeerId& peer) {
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

// --- The newcomer.

void Joining::on_run_over(const PeerId& from, const RunOverMessage& message) {
  if (!state_.attempt) return;
  JoinAttempt& a = *state_.attempt;
  const bool asked = a.asked == from && a.request_sent;
  if (!asked && a.sponsor != from && !a.known.contains(from)) return;
  const bool first = !a.over;
  a.over = message.round;
  if (message.serves_for_ms > 0) {
    const Duration left = std::chrono::milliseconds(message.serves_for_ms);
    a.over_until = std::max(a.over_until, core_.now + left + kLastWords);
    a.no_more.erase(from);
  } else {
    a.no_more.insert(from);
  }
  if (first) core_.sink.on_run_over(message.round);
  watch_end();
}

void Joining::note_dial(const PeerId& peer, const Status& why) {
  if (nobody_listens(why)) {
    state_.attempt->deserted.insert(peer);
  } else {
    state_.attempt->deserted.erase(peer);
  }
}

// Whether a member in reach may still give the state.
bool Joining::still_served() const {
  const JoinAttempt& a = *state_.attempt;
  const auto serves = [&](const PeerId& peer) {
    return core_.links.up(peer) && a.no_more.count(peer) == 0;
  };
  if (a.asked && serves(*a.asked)) return true;
  return std::any_of(a.known.members.begin(), a.known.members.end(), [&](const Member& member) {
    return member.id != core_.options.self && serves(member.id);
  });
}

// Whoever ends last tells the newcomers that it serves no more. If none does, because it was killed
// or a link broke, time tells.
void Joining::watch_end() {
  JoinAttempt& a = *state_.attempt;
  if (a.over) {
    if (still_served()) {
      a.unserved_since.reset();
    } else if (!a.unserved_since) {
      a.unserved_since = core_.now;
    }
    const bool told = a.unserved_since && !a.no_more.empty();
    const bool lost = a.unserved_since && core_.now - *a.unserved_since >= kLastWords;
    if (told || lost || (a.over_until != TimePoint{} && core_.now >= a.over_until)) {
      give_up_run(a.over);
    }
    return;
  }
  const bool all = std::all_of(a.candidates.begin(), a.candidates.end(), [&](const auto& each) {
    return !core_.links.up(each.id) && a.deserted.count(each.id) != 0;
  });
  // Whoever was a member waits for the others to come back.
  if (!all || core_.past.life()) {
    a.deserted_since.reset();
  } else if (!a.deserted_since) {
    a.deserted_since = core_.now;
  } else if (core_.now - *a.deserted_since >= core_.options.deserted_timeout) {
    give_up_run(std::nullopt);
  }
}

void Joining::give_up_run(const std::optional<Round>& ended_with) {
  const std::optional<Round> round = ended_with;  // it may be the attempt's own
  state_.attempt.reset();
  core_.state = MembershipState::kOutside;
  core_.beat_at = kNever;
  core_.sink.on_run_gone(round);
}

}  // namespace weft
