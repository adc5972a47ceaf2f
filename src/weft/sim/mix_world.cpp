#include "weft/sim/mix_world.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/sim/mix/poisoned_members.h"
#include "weft/train/loose/mix_trained_probe.h"

namespace weft::sim {
namespace {

// The mean of those that are there; nothing where none is.
std::optional<double> mean_of(const std::vector<std::optional<double>>& values) {
  double sum = 0;
  double count = 0;
  for (const std::optional<double>& value : values) {
    sum += value.value_or(0);
    count += value ? 1 : 0;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

Hash128 model_hash(std::span<const float> values) { return xxh3_128(as_bytes(values)); }

}  // namespace

Result<std::unique_ptr<World>> MixWorld::make(const Recipe& recipe, const DataPlaces& places,
                                              const WorldOptions& options,
                                              const WorldEvents& events,
                                              const Trainer::Review& review) {
  if (!options.joins.empty()) {
    return invalid_argument(
        "--join: expected none with group.exchange = \"mix\", whose members are there from the "
        "beginning");
  }
  if (!options.keys.empty()) {
    return invalid_argument(
        "--identity: expected none with group.exchange = \"mix\", where ids "
        "decide about nothing");
  }
  WEFT_TRY_ASSIGN(MixMethod method, mix_method(recipe));
  WEFT_TRY(method.combine.check(options.peers).with_context("mix.combine"));
  WEFT_TRY(check_faults(options, method.plan));
  WEFT_TRY_ASSIGN(const Codec codec, Codec::parse(recipe.group.wire));
  std::unique_ptr<MixWorld> world(new MixWorld(options, events, std::move(method)));
  WEFT_TRY_ASSIGN(world->trainer_, Trainer::make(recipe, places, world->clock(), review));
  WEFT_TRY(world->trainer_->prepare_evaluation());
  WEFT_TRY_ASSIGN(world->learner_,
                  MixTrainedLearner::make(recipe, world->trainer_->parts(),
                                          static_cast<std::uint32_t>(options.peers)));
  if (world->method_.outputs_only) {
    WEFT_TRY_ASSIGN(world->outputs_, mix_outputs(world->trainer_->layout()));
  }
  if (world->method_.combine.needs_judge()) WEFT_TRY(world->make_judges());
  WEFT_TRY(poison_members(options.liars, static_cast<std::uint32_t>(options.peers),
                          *world->trainer_, *world->learner_)
               .with_context("--attack"));
  if (world->method_.combine.needs_probe()) {
    WEFT_TRY_ASSIGN(world->probe_, MixTrainedProbe::make(*world->trainer_));
  }
  if (!codec.is_exact()) world->codec_ = codec;
  world->versions_ =
      round_after(recipe.run.steps, recipe.local.steps).value() * world->method_.mixes;
  return std::unique_ptr<World>(std::move(world));
}

Status MixWorld::make_judges() {
  WEFT_TRY(learner_->hold_out());
  const auto members = static_cast<std::uint32_t>(options().peers);
  for (std::uint32_t i = 0; i < members; ++i) {
    WEFT_TRY_ASSIGN(std::unique_ptr<MixTrainedJudge> judge,
                    MixTrainedJudge::make(*trainer_, *learner_, i));
    judges_.push_back(std::move(judge));
  }
  return {};
}

Status MixWorld::check_faults(const WorldOptions& options, const MixPlan& plan) {
  const bool has_rounds = plan.style() == MixStyle::kNeighbours;
  const bool comes =
      options.churn.join > 0 ||
      std::ranges::any_of(options.trace, [](const auto& event) { return event.comes; });
  if (has_rounds && comes) {
    return invalid_argument(fmt::format(
        "--churn: expected no join with mix.plan = \"{}\", whose members have rounds in "
        "common; members come in with group.exchange = \"gossip\"",
        plan.text()));
  }
  const auto hubs = std::ranges::find(options.disruptions, true, &Disruption::hubs);
  if (!has_rounds && hubs != options.disruptions.end()) {
    return invalid_argument(
        fmt::format("--disrupt: expected random with mix.plan = \"{}\", whose members have no "
                    "neighbours, got hubs",
                    plan.text()));
  }
  return {};
}

void MixWorld::start() {
  const auto members = static_cast<std::uint32_t>(options().peers);
  for (std::uint32_t i = 0; i < members; ++i) {
    addresses_.push_back({PeerId{sha256(seeded_hash("peer", i))}, {}});
  }
  for (std::uint32_t i = 0; i < members; ++i) {
    auto peer = std::make_unique<MixPeer>(network(), settings_of(i), *learner_);
    members_.push_back(peer.get());
    add(std::move(peer));
  }
  for (MixPeer* const member : members_) member->start();
}

MixPeerSettings MixWorld::settings_of(std::uint32_t member) {
  const auto members = static_cast<std::uint32_t>(options().peers);
  const Recipe& recipe = trainer().recipe();
  // Without rounds nobody ends before the others: the run does after as much work as that of so
  // many rounds.
  const bool endless = method_.plan.style() == MixStyle::kPairwise;
  MixPeerSettings settings;
  settings.node.core = {.self = member,
                        .members = members,
                        .versions = endless ? versions_ * members + 1 : versions_,
                        .steps = static_cast<std::uint32_t>(recipe.local.steps),
                        .seed = static_cast<std::uint64_t>(recipe.run.seed),
                        .tensors = mix_tensors(trainer().layout()),
                        .method = &method_,
                        .probe = probe_.get(),
                        .judge = judges_.empty() ? nullptr : judges_[member].get(),
                        .outputs = outputs_};
  settings.node.members = addresses_;
  settings.node.codec = codec_;
  settings.node.lost_may_return = true;
  settings.samples_per_second = speed_of(member);
  settings.liar = liar(member);
  settings.honest = !options().liars.lies(options().peers, member);
  unite_sybils(member, settings);
  settings.on_combined = [this, member](const MixCombined& made) {
    on_combined(*members_[member], made);
  };
  settings.run_is_over = [this] { return run_is_over(); };
  return settings;
}

// One person's members send one model, that of the first of them, although each of them mixes with
// neighbours of its own.
void MixWorld::unite_sybils(std::uint32_t member, MixPeerSettings& settings) {
  const LiarOptions& liars = options().liars;
  const bool alike = liars.data && liars.data->attackers_are_alike() &&
                     method_.plan.style() == MixStyle::kNeighbours;
  if (!alike || !liars.lies(options().peers, member)) return;
  const auto first = static_cast<std::uint32_t>(options().peers - liars.count);
  settings.node.forge = [this, is_first = member == first](const MixVector& values) {
    if (is_first || sybil_model_ == nullptr) sybil_model_ = values;
    return sybil_model_;
  };
}

// It greets all that may have taken it for lost.
bool MixWorld::comes_back(std::size_t number) {
  const auto member = static_cast<std::uint32_t>(number);
  const MixPeer& before = *members_[number];
  MixPeerSettings settings = settings_of(member);
  settings.node.core.newcomer = true;
  settings.kept = before.core().model();
  settings.steps = before.steps();
  const bool has_server = method_.plan.style() == MixStyle::kServer;
  for (std::uint32_t i = 0; i < (has_server ? 1U : settings.node.core.members); ++i) {
    if (i != member && members_[i]->alive()) settings.greeted.push_back(i);
  }
  const bool has_data = before.has_data();
  auto peer = std::make_unique<MixPeer>(network(), std::move(settings), *learner_);
  members_[number] = peer.get();
  replace(number, std::move(peer));
  if (!has_data) members_[number]->lose_data();
  members_[number]->start();
  return true;
}

bool MixWorld::may_leave(std::size_t number) const {
  return method_.plan.style() != MixStyle::kServer || number != 0;
}

std::vector<std::size_t> MixWorld::neighbours_of(std::size_t member) const {
  std::vector<std::size_t> others;
  if (method_.plan.style() != MixStyle::kNeighbours) return others;
  const auto members = static_cast<std::uint32_t>(members_.size());
  const auto self = static_cast<std::uint32_t>(member);
  for (const MixWeight& source : method_.plan.row(self, versions_, members)) {
    if (source.member != self) others.push_back(source.member);
  }
  return others;
}

// At an event of its own: a member that has just combined is not done with that.
void MixWorld::disrupt(std::uint64_t version) {
  for (const Disruption& each : options().disruptions) {
    if (each.round != version) continue;
    network().call_at(network().now(), [this, each] {
      std::vector<DisruptionTarget> targets;
      for (const std::size_t index : running()) {
        if (!each.leaves && !members_[index]->has_data()) continue;
        if (each.leaves && !may_leave(index)) continue;
        targets.push_back({index, neighbours_of(index).size()});
      }
      for (const std::size_t index : chosen_by(each, std::move(targets), disruption_draws_)) {
        if (each.leaves) {
          crash_one(index);
        } else {
          say(fmt::format("peer {} loses its data", index));
          members_[index]->lose_data();
        }
      }
    });
  }
}

bool MixWorld::run_is_over() const {
  return method_.plan.style() != MixStyle::kNeighbours && version_ >= versions_;
}

bool MixWorld::ended() const {
  if (method_.plan.style() != MixStyle::kNeighbours) {
    const bool has_server = method_.plan.style() == MixStyle::kServer;
    return run_is_over() || (has_server && !members_.front()->alive());
  }
  const std::vector<std::size_t> there = running();
  return std::ranges::all_of(there,
                             [this](std::size_t index) { return members_[index]->finished(); });
}

void MixWorld::on_combined(const MixPeer& member, const MixCombined& made) {
  const Hash128 state = model_hash(*made.model);
  if (method_.plan.style() == MixStyle::kPairwise) return on_work(made, state);
  on_applied(Round(made.version), state);
  if (method_.plan.style() != MixStyle::kNeighbours) {
    // A combiner that did not know better may make a version a second time.
    if (made.version <= version_) return;
    version_ = made.version;
    newest_ = made.model;
    return show_version(made.version, static_cast<int>(made.contributions), made.loss, state,
                        *made.model);
  }
  if (!member.honest()) return;
  Sums& sums = rounds_[made.version];
  sums.loss.add(made.loss);
  ++sums.members;
  sums.models.resize(made.model->size());
  for (std::size_t i = 0; i < sums.models.size(); ++i) sums.models[i] += (*made.model)[i];
  for (std::size_t i = 0; i < state.size(); ++i) {
    sums.states[i] = static_cast<std::uint8_t>(sums.states[i] ^ state[i]);
  }
  show_complete_rounds();
}

// As many pieces of work as there are members are a round.
void MixWorld::on_work(const MixCombined& made, const Hash128& state) {
  rounds_[version_ + 1].loss.add(made.loss);
  on_applied(Round(version_ + 1), state);
  if (++works_ % members_.size() != 0) return;
  ++version_;
  const MixLoss loss = rounds_.extract(version_).mapped().loss;
  show_version(version_, static_cast<int>(members_.size()), loss, state, mean_model());
}

void MixWorld::show_complete_rounds() {
  const std::vector<std::size_t> there = running();
  while (!rounds_.empty()) {
    const std::uint64_t first = rounds_.begin()->first;
    const bool complete = std::ranges::all_of(
        there, [&](std::size_t index) { return members_[index]->core().version() >= first; });
    if (!complete) return;
    const Sums sums = rounds_.extract(rounds_.begin()).mapped();
    std::vector<float> mean(sums.models.size());
    std::ranges::transform(sums.models, mean.begin(), [&](double value) {
      return static_cast<float>(value / static_cast<double>(sums.members));
    });
    show_version(first, sums.members, sums.loss, sums.states, mean);
  }
}

bool MixWorld::is_measured(std::uint64_t version) const {
  const auto every = static_cast<std::uint64_t>(trainer().recipe().run.evaluate_every_steps);
  if (every == 0) return false;
  const auto steps = static_cast<std::uint64_t>(trainer().recipe().local.steps);
  const auto steps_at = [&](std::uint64_t at) { return at / method_.mixes * steps / every; };
  return steps_at(version) > steps_at(version - 1);
}

void MixWorld::show_version(std::uint64_t version, int members, const MixLoss& loss,
                            const Hash128& state, std::span<const float> model) {
  StepReport report;
  report.metrics.loss = loss.labels > 0 ? loss.loss / loss.labels : 0;
  report.metrics.correct = loss.correct;
  report.metrics.samples = loss.samples;
  report.metrics.labels = loss.labels;
  const auto steps =
      static_cast<std::int64_t>(version / method_.mixes) * trainer().recipe().local.steps;
  if (is_measured(version)) {
    const Result<RoundReport> measured = evaluate(model);
    if (!measured.ok()) return set_fault(measured.status().message());
    report.metrics.validation = {measured->loss, measured->correct, measured->samples,
                                 measured->labels};
    report.measured_step = steps;
    report.best = validation_.hear(steps, measured->loss);
    trainer_->set_validation(validation_);
  }
  trainer_->optimizer().set_steps(steps);
  show(Round(version), members, report, state);
  disrupt(version);
}

Result<RoundReport> MixWorld::evaluate(std::span<const float> model) {
  learner_->put_in(model);
  return trainer_->evaluate_alone();
}

std::string MixWorld::digest_of(std::span<const float> model) {
  learner_->put_in(model);
  trainer_->optimizer().set_steps(trainer().recipe().run.steps);
  return trainer_->digest();
}

bool MixWorld::is_counted(const MixPeer& member) const {
  if (!member.honest()) return false;
  return method_.plan.style() == MixStyle::kPairwise ? member.alive() : member.finished();
}

MemberModels MixWorld::counted_models() const {
  MemberModels models;
  for (const MixPeer* const member : members_) {
    if (is_counted(*member)) models.emplace_back(*member->core().model());
  }
  return models;
}

std::vector<float> MixWorld::mean_model() const {
  return newest_ ? *newest_ : members_mean(counted_models(), learner_->elements());
}

std::vector<std::optional<double>> MixWorld::accuracies() {
  constexpr std::size_t kMeasuredMost = 64;
  std::vector<std::optional<double>> all;
  if (members_.size() > kMeasuredMost) return all;
  for (const MixPeer* const member : members_) {
    all.emplace_back();
    if (!is_counted(*member)) continue;
    const Result<RoundReport> measured = evaluate(*member->core().model());
    if (measured.ok() && measured->labels > 0) all.back() = measured->correct / measured->labels;
  }
  return all;
}

std::vector<WorldResult::Component> MixWorld::components(
    const std::vector<std::optional<double>>& accuracies) const {
  std::vector<WorldResult::Component> out;
  if (options().disruptions.empty() || method_.plan.style() != MixStyle::kNeighbours) return out;
  std::vector<std::vector<std::size_t>> neighbours;
  std::vector<bool> there;
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    neighbours.push_back(neighbours_of(i));
    there.push_back(accuracies[i].has_value());
  }
  for (const std::vector<std::size_t>& part : connected_parts(neighbours, there)) {
    WorldResult::Component component{part.size(), 0};
    for (const std::size_t member : part) component.accuracy += *accuracies[member];
    component.accuracy /= static_cast<double>(part.size());
    out.push_back(component);
  }
  return out;
}

void MixWorld::fill(WorldResult& result) {
  const bool mixes =
      method_.plan.style() == MixStyle::kNeighbours || method_.plan.style() == MixStyle::kPairwise;
  if (!mixes && !newest_) return;
  if (mixes && result.finished == 0) return;
  const std::vector<float> mean = mean_model();
  if (mixes) {
    std::string all;
    for (const MixPeer* const member : members_) {
      if (!is_counted(*member)) continue;
      result.members.push_back({member->id(), digest_of(*member->core().model())});
      all += result.members.back().state;
    }
    result.state_hash = to_hex(sha256(as_bytes(std::string_view(all))));
    result.distance = members_distance(counted_models(), mean);
  } else {
    result.state_hash = digest_of(mean);
  }
  if (!trainer().recipe().run.evaluate) return;
  const Result<RoundReport> measured = evaluate(mean);
  if (measured.ok()) result.mean_model = *measured;
  result.attack_rate = attack_rate(options().liars, *trainer_);
  if (!mixes) return;
  const std::vector<std::optional<double>> all = accuracies();
  result.members_accuracy = mean_of(all);
  result.components = components(all);
}

}  // namespace weft::sim
