// SwarmCore: branches of a run: which state belongs to which, and how two become one.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/core/swarm_core.h"

namespace weft {

// A state of another branch came: the members may not have heard of the newest view yet.
static constexpr Duration kFetchAgain = std::chrono::seconds(1);

static std::string name_of(const Hash256& branch) { return PeerId{branch}.short_name(); }

// The state without its history; nothing where it has none.
static SharedBytes without_history(const SharedBytes& state) {
  const Result<std::size_t> before = StateHistory::bytes_in(state.span());
  if (!before.ok()) return {};
  return state.slice(*before, state.size() - *before);
}

std::uint64_t SwarmCore::samples_after(Round round) const {
  return round.value() * options_.samples_a_round + samples_added_;
}

// --- Views.

// What a view means for this member's state: the branch that it is of, and what is averaged in.
void SwarmCore::follow_lineage(const View& view, const ViewChange& change) {
  const bool stayed = std::exchange(in_view_, true);
  if (!merges()) return;
  if (!stayed) {
    samples_added_ = history_.samples;
  } else if (history_.branch != view.lineage.branch()) {
    history_.branch = view.lineage.branch();
    forget_snapshots();
    tell_split(view);
  }
  // After views that were missed another merge may have been among them.
  if (view.merge && stayed && !change.caught_up) expect_merge(view);
  const auto& absorbed = merging_.empty() ? history_.absorbed : merging_.back().absorbed;
  if (history_.branch != view.lineage.branch() || absorbed != view.lineage.absorbed) {
    foreign_ = "its state lacks what the view's members have averaged in";
  } else if (stayed && rounds_.committed() > view.base_round) {
    foreign_ = "its state is ahead of the view's";
  }
  tell_yielding(view);
}

void SwarmCore::expect_merge(const View& view) {
  samples_added_ += view.merge->samples;
  const std::optional<SharedBytes> state = merge_states_.take(view.merge->snapshot);
  if (!state) return;
  merging_.push_back(
      {view.base_round, *view.merge, view.lineage.absorbed, without_history(*state)});
}

void SwarmCore::tell_split(const View& view) {
  SwarmEvent& told = event(
      SwarmEventKind::kSplit,
      fmt::format("{} members go on by themselves after round {}, as branch {} of the run; it "
                  "becomes one with the others when they meet again",
                  view.size(), view.base_round.value(), name_of(view.lineage.branch())));
  told.round = view.base_round;
  told.merge.branch = name_of(view.lineage.branch());
  for (const Member& member : view.members) told.peers.push_back(member.id);
}

void SwarmCore::tell_yielding(const View& view) {
  const bool before = std::exchange(yielding_, view.yields_to.has_value());
  if (before || !yielding_) return;
  const std::string name = name_of(*view.yields_to);
  SwarmEvent& told =
      event(SwarmEventKind::kYielding,
            fmt::format("another branch, {}, has learned more: rounds wait until it has taken the "
                        "state after round {}",
                        name, view.base_round.value()));
  told.round = view.base_round;
  told.merge.branch = name;
}

void SwarmCore::leave_branch() {
  in_view_ = false;
  if (!merges()) return;
  merging_.clear();
  merge_states_.clear();
  forget_snapshots();
  offered_in_.reset();
  yielding_ = false;
  // Where it comes back rounds may have smaller numbers, and other results.
  comparison_ = StateComparison(options_.membership.self);
  log_.clear();
  rounds_.restart_at(Round());
}

// --- Snapshots.

void SwarmCore::forget_snapshots() {
  server_.forget_all();
  published_.reset();
  published_root_.reset();
}

// False for one of before a merge, or of another branch, that was under way meanwhile.
bool SwarmCore::keep_published(const StateSnapshot& snapshot) {
  if (!merges()) return true;
  const Bytes history = history_.encode();
  const ByteSpan state = snapshot.state.span();
  const bool own =
      state.size() >= history.size() && std::ranges::equal(state.first(history.size()), history);
  if (published_ == snapshot.name.round) {
    published_root_ = snapshot.name.root;
    if (!own) forget_snapshots();
  }
  return own;
}

bool SwarmCore::take_fetched_snapshot() {
  std::optional<StateFetch::Snapshot> fetched = fetch_.take_snapshot(now());
  if (!fetched) return false;
  if (merges()) {
    fetched_history_ = {};
    const Result<std::size_t> before = StateHistory::bytes_in(fetched->state.span());
    bool fits_group = before.ok();
    if (fits_group) {
      Result<StateHistory> history = StateHistory::decode(fetched->state.span().first(*before));
      const Lineage& wanted = (is_member() ? view() : sync_view_).lineage;
      fits_group = history.ok() && history->branch == wanted.branch() &&
                   history->absorbed == wanted.absorbed;
      if (fits_group) fetched_history_ = *std::move(history);
    }
    if (!fits_group) {
      stop_fetch();
      refetch_at_ = now() + kFetchAgain;
      return false;
    }
    fetched->state = fetched->state.slice(*before, fetched->state.size() - *before);
  }
  snapshot_ = std::move(fetched);
  return true;
}

// A joiner's, where the members have come to another branch meanwhile or averaged one in.
void SwarmCore::drop_foreign_state() {
  const bool syncing = membership_.state() == MembershipState::kSyncing;
  if (!syncing || !has_state_ || fits(sync_view_.lineage)) return;
  has_state_ = false;
  snapshot_.reset();
  admission_asked_.reset();
  log_.clear();
  stop_fetch();
}

// --- Merging.

void SwarmCore::on_merge_offer(const MergeOffer& offer) {
  // Nothing follows any more that others could go on with.
  if (at_end()) return;
  for (const Member& member : offer.view.members) {
    if (!view().contains(member.id)) transport_.connect({member.id, member.endpoints});
  }
  merge_states_.offer(offer, now());
}

std::vector<PeerId> SwarmCore::merge_sources() const {
  std::vector<PeerId> out = merge_states_.wanted_sources();
  std::erase_if(out, [&](const PeerId& peer) {
    return peer == options_.membership.self || view().contains(peer) || !transport_.linked(peer);
  });
  return out;
}

bool SwarmCore::from_merge_source(const PeerId& peer) const {
  return merges() && is_member() && !view().contains(peer) && merge_states_.is_source(peer);
}

bool SwarmCore::must_offer() const {
  return is_member() && view().yields_to && offered_in_ != view().id;
}

void SwarmCore::settle_branches() {
  if (!merges()) return;
  drop_foreign_state();
  if (is_member()) merge_states_.set_sources(merge_sources(), now());
  for (const Hash256& root : merge_states_.take_ready()) membership_.merge_ready(root, now());
  const bool at_base = must_offer() && has_state_ && merging_.empty() && fits(view().lineage) &&
                       trainer_round_ == rounds_.committed();
  if (!at_base || published_ != trainer_round_ || !published_root_) return;
  if (server_.has(*published_root_)) {
    offered_in_ = view().id;
    membership_.offer_state(*published_root_, now());
  } else {
    forget_snapshots();
  }
}

std::optional<Turn> SwarmCore::merge_turn() {
  const Merging& next = merging_.front();
  const auto theirs = static_cast<double>(next.directive.samples);
  const double all = theirs + static_cast<double>(next.directive.own_samples);
  Turn turn = make_turn(TurnKind::kMerge, trainer_round_);
  turn.state = next.state;
  turn.weight = all > 0 ? theirs / all : 0;
  return turn;
}

void SwarmCore::on_merged() {
  const Merging done = std::move(merging_.front());
  merging_.pop_front();
  history_.absorbed = done.absorbed;
  history_.samples += done.directive.samples;
  forget_snapshots();
  const MergeDirective& said = done.directive;
  const double all = static_cast<double>(said.samples) + static_cast<double>(said.own_samples);
  const double weight = all > 0 ? static_cast<double>(said.samples) / all : 0;
  SwarmEvent& told =
      event(SwarmEventKind::kMerged,
            fmt::format("branch {} is one with this one: its state after round {} was averaged in "
                        "with a weight of {:.3f}, for {} samples against {}",
                        name_of(said.branch), said.round.value(), weight, said.samples,
                        said.own_samples));
  told.round = done.round;
  told.merge = {name_of(said.branch), weight, said.samples, said.own_samples};
}

}  // namespace weft
