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

void Membership::Core::run_over(Round round, TimePoint serves_until) {
  if (ended) return;
  ended = EndedRun{round, serves_until, true};
  for (auto& [peer, joiner] : joiners) {
    joiner.ready = false;
    tell_over(peer);
  }
}

void Membership::Core::stop_serving() {
  if (!ended || !std::exchange(ended->serves, false)) return;
  for (const auto& [peer, joiner] : joiners) tell_over(peer);
  for (const ExpectedJoiner& each : expected) {
    if (joiners.count(each.peer) == 0) tell_over(each.peer);
  }
}

// To one without a link it is told when that comes up.
void Membership::Core::tell_over(const PeerId& peer) {
  if (!ended || links.count(peer) == 0) return;
  RunOverMessage message{ended->round, 0};
  if (ended->serves && now < ended->serves_until) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(ended->serves_until - now).count();
    message.serves_for_ms = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(left, 1, std::int64_t{kServesForMsMax}));
  }
  send(peer, frame_type::kRunOver, message);
}

void Membership::Core::expect(const PeerId& peer, const InvitationId& invitation) {
  std::erase_if(expected, [&](const ExpectedJoiner& each) { return each.peer == peer; });
  if (expected.size() >= kExpectedMax) expected.pop_back();
  expected.insert(expected.begin(), ExpectedJoiner{peer, invitation, now + kExpectedFor});
}

// The peer is let in. One may ask for the recipe under another key than it joins with; the
// invitation, where it is known, is the same.
void Membership::Core::meet_expected(const PeerId& peer, const InvitationId* invitation) {
  auto found = std::find_if(expected.begin(), expected.end(),
                            [&](const ExpectedJoiner& each) { return each.peer == peer; });
  if (found == expected.end() && invitation != nullptr) {
    found = std::find_if(expected.begin(), expected.end(), [&](const ExpectedJoiner& each) {
      return each.invitation == *invitation;
    });
  }
  if (found != expected.end()) expected.erase(found);
}

bool Membership::Core::awaits_newcomers() const {
  return std::any_of(expected.begin(), expected.end(), [&](const ExpectedJoiner& each) {
    return now < each.until && joiners.count(each.peer) == 0 && !view.contains(each.peer);
  });
}

// A process that was started again is no newcomer, and there is no time for a view without the
// earlier one.
bool Membership::Core::answer_over(const PeerId& from) {
  if (!ended) return false;
  const bool full = view.members.size() + joiners.size() >= kMembersMax;
  if (ended->serves && now < ended->serves_until && !view.contains(from) && !full) return false;
  send(from, frame_type::kRunOver, RunOverMessage{ended->round, 0});
  return true;
}

// --- The newcomer.

void Membership::Core::on_run_over(const PeerId& from, const RunOverMessage& message) {
  if (!attempt) return;
  JoinAttempt& a = *attempt;
  const bool asked = a.asked == from && a.request_sent;
  if (!asked && a.sponsor != from && !a.known.contains(from)) return;
  const bool first = !a.over;
  a.over = message.round;
  if (message.serves_for_ms > 0) {
    const Duration left = std::chrono::milliseconds(message.serves_for_ms);
    a.over_until = std::max(a.over_until, now + left + kLastWords);
    a.no_more.erase(from);
  } else {
    a.no_more.insert(from);
  }
  if (first) sink.on_run_over(message.round);
  watch_end();
}

void Membership::Core::note_dial(const PeerId& peer, const Status& why) {
  if (nobody_listens(why)) {
    attempt->deserted.insert(peer);
  } else {
    attempt->deserted.erase(peer);
  }
}

// Whether a member in reach may still give the state.
bool Membership::Core::still_served() const {
  const JoinAttempt& a = *attempt;
  const auto serves = [&](const PeerId& peer) {
    return links.count(peer) != 0 && a.no_more.count(peer) == 0;
  };
  if (a.asked && serves(*a.asked)) return true;
  return std::any_of(a.known.members.begin(), a.known.members.end(), [&](const Member& member) {
    return member.id != options.self && serves(member.id);
  });
}

// Whoever ends last tells the newcomers that it serves no more. If none does, because it was killed
// or a link broke, time tells.
void Membership::Core::watch_end() {
  JoinAttempt& a = *attempt;
  if (a.over) {
    if (still_served()) {
      a.unserved_since.reset();
    } else if (!a.unserved_since) {
      a.unserved_since = now;
    }
    const bool told = a.unserved_since && !a.no_more.empty();
    const bool lost = a.unserved_since && now - *a.unserved_since >= kLastWords;
    if (told || lost || (a.over_until != TimePoint{} && now >= a.over_until)) {
      give_up_run(a.over);
    }
    return;
  }
  const bool all = std::all_of(a.candidates.begin(), a.candidates.end(), [&](const auto& each) {
    return links.count(each.id) == 0 && a.deserted.count(each.id) != 0;
  });
  // Whoever was a member waits for the others to come back.
  if (!all || past) {
    a.deserted_since.reset();
  } else if (!a.deserted_since) {
    a.deserted_since = now;
  } else if (now - *a.deserted_since >= options.deserted_timeout) {
    give_up_run(std::nullopt);
  }
}

void Membership::Core::give_up_run(const std::optional<Round>& ended_with) {
  const std::optional<Round> round = ended_with;  // it may be the attempt's own
  attempt.reset();
  state = MembershipState::kOutside;
  beat_at = kNever;
  sink.on_run_gone(round);
}

}  // namespace weft
