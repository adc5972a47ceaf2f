#include "weft/collective/parts/branches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

static std::string name_of(const Hash256& branch) { return PeerId{branch}.short_name(); }

// The state without its history; nothing where it has none.
static SharedBytes without_history(const SharedBytes& state) {
  const Result<std::size_t> before = StateHistory::bytes_in(state.span());
  if (!before.ok()) return {};
  return state.slice(*before, state.size() - *before);
}

// The part of the mean that is the other branch's.
static double weight_of(const MergeDirective& said) {
  const auto theirs = static_cast<double>(said.samples);
  const double all = theirs + static_cast<double>(said.own_samples);
  return all > 0 ? theirs / all : 0;
}

std::uint64_t Branches::samples_after(Round round) const {
  return round.value() * core_.options.samples_a_round + state_.samples_added;
}

bool Branches::fits(const Lineage& lineage) const {
  return !core_.merges() ||
         (state_.history.branch == lineage.branch() && state_.history.absorbed == lineage.absorbed);
}

Bytes Branches::history() const { return core_.merges() ? state_.history.encode() : Bytes(); }

bool Branches::must_offer() const {
  return core_.is_member() && core_.view().yields_to && state_.offered_in != core_.view().id;
}

// --- Views.

void Branches::follow_lineage(const View& view, const ViewChange& change) {
  const bool stayed = std::exchange(state_.in_view, true);
  if (!core_.merges()) return;
  StateHistory& own = state_.history;
  if (!stayed) {
    state_.samples_added = own.samples;
  } else if (own.branch != view.lineage.branch()) {
    own.branch = view.lineage.branch();
    core_.giving.forget();
    report_split(view);
  }
  // After views that were missed another merge may have been among them.
  if (view.merge && stayed && !change.caught_up) expect_merge(view);
  const auto& absorbed = merging() ? state_.merging.back().absorbed : own.absorbed;
  if (own.branch != view.lineage.branch() || absorbed != view.lineage.absorbed) {
    state_.foreign = "its state lacks what the view's members have averaged in";
  } else if (stayed && core_.rounds.committed() > view.base_round) {
    state_.foreign = "its state is ahead of the view's";
  }
  report_yielding(view);
}

void Branches::expect_merge(const View& view) {
  state_.samples_added += view.merge->samples;
  const std::optional<SharedBytes> state = merge_states_.take(view.merge->snapshot);
  if (!state) return;
  state_.merging.push_back(
      {view.base_round, *view.merge, view.lineage.absorbed, without_history(*state)});
}

void Branches::report_split(const View& view) {
  SwarmEvent& event = core_.news.report(
      SwarmEventKind::kSplit,
      fmt::format("{} members go on by themselves after round {}, as branch {} of the run; it "
                  "merges with the others when they meet again",
                  view.size(), view.base_round.value(), name_of(view.lineage.branch())));
  event.round = view.base_round;
  event.merge.branch = name_of(view.lineage.branch());
  for (const Member& member : view.members) event.peers.push_back(member.id);
}

void Branches::report_yielding(const View& view) {
  const bool before = std::exchange(state_.yielding, view.yields_to.has_value());
  if (before || !state_.yielding) return;
  const std::string name = name_of(*view.yields_to);
  SwarmEvent& event = core_.news.report(
      SwarmEventKind::kYielding,
      fmt::format("another branch, {}, has learned more: rounds wait until it has taken the "
                  "state after round {}",
                  name, view.base_round.value()));
  event.round = view.base_round;
  event.merge.branch = name;
}

void Branches::leave() {
  state_.in_view = false;
  if (!core_.merges()) return;
  state_.merging.clear();
  merge_states_.clear();
  core_.giving.forget();
  state_.offered_in.reset();
  state_.yielding = false;
  // Where it returns, rounds may have smaller numbers, and other results.
  core_.comparison = StateComparison(core_.self());
  core_.log.clear();
  core_.rounds.restart_at(Round());
}

void Branches::drop_out() {
  if (foreign()) core_.membership.drop_out(std::exchange(state_.foreign, {}), core_.now());
}

// A joiner's, where the members have come to another branch meanwhile or averaged one in.
void Branches::drop_foreign_state() {
  const bool syncing = core_.membership.state() == MembershipState::kSyncing;
  if (!syncing || !core_.trainer.has_state() || fits(core_.way.sync_view().lineage)) return;
  core_.trainer.drop_state();
  core_.taking.drop_snapshot();
  core_.way.ask_again();
  core_.log.clear();
  core_.taking.stop();
}

// --- Merging.

void Branches::on_offer(const MergeOffer& offer) {
  // Nothing follows any more that others could go on with.
  if (core_.ending.at_last_round()) return;
  for (const Member& member : offer.view.members) {
    if (!core_.view().contains(member.id)) core_.transport.connect({member.id, member.endpoints});
  }
  merge_states_.offer(offer, core_.now());
}

std::vector<PeerId> Branches::linked_sources() const {
  std::vector<PeerId> out = merge_states_.wanted_sources();
  std::erase_if(out, [&](const PeerId& peer) {
    return peer == core_.self() || core_.view().contains(peer) || !core_.transport.linked(peer);
  });
  return out;
}

bool Branches::from_source(const PeerId& peer) const {
  return core_.merges() && core_.is_member() && !core_.view().contains(peer) &&
         merge_states_.is_source(peer);
}

Status Branches::on_frame(const PeerId& from, const FrameView& frame) {
  core_.membership.on_sign_of_life(from, core_.now());
  return merge_states_.on_frame(from, frame, core_.now());
}

void Branches::on_link_down(const PeerId& peer) { merge_states_.on_link_down(peer, core_.now()); }

void Branches::on_timer() { merge_states_.on_timer(core_.now()); }

void Branches::settle() {
  if (!core_.merges()) return;
  drop_foreign_state();
  if (core_.is_member()) merge_states_.set_sources(linked_sources(), core_.now());
  for (const Hash256& root : merge_states_.take_ready()) {
    core_.membership.merge_ready(root, core_.now());
  }
  offer_own_state();
}

void Branches::offer_own_state() {
  const TrainerSide& trainer = core_.trainer;
  const bool at_base = must_offer() && trainer.has_state() && !merging() &&
                       fits(core_.view().lineage) && trainer.round() == core_.rounds.committed();
  const std::optional<Hash256>& root = core_.giving.root();
  if (!at_base || core_.giving.published() != trainer.round() || !root) return;
  if (!core_.server.has(*root)) return core_.giving.forget();
  state_.offered_in = core_.view().id;
  core_.membership.offer_state(*root, core_.now());
}

Turn Branches::merge_turn() const {
  const Merging& next = state_.merging.front();
  Turn turn = core_.trainer.make_turn(TurnKind::kMerge, core_.trainer.round());
  turn.state = next.state;
  turn.weight = weight_of(next.directive);
  return turn;
}

void Branches::on_merged() {
  const Merging done = std::move(state_.merging.front());
  state_.merging.pop_front();
  state_.history.absorbed = done.absorbed;
  state_.history.samples += done.directive.samples;
  core_.giving.forget();
  const MergeDirective& said = done.directive;
  const double weight = weight_of(said);
  SwarmEvent& event = core_.news.report(
      SwarmEventKind::kMerged,
      fmt::format("branch {} has merged into this one: its state after round {} was averaged in "
                  "with a weight of {:.3f}, for {} samples against {}",
                  name_of(said.branch), said.round.value(), weight, said.samples,
                  said.own_samples));
  event.round = done.round;
  event.merge = {name_of(said.branch), weight, said.samples, said.own_samples};
}

void Branches::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
