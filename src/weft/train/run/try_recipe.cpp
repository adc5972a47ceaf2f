#include "weft/train/run/try_recipe.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/train/exchange/round_exchange.h"
#include "weft/train/run/trainer.h"

namespace weft {
namespace {

// The only member: a sum is what it contributed, and the reports are its own.
class LoneExchange final : public RoundExchange {
 public:
  Result<Turn> next() override {
    Turn turn;
    turn.kind = TurnKind::kTrain;
    turn.round = Round(applied_.value() + 1);
    turn.members = 1;
    turn.rank = Rank(0);
    return turn;
  }
  Status begin(std::int64_t elements) override {
    sums_.assign(static_cast<std::size_t>(elements), 0.0F);
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    std::copy(values.begin(), values.end(), sums_.begin() + offset);
  }
  Status report(Bytes report) override {
    reports_ = {std::move(report)};
    return {};
  }
  Result<RoundResult> finish() override { return RoundResult{sums_, reports_}; }
  void applied(Round round, const StateHash& /*hash*/) override { applied_ = round; }
  // Nobody else could be waited for.
  Status stand_in(const StandIn& /*stand_in*/) override { return {}; }
  StateLender* state_lender() override { return nullptr; }
  Result<ResidualState> residual_state() override { return ResidualState{}; }

 private:
  Round applied_;
  std::vector<float> sums_;
  std::vector<Bytes> reports_;
};

}  // namespace

Result<RecipeTrial> try_recipe(const Recipe& recipe, const DataPlaces& places, const Clock& clock,
                               int steps) {
  WEFT_TRY_ASSIGN(const std::unique_ptr<Trainer> trainer, Trainer::make(recipe, places, clock));
  LoneExchange exchange;
  RecipeTrial trial;
  TimePoint second = clock.now();
  for (trial.steps = 0; trial.steps < steps; ++trial.steps) {
    if (trial.steps == 1) second = clock.now();
    WEFT_TRY_ASSIGN(const Turn turn, exchange.next());
    WEFT_TRY_ASSIGN(const StepReport report, trainer->run_round(turn, exchange));
    exchange.applied(turn.round, StateHash());
    trial.last_loss = report.metrics.loss;
    if (trial.steps == 0) trial.first_loss = report.metrics.loss;
    if (!std::isfinite(trial.last_loss)) {
      return invalid_argument(
          fmt::format("the loss of step {} is no number; set a smaller optimizer.learning_rate",
                      trial.steps + 1));
    }
  }
  if (steps > 1) trial.seconds_a_step = to_seconds(clock.now() - second) / (steps - 1);
  return trial;
}

}  // namespace weft
