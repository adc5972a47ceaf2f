#include "weft/sim/gossip_trainer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/train/step/gossip_step.h"

namespace weft::sim {
namespace {

bool any_buffer(const Layout& layout) {
  return std::ranges::any_of(layout.entries(), [](const LayoutEntry& entry) {
    return entry.kind == ParameterKind::kBuffer;
  });
}

std::int64_t step_of(Round round) { return static_cast<std::int64_t>(round.value()) - 1; }

}  // namespace

Result<std::unique_ptr<GossipTrainer>> GossipTrainer::make(const Recipe& recipe,
                                                           const DataPlaces& places,
                                                           const Clock& clock,
                                                           const Trainer::Review& review) {
  if (recipe.local.steps > 1) {
    return invalid_argument(
        fmt::format("local.steps: gossiping members average after each step; expected 1, got {}",
                    recipe.local.steps));
  }
  WEFT_TRY_ASSIGN(auto trainer, Trainer::make(recipe, places, clock, review));
  WEFT_TRY(trainer->prepare_evaluation());
  return std::unique_ptr<GossipTrainer>(new GossipTrainer(std::move(trainer)));
}

GossipTrainer::GossipTrainer(std::unique_ptr<Trainer> trainer)
    : trainer_(std::move(trainer)),
      names_(trainer_->arena().state_names()),
      has_buffers_(any_buffer(trainer_->layout())) {
  take_out(first_);
}

void GossipTrainer::put_in(std::span<const float> parameters, const GossipState& state) {
  ParameterArena& arena = trainer_->arena();
  std::ranges::copy(parameters, arena.parameters().begin());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    Array buffer = arena.state(names_[i]);
    std::ranges::copy(state.states[i], buffer.flat<float>().begin());
  }
  trainer_->optimizer().set_steps(state.steps);
}

void GossipTrainer::take_out(GossipState& state) {
  const std::span<const float> values = std::as_const(trainer_->arena()).parameters();
  state.parameters = std::make_shared<const std::vector<float>>(values.begin(), values.end());
  state.states.resize(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Array buffer = trainer_->arena().state(names_[i]);
    const std::span<const float> from = buffer.flat<float>();
    state.states[i].assign(from.begin(), from.end());
  }
  state.steps = trainer_->optimizer().steps();
}

Result<RoundReport> GossipTrainer::compute(GossipState& state, const PeerId& self, Round round) {
  put_in(*state.parameters, state);
  WEFT_TRY_ASSIGN(const RoundReport report,
                  gossip_gradient(trainer_->parts(), self, step_of(round)));
  const ParameterArena& arena = trainer_->arena();
  state.gradients.assign(arena.gradients().begin(), arena.gradients().end());
  if (has_buffers_) state.after.assign(arena.parameters().begin(), arena.parameters().end());
  return report;
}

void GossipTrainer::update(GossipState& state, Round round, std::span<const float> mixed) {
  put_in(has_buffers_ ? state.after : *state.parameters, state);
  apply_gossip(trainer_->parts(), step_of(round), state.gradients, *state.parameters, mixed);
  take_out(state);
}

std::string GossipTrainer::digest(const GossipState& state) {
  put_in(*state.parameters, state);
  return trainer_->digest();
}

Result<RoundReport> GossipTrainer::evaluate(std::span<const float> parameters) {
  std::ranges::copy(parameters, trainer_->arena().parameters().begin());
  return trainer_->evaluate_alone();
}

}  // namespace weft::sim
