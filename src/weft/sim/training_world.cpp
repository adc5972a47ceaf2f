#include "weft/sim/training_world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/collective/swarm/swarm_core_options.h"
#include "weft/collective/verify/sim_signer.h"
#include "weft/train/run/wiring.h"

namespace weft::sim {
namespace {

constexpr Duration kWorldTicketValid = std::chrono::hours(24 * 365);
constexpr Duration kJoinTakes = std::chrono::seconds(2);
constexpr Duration kJoinRetry = std::chrono::milliseconds(20);

}  // namespace

Result<std::unique_ptr<World>> TrainingWorld::make(const Recipe& recipe, const DataPlaces& places,
                                                   const WorldOptions& options,
                                                   const WorldEvents& events,
                                                   const Trainer::Review& review) {
  if (!options.keys.empty()) {
    return invalid_argument(
        "--identity: the state of members that agree does not depend on their ids; expected "
        "group.exchange = \"gossip\"");
  }
  Recipe own = recipe;
  own.group.start_members = options.peers;
  std::unique_ptr<TrainingWorld> world(new TrainingWorld(options, events));
  WEFT_TRY_ASSIGN(world->trainer_, GroupTrainer::make(own, places, world->clock(), review));
  const Trainer& trainer = world->trainer_->trainer();
  SwarmOptions swarm = swarm_options(own, trainer.layout(), {});
  const RunId run = make_run_id(recipe_hash(own), world->seeded_hash("run", 0));
  swarm.membership.run = run;
  swarm.membership.invitation_key = world->seeded_hash("key", 0);
  swarm.recipe_text = canonical_text(own);
  world->run_id_ = to_hex(run);
  world->core_options_ = core_options(swarm, {});
  // They come one after the other, which takes the longer the more there are.
  world->core_options_.start_timeout += kJoinTakes * own.group.start_members;
  return std::unique_ptr<World>(std::move(world));
}

SwarmMember& TrainingWorld::add_member() {
  const std::size_t index = size();
  SwarmMemberSettings settings;
  settings.id.bytes = seeded_hash("peer", index);
  settings.run_id = run_id_;
  settings.seed = rng().next_u64();
  settings.incarnation = static_cast<std::uint64_t>(network().now().time_since_epoch().count()) + 1;
  settings.samples_per_second = speed_of(index);
  settings.liar = liar(index);
  MemberWatch& watch = *this;
  SwarmCoreOptions options = core_options_;
  // Its name comes from the seed, not from a key.
  options.rounds.all_reduce.verification.signer = make_sim_signer(settings.id);
  auto member = std::make_unique<SwarmMember>(network(), std::move(options), std::move(settings),
                                              *trainer_, watch);
  members_.push_back(member.get());
  add(std::move(member));
  return *members_.back();
}

// One that is in, to make a ticket.
SwarmMember* TrainingWorld::a_member() {
  for (const std::size_t index : running()) {
    if (members_[index]->core().state() == MembershipState::kMember) return members_[index];
  }
  return nullptr;
}

// One after the other, so that ranks are the order of the numbers.
void TrainingWorld::join_next(bool first) {
  const bool previous_is_in =
      members_.back()->core().state() == MembershipState::kMember || !members_.back()->alive();
  SwarmMember* const member = a_member();
  if (member != nullptr && (!first || previous_is_in)) {
    const Ticket ticket = member->ticket(kWorldTicketValid);
    add_member().join(ticket);
    if (first) --to_join_;
    if (!first) say(fmt::format("peer {} joins", size() - 1));
    if (!first || to_join_ == 0) return;
  }
  if (!first && running().empty()) return;
  network().call_at(network().now() + kJoinRetry, [this, first] { join_next(first); });
}

void TrainingWorld::join_late() { join_next(false); }

void TrainingWorld::start() {
  to_join_ = options().peers - 1;
  add_member().found();
  if (to_join_ > 0) join_next(true);
}

void TrainingWorld::on_round(const SwarmMember& member, const Turn& turn,
                             const StepReport& report) {
  const Hash128 state = member.state().shared->hash.total;
  const auto [known, fresh] = states_.try_emplace(turn.round.value(), state);
  if (known->second != state) {
    set_fault(fmt::format("peers differ in the state after round {}", turn.round.value()));
  }
  if (!fresh) return;
  on_applied(turn.round, state);
  show(turn.round, turn.members, report, state);
}

void TrainingWorld::on_event(const SwarmMember& member, const SwarmEvent& event) {
  if (event.kind == SwarmEventKind::kStateMismatch) set_fault(event.text);
  const std::vector<std::size_t> there = running();
  const bool speaks = !there.empty() && members_[there.front()] == &member;
  if (speaks && events().on_event) events().on_event(event);
}

bool TrainingWorld::ended() const { return to_join_ == 0 && running().empty(); }

void TrainingWorld::fill(WorldResult& result) {
  const auto last = std::find_if(members_.rbegin(), members_.rend(),
                                 [](const SwarmMember* member) { return member->finished(); });
  if (last != members_.rend()) result.state_hash = trainer_->digest((*last)->state());
}

}  // namespace weft::sim
