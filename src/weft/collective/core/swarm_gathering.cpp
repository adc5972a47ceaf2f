// SwarmCore, after all have died: the founder that resumes takes the newest state that anyone comes
// back with, before it begins its first round. Whoever comes later takes the group's.
//
// A state counts if its holder proves, by the record of the run before (peer/voter_record.h), that
// it was a member of it, and says which run its state is of. Among states of one run the later
// round is newer; a run is newer than the one that it continued. How long is waited, and for whom,
// follows from the newest last view that anyone remembers: a member of that one holds the newest
// state.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/core/swarm_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

// A joiner whose newer state does not come any further for so long is not waited for.
static constexpr Duration kHeldTimeout = std::chrono::seconds(30);
// For whom is waited is told after the first, and again after the second.
static constexpr Duration kTellAwaited = std::chrono::seconds(2);
static constexpr Duration kTellAwaitedAgain = std::chrono::seconds(10);
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

void SwarmCore::begin_gathering() {
  const std::optional<VoterRecord>& past = options_.membership.past;
  if (!options_.gather_states) return;
  if (past) {
    own_history_ = history_of(*past);
    own_generation_ = past->generation;
    for (const PastRun& run : own_history_) {
      if (run.run == options_.held_run) own_generation_ = run.generation;
    }
  }
  gathering_ = start_members_ > 1 || !awaited().empty();
  membership_.gather(gathering_);
  server_.hold_offers(gathering_);
  gathering_told_at_ = now() + kTellAwaited;
  if (!gathering_) end_gathering();
}

// What this peer was a member of goes along with its state, and who may hold a newer one.
void SwarmCore::tell_held_state(const PeerId& sponsor) {
  HeldStateMessage claim{held_round_, {}};
  if (const std::optional<VoterRecord>& past = options_.membership.past) {
    claim.run = options_.held_run;
    claim.view_run = past->view_run;
    claim.view = past->view;
    claim.members = past->members;
    if (claim.members.size() > kMembersMax) claim.members.resize(kMembersMax);
    claim.history = history_of(*past);
    const HeldStateMessage said = claim;
    for (PastRun& run : claim.history) {
      const Hash256* key = key_of(*past, run.run);
      if (key == nullptr) continue;
      run.proof = claim_proof(*key, said, options_.membership.self, options_.membership.run);
    }
  }
  send(sponsor, {frame_type::kHeldState, claim.encode(), {}});
}

void SwarmCore::on_held_state(const PeerId& from, const HeldStateMessage& held) {
  if (gathering_ && joiners_.contains(from)) return take_held_state(from, held);
  if (membership_.state() != MembershipState::kSyncing || !sync_view_.contains(from)) return;
  membership_.set_history(held.history, now());
  const bool ours = std::ranges::any_of(held.history, [&](const PastRun& past) {
    return past.run == options_.held_run && held_round_ <= past.until;
  });
  if (held_round_ > Round() && !has_state_ && !ours && !held.history.empty()) {
    event(SwarmEventKind::kStartWaiting,
          fmt::format("the state after round {} that this peer holds is not of this run's history; "
                      "it takes the group's",
                      held_round_.value()));
  }
  // The founder has taken this peer's own state: there is nothing to fetch.
  if (has_state_ || held.round != held_round_ || !server_.has(held.root)) return;
  has_state_ = true;
  trainer_round_ = held_round_;
  results_since_ = now();
  snapshot_.reset();
  stop_fetch();
  reach_end();
}

void SwarmCore::take_held_state(const PeerId& from, const HeldStateMessage& held) {
  // As long as those that are waited for keep coming, the others are given their time.
  const std::vector<PeerId> missing = awaited();
  if (std::ranges::count(missing, from) != 0) started_ = now();
  HeldState& taken = held_states_[from];
  taken = {};
  if (held.round == Round() && held.history.empty()) return;
  const std::optional<VoterRecord>& past = options_.membership.past;
  Result<HeldClaim> checked =
      past ? check_claim(*past, held, from, options_.membership.run)
           : unavailable("peer " + from.short_name() +
                         " offers a state, and this peer has no membership record by which to "
                         "prove that it is of this run; it is not taken");
  if (!checked.ok()) {
    // Also whom it remembers does not count.
    if (held.round > trainer_round_) {
      event(SwarmEventKind::kStartWaiting, checked.status().message()).peer = from;
    }
    return;
  }
  taken = {std::move(checked).value(), held};
}

