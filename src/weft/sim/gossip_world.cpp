#include "weft/sim/gossip_world.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/gossip/book/address_book.h"
#include "weft/train/run/wiring.h"

namespace weft::sim {
namespace {

Hash128 parameters_hash(const std::vector<float>& values) {
  return xxh3_128(as_bytes(std::span<const float>(values)));
}

}  // namespace

Result<std::unique_ptr<World>> GossipWorld::make(const Recipe& recipe, const DataPlaces& places,
                                                 const WorldOptions& options,
                                                 const WorldEvents& events,
                                                 const Trainer::Review& review) {
  // Trace and churn bring new peers in place of those that left, which a book forgets in time.
  if (static_cast<std::size_t>(options.peers) + options.joins.size() > kBookRecordsMax) {
    return invalid_argument(
        fmt::format("--peers: expected at most {} with group.exchange = \"gossip\", whose members "
                    "each keep a book of all, got {}",
                    kBookRecordsMax, options.peers));
  }
  Recipe own = recipe;
  own.group.start_members = options.peers;
  std::unique_ptr<GossipWorld> world(new GossipWorld(options, events));
  WEFT_TRY_ASSIGN(world->trainer_, GossipTrainer::make(own, places, world->clock(), review));
  world->gossip_ = gossip_options(own, world->trainer().layout(), {}).gossip;
  world->gossip_.run = make_run_id(recipe_hash(own), world->seeded_hash("run", 0));
  return std::unique_ptr<World>(std::move(world));
}

void GossipWorld::add_member(bool newcomer) {
  const std::size_t index = size();
  const std::vector<std::size_t> there = running();
  GossipPeerSettings settings;
  settings.gossip = gossip_;
  const std::vector<PublicKey>& keys = options().keys;
  settings.gossip.signer =
      repeated_signer(index < keys.size() ? keys[index] : sha256(seeded_hash("peer", index)));
  settings.gossip.newcomer = newcomer;
  settings.samples_per_second = speed_of(index);
  settings.liar = liar(index);
  settings.on_round = [this, index](const GossipMix& mix, const RoundReport& report) {
    on_round(index, mix, report);
  };
  auto peer = std::make_unique<GossipPeer>(network(), std::move(settings), *trainer_);
  members_.push_back(peer.get());
  add(std::move(peer));
  std::vector<PeerAddress> others;
  if (!there.empty()) others.push_back(members_[there[rng().below(there.size())]]->address());
  members_.back()->start(others);
}

void GossipWorld::start() {
  for (int i = 0; i < options().peers; ++i) add_member(false);
}

void GossipWorld::join_late() {
  if (running().empty()) return;
  say(fmt::format("peer {} joins", size()));
  add_member(true);
}

bool GossipWorld::ended() const {
  const std::vector<std::size_t> there = running();
  return std::ranges::all_of(there,
                             [this](std::size_t index) { return members_[index]->finished(); });
}

void GossipWorld::on_round(std::size_t index, const GossipMix& mix, const RoundReport& report) {
  Sums& sums = rounds_[mix.round];
  sums.report.loss += report.loss * report.samples;
  sums.report.correct += report.correct;
  sums.report.samples += report.samples;
  sums.report.labels += report.labels;
  ++sums.members;
  const Hash128 state = parameters_hash(members_[index]->parameters());
  for (std::size_t i = 0; i < state.size(); ++i) {
    sums.states[i] = static_cast<std::uint8_t>(sums.states[i] ^ state[i]);
  }
  on_applied(mix.round, state);
  show_complete_rounds();
}

void GossipWorld::show_complete_rounds() {
  const std::vector<std::size_t> there = running();
  // A newcomer begins with a later round than the others' newest.
  const auto first_peers = static_cast<std::size_t>(options().peers);
  while (!rounds_.empty()) {
    const Round first = rounds_.begin()->first;
    const bool complete = std::ranges::all_of(there, [&](std::size_t index) {
      const GossipPeer& peer = *members_[index];
      const bool comes = index >= first_peers && peer.rounds_done() == Round();
      return comes || peer.rounds_done() >= first;
    });
    if (!complete) return;
    const Sums sums = rounds_.extract(rounds_.begin()).mapped();
    StepReport report;
    report.metrics.loss = sums.report.samples > 0 ? sums.report.loss / sums.report.samples : 0;
    report.metrics.correct = sums.report.correct;
    report.metrics.samples = sums.report.samples;
    report.metrics.labels = sums.report.labels;
    show(first, sums.members, report, sums.states);
  }
}

MemberModels GossipWorld::honest_models() const {
  MemberModels models;
  for (const GossipPeer* const member : members_) {
    if (member->finished() && member->honest()) models.emplace_back(member->parameters());
  }
  return models;
}

void GossipWorld::fill(WorldResult& result) {
  if (result.finished == 0) return;
  std::string all;
  for (GossipPeer* const member : members_) {
    if (!member->finished()) continue;
    result.members.push_back({member->id(), member->digest()});
    all += result.members.back().state;
  }
  result.state_hash = to_hex(sha256(as_bytes(std::string_view(all))));
  const bool any_honest = std::ranges::any_of(
      members_, [](const GossipPeer* member) { return member->finished() && member->honest(); });
  if (!any_honest) return;
  const MemberModels models = honest_models();
  const std::vector<float> mean = members_mean(models, static_cast<std::size_t>(gossip_.elements));
  result.distance = members_distance(models, mean);
  if (!trainer().recipe().run.evaluate) return;
  const Result<RoundReport> measured = trainer_->evaluate(mean);
  if (measured.ok()) result.mean_model = *measured;
}

}  // namespace weft::sim
