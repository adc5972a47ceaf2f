#include "weft/sim/local_trainer.h"

#include <utility>

#include "weft/base/check.h"
#include "weft/train/exchange/collecting_exchange.h"
#include "weft/train/report/round_report.h"

namespace weft::sim {

Recipe local_recipe(std::uint64_t rounds, std::int64_t local_steps, bool overlap) {
  Recipe recipe;
  recipe.model.name = "mlp";
  recipe.model.hidden_units = 4;
  recipe.data.name = "synthetic";
  recipe.data.synthetic_samples = 256;
  recipe.optimizer.name = "adam";
  recipe.optimizer.learning_rate = 0.01;
  recipe.run.global_batch = 24;
  recipe.run.steps = static_cast<std::int64_t>(rounds) * local_steps;
  recipe.run.evaluate = false;
  recipe.run.capture = false;
  recipe.local.steps = local_steps;
  recipe.local.overlap = overlap;
  recipe.local.outer_rate = 0.4;
  recipe.local.outer_momentum = 0.5;
  return recipe;
}

LocalTrainer::LocalTrainer(const Recipe& recipe) : TestTrainer(0) {
  Result<std::unique_ptr<Trainer>> made = Trainer::make(recipe, {}, clock_);
  WEFT_CHECK(made.ok());
  trainer_ = std::move(made).value();
}

std::size_t LocalTrainer::elements() const {
  return static_cast<std::size_t>(trainer_->layout().num_elements());
}

std::vector<float> LocalTrainer::shard(int rank, int members) const {
  CollectingExchange collector;
  Turn turn;
  turn.kind = TurnKind::kTrain;
  turn.round = Round(round() + 1);
  turn.rank = Rank(rank);
  turn.members = members;
  const Result<StepReport> report = trainer_->run_round(turn, collector);
  WEFT_CHECK(report.status().code() == Code::kAborted);
  reported_ = collector.reported();
  return collector.values();
}

Bytes LocalTrainer::report(int /*rank*/, int /*members*/) const { return reported_; }

void LocalTrainer::hear(std::span<const Bytes> reports) {
  heard_.assign(reports.begin(), reports.end());
}

void LocalTrainer::apply(std::span<const float> sums) {
  Turn turn;
  turn.kind = TurnKind::kApply;
  turn.round = Round(round() + 1);
  turn.members = 1;
  turn.reduced = sums;
  turn.reports = heard_;
  WEFT_CHECK(trainer_->apply_round(turn).ok());
}

double LocalTrainer::accuracy() const {
  const Result<RoundReport> measured = trainer_->evaluate_alone();
  return measured.ok() ? measured->accuracy() : 0.0;
}

}  // namespace weft::sim