// Who was in the newest view that anyone here remembers, and has not come yet.
std::vector<PeerId> SwarmCore::awaited() const {
  std::pair<std::uint32_t, std::uint64_t> newest;
  std::vector<PeerId> members;
  const std::optional<VoterRecord>& past = options_.membership.past;
  if (past) {
    std::uint32_t generation = 0;
    for (const PastRun& run : own_history_) {
      if (run.run == past->view_run) generation = run.generation;
    }
    newest = {generation, past->view};
    members = past->members;
  }
  for (const auto& [peer, held] : held_states_) {
    const std::pair theirs(held.claim.view_generation, held.message.view);
    if (theirs <= newest) continue;
    newest = theirs;
    members = held.message.members;
  }
  std::erase_if(members, [&](const PeerId& peer) {
    return peer == options_.membership.self || held_states_.contains(peer);
  });
  return members;
}

void SwarmCore::tell_awaited(const std::vector<PeerId>& missing) {
  if (now() < gathering_told_at_) return;
  gathering_told_at_ = now() + kTellAwaitedAgain;
  std::string names;
  for (std::size_t i = 0; i < missing.size() && i < kAwaitedNamed; ++i) {
    names += (i == 0 ? " " : ", ") + missing[i].short_name();
  }
  if (missing.size() > kAwaitedNamed) names += ", ...";
  const double left = to_seconds(started_ + options_.start_timeout - now());
  const std::size_t here = held_states_.size() + 1;
  event(SwarmEventKind::kStartWaiting,
        missing.empty()
            ? fmt::format("{} of {} members are here; the others are waited for, at most {:.0f} s "
                          "more",
                          here, start_members_, left)
            : fmt::format("{} members are here; waits for{}, of the last view, who may hold a "
                          "newer state, at most {:.0f} s more",
                          here, names, left))
      .peers = missing;
}

// True while the newest state is under way from its holder.
bool SwarmCore::settle_adoption() {
  if (!adopting_) return false;
  if (fetch_.bytes_received() != adopted_bytes_) {
    adopted_bytes_ = fetch_.bytes_received();
    adopt_until_ = now() + kHeldTimeout;
  }
  if (held_states_.contains(*adopting_) && now() < adopt_until_) return true;
  held_states_.erase(*adopting_);
  adopting_.reset();
  stop_fetch();
  return false;
}

void SwarmCore::settle_gathering() {
  if (!gathering_) return;
  std::erase_if(held_states_, [&](const auto& held) { return !joiners_.contains(held.first); });
  if (settle_adoption()) return;
  const std::vector<PeerId> missing = awaited();
  const bool all =
      missing.empty() && held_states_.size() + 1 >= static_cast<std::size_t>(start_members_);
  if (!all && now() < started_ + options_.start_timeout) return tell_awaited(missing);
  const auto rank = [](const auto& held) {
    return std::pair(held.second.claim.generation, held.second.claim.round);
  };
  const auto newest = std::ranges::max_element(held_states_, {}, rank);
  if (newest != held_states_.end() && rank(*newest) > std::pair(own_generation_, trainer_round_)) {
    adopting_ = newest->first;
    adopted_bytes_ = fetch_.bytes_received();
    adopt_until_ = now() + kHeldTimeout;
    sync_started_ = now();
    sources_ = {*adopting_};
    fetch_.set_sources(sources_, now());
    fetching_ = Fetching::kSnapshot;
    fetch_.fetch_snapshot(now());
    return;
  }
  end_gathering();
}

void SwarmCore::end_gathering() {
  gathering_ = false;
  membership_.gather(false);
  server_.hold_offers(false);
  std::uint32_t generation = own_generation_;
  for (const PastRun& run : own_history_) generation = std::max(generation, run.generation);
  for (const auto& [peer, held] : held_states_) {
    generation = std::max(generation, held.claim.generation);
  }
  taken_ = {trainer_round_, adopted_root_};
  taken_.history = history_from(own_history_, options_.held_run, trainer_round_);
  if (adopted_from_ && held_states_.contains(*adopted_from_)) {
    const HeldStateMessage& held = held_states_.at(*adopted_from_).message;
    taken_.history = history_from(held.history, held.run, trainer_round_);
  }
  taken_.history.insert(taken_.history.begin(),
                        {options_.membership.run, generation + 1, kUntilUnknown, {}});
  if (taken_.history.size() > kPastRunsMax) taken_.history.resize(kPastRunsMax);
  membership_.set_history(taken_.history, now());
  for (const PeerId& peer : joiners_) {
    send(peer, {frame_type::kHeldState, taken_.encode(), {}});
  }
  // Whoever has come begins with the others.
  start_members_ = static_cast<int>(held_states_.size()) + 1;
  started_ = now();
  held_states_.clear();
}

}  // namespace weft
