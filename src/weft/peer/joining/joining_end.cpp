// A newcomer that was accepted: which members it must reach to be admitted, how long it waits, and
// how it learns that the run is over.
#include <algorithm>
#include <chrono>

#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// Between two requests of a joiner to be admitted, to the same member.
constexpr Duration kAdmissionGap = std::chrono::milliseconds(1500);
// How many of the unreachable members are named.
constexpr std::size_t kUnreachedNamed = 4;
// What a newcomer waits for is reported when it changes, at most once in the first, and again after
// the second.
constexpr Duration kWaitReportGap = std::chrono::seconds(1);
constexpr Duration kWaitRepeatGap = std::chrono::seconds(10);
// How long the last message may take to arrive.
constexpr Duration kLastWords = std::chrono::seconds(2);

}  // namespace

void Joining::join_timer() {
  watch_end();
  if (!state_.attempt) return;
  if (core_.now >= state_.attempt->ends) {
    std::string text = "no member let this peer in within the join timeout";
    if (core_.past.life() && core_.past.life()->view.size() == 1) {
      text +=
          " (it was alone in its last view, so nobody else has its state: weft run --resume "
          "goes on from it)";
    }
    fail_join(state_.attempt->last.with_context(text));
    return;
  }
  JoinAttempt& a = *state_.attempt;
  if (core_.now >= a.ask_at) {
    a.ask_at = kNever;
    if (a.asked && core_.links.up(*a.asked)) {
      send_request();
    } else {
      ask_next();
    }
  }
  if (a.asked && core_.now >= a.attempt_ends) {
    a.last = timed_out("peer " + a.asked->short_name() + " does not answer");
    ask_next();
  }
  if (core_.state == MembershipState::kSyncing) watch_reach();
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): `why` may be part of the attempt that ends.
void Joining::fail_join(Status why) {
  state_.attempt.reset();
  core_.state = MembershipState::kOutside;
  core_.beat_at = kNever;
  core_.sink.on_join_failed(why);
}

// Whether the joiner has a link with each member: without it, it would be removed again.
bool Joining::reaches_all() const {
  return std::all_of(state_.attempt->known.members.begin(), state_.attempt->known.members.end(),
                     [&](const Member& member) {
                       return member.id == core_.options.self || core_.links.up(member.id);
                     });
}

std::vector<Member> Joining::unreached() const {
  std::vector<Member> members;
  for (const Member& member : state_.attempt->known.members) {
    if (member.id != core_.options.self && !core_.links.up(member.id)) members.push_back(member);
  }
  return members;
}

std::string Joining::unreached_text(const std::vector<Member>& members) const {
  std::string text = "no path to";
  std::size_t named = 0;
  for (const Member& member : members) {
    if (named++ == kUnreachedNamed) {
      text += " and " + std::to_string(members.size() - kUnreachedNamed) + " more";
      break;
    }
    text += (named == 1 ? " peer " : ", peer ") + member.id.short_name();
    if (!member.endpoints.empty()) text += " at " + member.endpoints.front();
    const auto why = state_.attempt->dial_failures.find(member.id);
    if (why != state_.attempt->dial_failures.end()) text += " (" + why->second + ")";
  }
  return text +
         "; each member needs a link with every other: open or map a port here or there, or let a "
         "member relay that both can reach";
}

// A member that no other reaches is soon out of the view. One that only this joiner cannot reach
// stays, and the joiner takes the place of another newcomer: so it does not wait for ever.
void Joining::watch_reach() {
  JoinAttempt& a = *state_.attempt;
  if (reaches_all()) {
    a.unreached_since.reset();
    a.unreached_reported = false;
    a.dial_failures.clear();
    return;
  }
  if (!a.unreached_since) a.unreached_since = core_.now;
  const Duration waited = core_.now - *a.unreached_since;
  if (a.caught_up && waited >= core_.options.unreached_timeout) {
    fail_join(unavailable("not let in: " + unreached_text(unreached())));
  } else if (!a.unreached_reported && waited >= core_.options.bad_link_timeout) {
    a.unreached_reported = true;
    const std::vector<Member> missing = unreached();
    core_.sink.on_unreached(missing, unreached_text(missing));
  }
}

void Joining::dial_known() {
  for (const Member& member : state_.attempt->known.members) {
    if (member.id == core_.options.self || core_.links.up(member.id)) continue;
    core_.sink.connect({member.id, member.endpoints});
  }
}

void Joining::admit_again() {
  if (!state_.attempt || core_.state != MembershipState::kSyncing || state_.attempt->over) return;
  if (!state_.attempt->sponsor || !state_.attempt->caught_up || !reaches_all()) return;
  const AdmitRequestMessage request{core_.options.incarnation, *state_.attempt->caught_up};
  for (const Member& member : state_.attempt->known.members) {
    if (!core_.links.up(member.id)) continue;
    // A member that does not know of this joiner treats it as a stranger, which may not send much.
    const auto [asked, first] = state_.attempt->admission_asked.try_emplace(member.id, core_.now);
    if (!first && core_.now - asked->second < kAdmissionGap) continue;
    asked->second = core_.now;
    core_.send(member.id, frame_type::kAdmitRequest, request);
  }
}

// The joiner: a living member reports that it is worth the wait.
void Joining::wait_on(const std::string& text) {
  JoinAttempt& a = *state_.attempt;
  if (a.ends != kNever) a.ends = core_.now + core_.options.join_timeout;
  const bool reported = !a.waiting_text.empty();
  const Duration since = core_.now - a.waiting_reported_at;
  if (reported && since < (text == a.waiting_text ? kWaitRepeatGap : kWaitReportGap)) return;
  a.waiting_text = text;
  a.waiting_reported_at = core_.now;
  core_.sink.on_join_waiting(text);
}

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

// The member that ends last informs the newcomers that it does not serve them any more. If none
// does, because it was killed or a link broke, a time limit decides.
void Joining::watch_end() {
  JoinAttempt& a = *state_.attempt;
  if (a.over) {
    if (still_served()) {
      a.unserved_since.reset();
    } else if (!a.unserved_since) {
      a.unserved_since = core_.now;
    }
    const bool reported = a.unserved_since && !a.no_more.empty();
    const bool lost = a.unserved_since && core_.now - *a.unserved_since >= kLastWords;
    if (reported || lost || (a.over_until != TimePoint{} && core_.now >= a.over_until)) {
      give_up_run(a.over);
    }
    return;
  }
  const bool all = std::all_of(a.candidates.begin(), a.candidates.end(), [&](const auto& each) {
    return !core_.links.up(each.id) && a.deserted.count(each.id) != 0;
  });
  // A former member waits for the others to return.
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
