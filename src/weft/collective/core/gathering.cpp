#include "weft/collective/parts/gathering.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/frame_type.h"

namespace weft {

// The awaited members are reported after the first, and again after each second one.
static constexpr Duration kReportAwaited = std::chrono::seconds(2);
static constexpr Duration kReportAwaitedAgain = std::chrono::seconds(10);
static constexpr std::size_t kAwaitedNamed = 6;

// The runs from that of the state on, of which the first led to the new one after `round`.
static std::vector<PastRun> history_from(std::vector<PastRun> history, const RunId& run,
                                         Round round) {
  const auto found = std::ranges::find(history, run, &PastRun::run);
  if (found != history.end()) history.erase(history.begin(), found);
  for (PastRun& past : history) {
    past.until = std::min(past.until, round);
    past.proof = {};
  }
  return history;
}

void Gathering::begin() {
  if (!core_.options.gather_states) return;
  if (const std::optional<VoterRecord>& past = core_.options.membership.past) {
    state_.own_history = history_of(*past);
    state_.own_generation = past->generation;
    for (const PastRun& run : state_.own_history) {
      if (run.run == core_.options.held_run) state_.own_generation = run.generation;
    }
  }
  state_.open = core_.start.members() > 1 || !awaited().empty();
  core_.membership.gather(state_.open);
  core_.server.hold_offers(state_.open);
  state_.reported_at = core_.now() + kReportAwaited;
  if (!state_.open) end();
}

void Gathering::on_held_state(const PeerId& from, const HeldStateMessage& held) {
  // As long as those that are waited for keep coming, the others are given their time.
  const std::vector<PeerId> missing = awaited();
  if (std::ranges::count(missing, from) != 0) core_.start.wait_anew();
  HeldState& taken = state_.held[from];
  taken = {};
  if (held.round == Round() && held.history.empty()) return;
  const MembershipOptions& own = core_.options.membership;
  Result<HeldClaim> checked =
      own.past ? check_claim(*own.past, held, from, own.run)
               : unavailable("peer " + from.short_name() +
                             " offers a state, and this peer has no membership record by which to "
                             "prove that it is of this run; it is not taken");
  if (!checked.ok()) {
    // Also whom it remembers does not count.
    if (held.round > core_.trainer.round()) {
      core_.news.report(SwarmEventKind::kStartWaiting, checked.status().message()).peer = from;
    }
    return;
  }
  taken = {std::move(checked).value(), held};
}

const HeldStateMessage* Gathering::held_by(const PeerId& peer) const {
  const auto found = state_.held.find(peer);
  return found == state_.held.end() ? nullptr : &found->second.message;
}

// The members of the newest view in any record here that have not arrived yet.
std::vector<PeerId> Gathering::awaited() const {
  std::pair<std::uint32_t, std::uint64_t> newest;
  std::vector<PeerId> members;
  const std::optional<VoterRecord>& past = core_.options.membership.past;
  if (past) {
    std::uint32_t generation = 0;
    for (const PastRun& run : state_.own_history) {
      if (run.run == past->view_run) generation = run.generation;
    }
    newest = {generation, past->view};
    members = past->members;
  }
  for (const auto& [peer, held] : state_.held) {
    const std::pair theirs(held.claim.view_generation, held.message.view);
    if (theirs <= newest) continue;
    newest = theirs;
    members = held.message.members;
  }
  std::erase_if(members, [&](const PeerId& peer) {
    return peer == core_.self() || state_.held.contains(peer);
  });
  return members;
}

void Gathering::report_awaited(const std::vector<PeerId>& missing) {
  if (core_.now() < state_.reported_at) return;
  state_.reported_at = core_.now() + kReportAwaitedAgain;
  std::string names;
  for (std::size_t i = 0; i < missing.size() && i < kAwaitedNamed; ++i) {
    names += (i == 0 ? " " : ", ") + missing[i].short_name();
  }
  if (missing.size() > kAwaitedNamed) names += ", ...";
  const double left = to_seconds(core_.start.ends() - core_.now());
  const std::size_t here = state_.held.size() + 1;
  core_.news
      .report(
          SwarmEventKind::kStartWaiting,
          missing.empty()
              ? fmt::format("{} of {} members are here; waiting for the others, at most "
                            "{:.0f} s more",
                            here, core_.start.members(), left)
              : fmt::format("{} members are here; waits for{}, of the last view, which may hold a "
                            "newer state, at most {:.0f} s more",
                            here, names, left))
      .peers = missing;
}

void Gathering::settle() {
  if (!state_.open) return;
  std::erase_if(state_.held,
                [&](const auto& held) { return !core_.giving.joiners().contains(held.first); });
  if (core_.adoption.settle()) return;
  const std::vector<PeerId> missing = awaited();
  const bool all =
      missing.empty() && state_.held.size() + 1 >= static_cast<std::size_t>(core_.start.members());
  if (!all && !core_.start.overdue()) return report_awaited(missing);
  const auto rank = [](const auto& held) {
    return std::pair(held.second.claim.generation, held.second.claim.round);
  };
  const auto newest = std::ranges::max_element(state_.held, {}, rank);
  const std::pair own(state_.own_generation, core_.trainer.round());
  if (newest != state_.held.end() && rank(*newest) > own) {
    return core_.adoption.begin(newest->first);
  }
  end();
}

TimePoint Gathering::deadline() const {
  if (core_.adoption.open()) return core_.adoption.until();
  return state_.open ? std::min(state_.reported_at, core_.start.ends()) : TimePoint::max();
}

void Gathering::on_adopted(const PeerId& holder, Round round) {
  const auto held = state_.held.find(holder);
  if (held == state_.held.end()) return;
  state_.own_generation = held->second.claim.generation;
  held->second.claim.round = std::min(held->second.claim.round, round);
}

void Gathering::end() {
  state_.open = false;
  core_.membership.gather(false);
  core_.server.hold_offers(false);
  std::uint32_t generation = state_.own_generation;
  for (const PastRun& run : state_.own_history) generation = std::max(generation, run.generation);
  for (const auto& [peer, held] : state_.held) {
    generation = std::max(generation, held.claim.generation);
  }
  state_.taken = make_taken(generation + 1);
  core_.membership.set_history(state_.taken.history, core_.now());
  for (const PeerId& peer : core_.giving.joiners()) {
    core_.outlet.send_message(peer, frame_type::kHeldState, state_.taken);
  }
  // The newcomers that are here begin with the others.
  core_.start.expect(static_cast<int>(state_.held.size()) + 1);
  core_.start.wait_anew();
  state_.held.clear();
}

// What the state of the new run comes from, which is of that generation.
HeldStateMessage Gathering::make_taken(std::uint32_t generation) const {
  const Round round = core_.trainer.round();
  const std::optional<PeerId>& from = core_.adoption.taken_from();
  const HeldStateMessage* held = from ? held_by(*from) : nullptr;
  HeldStateMessage taken{round, core_.adoption.taken_root()};
  taken.history = held != nullptr ? history_from(held->history, held->run, round)
                                  : history_from(state_.own_history, core_.options.held_run, round);
  taken.history.insert(taken.history.begin(),
                       {core_.options.membership.run, generation, kUntilUnknown, {}});
  if (taken.history.size() > kPastRunsMax) taken.history.resize(kPastRunsMax);
  return taken;
}

void Gathering::send_taken(const PeerId& joiner) {
  if (state_.taken.history.empty()) return;
  core_.outlet.send_message(joiner, frame_type::kHeldState, state_.taken);
}

void Gathering::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
