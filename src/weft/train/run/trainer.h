// Trainer: one peer's model, data and optimizer, and what it can do with them in a round.
//
// Where it stands: recipe -> Trainer; the run loop calls it for each turn of the RoundExchange.
// Threads: the training thread. Fails: make() as wiring.h; a round with kAborted where the view
// changed, which leaves the state as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/data/batch_loader.h"
#include "weft/data/catalog.h"
#include "weft/io/checkpoint.h"
#include "weft/io/model_file.h"
#include "weft/nn/module.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"
#include "weft/train/capture/captured_step.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/recipe/validation.h"
#include "weft/train/step/evaluate.h"
#include "weft/train/step/local_step.h"
#include "weft/train/step/member_part.h"
#include "weft/train/step/round_step.h"
#include "weft/train/step/step.h"
#include "weft/train/update/loss_scale.h"

namespace weft {

// What a recipe comes to on this machine, known before most of its memory is taken.
struct TrainerPlan {
  std::int64_t elements = 0;  // of parameters and buffers
  std::int64_t train_samples = 0;
};

class Trainer {
 public:
  // May refuse: what it returns, where it is not ok, is what make() returns.
  using Review = std::function<Status(const TrainerPlan& plan)>;

  // Borrows `clock`, which must outlive this.
  static Result<std::unique_ptr<Trainer>> make(const Recipe& recipe, const DataPlaces& places,
                                               const Clock& clock, const Review& review = {});
  // To evaluate a checkpoint: no training data are read, and the test data are taken as the model
  // that `card` describes takes them. It cannot train.
  static Result<std::unique_ptr<Trainer>> make_to_evaluate(const Recipe& recipe,
                                                           const ModelCard& card,
                                                           const DataPlaces& places,
                                                           const Clock& clock);
  // One with the same recipe and data, as make() made this one.
  Result<std::unique_ptr<Trainer>> another() const { return make(recipe_, places_, clock_); }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  const Recipe& recipe() const { return recipe_; }
  const Layout& layout() const { return arena_.layout(); }
  std::int64_t train_samples() const { return train_samples_; }
  // For texts: the mean length of a token. Nothing for other data.
  std::optional<double> characters_per_token() const;
  const DataDescription& data() const { return described_; }
  // A loss a token in bits a character; nothing for other data.
  std::optional<double> bits_per_character(double loss) const;
  // Steps that the state has behind it, and the round that brought it there.
  std::int64_t steps_done() const { return optimizer_->steps(); }
  Round rounds_done() const { return round_after(steps_done(), recipe_.local.steps); }
  // Rounds that train, of the whole run.
  Round training_rounds() const { return round_after(recipe_.run.steps, recipe_.local.steps); }
  // Whether `round` is the evaluation that follows the last step.
  bool is_evaluation(Round round) const;

  // This member's samples of the batch in round `turn.round`, which is the next.
  ShardRange shard(const Turn& turn) const;
  // Computes this member's part of the round and applies the sums.
  Result<StepReport> run_round(const Turn& turn, RoundExchange& exchange);
  // Applies the sums of a round that others computed: turn.reduced.
  Result<StepReport> apply_round(const Turn& turn);

  // The whole test set, by this peer alone.
  Result<RoundReport> evaluate_alone(const EvaluationWatch& watch = {});
  // Whether the test set is measured within the training round `round`, with the state before it.
  bool measures(Round round) const;
  const Validation& validation() const { return validation_; }
  // Reads the test set, once; the evaluation does it otherwise.
  Status prepare_evaluation();
  // `progress` is called for every measurement within rounds from now on, on the training thread.
  void watch_measurements(EvaluationProgress progress) { progress_ = std::move(progress); }

  // The state that all members share, as io/checkpoint.h writes it; equal states give equal bytes.
  Bytes encode(const std::string& run_id) const;
  // Whether the state stays as it is while run_round() computes and waits: not where inner steps
  // move the parameters, or the forward pass its running statistics.
  bool rests_in_rounds() const;
  CheckpointInfo checkpoint_info(const std::string& run_id) const;
  // Takes over what encode() wrote at another member. All of it or, on failure, nothing.
  Status adopt(ByteSpan state);
  // Takes over a checkpoint: what all members share and, with local steps, what was its writer's
  // own. All of it or, on failure, nothing.
  Status decode(ByteSpan state);
  // Moves the parameters towards those of another branch's state, which encode() wrote: the mean of
  // both with `weight` in [0, 1] for the other's. What the optimizer remembers stays. On failure
  // nothing changes; whether it fails depends on the bytes alone.
  Status merge(ByteSpan state, double weight);
  // The hash of the state that all members share.
  StateHash hash() const;
  // SHA-256, hexadecimal.
  std::string digest() const;

  // Why the latest step was not replayed though the recipe asks for it; empty if there is nothing
  // to say.
  std::string why_eager() const { return captured_ ? captured_->why_eager() : std::string(); }

  // What a step works on.
  StepParts parts();
  ParameterArena& arena() { return arena_; }
  Optimizer& optimizer() { return *optimizer_; }
  Module& model() { return *model_; }
  // For the simulator, which takes out what is a member's own; null where each step is exchanged.
  LocalSteps* local_steps() { return dynamic_cast<LocalSteps*>(step_.get()); }
  // Names of the arena's states that all members share.
  std::vector<std::string> shared_states() const;
  // Sets the results of another member that this Trainer simulates from now on.
  void set_validation(const Validation& seen) { validation_ = seen; }

 private:
  Trainer(const Recipe& recipe, DataPlaces places, const Clock& clock,
          std::unique_ptr<Module> model);
  // Everything but the data.
  static Result<std::unique_ptr<Trainer>> assemble(const Recipe& recipe, const ModelCard& card,
                                                   const DataPlaces& places, const Clock& clock,
                                                   const TrainerPlan& plan, const Review& review);
  // kInvalidArgument where the model cannot be trained with the recipe's group.wire.
  Status check_wire();
  Status open_training_data(Dataset data);
  Status open_test_data();

  Result<CheckpointInfo> check_optimizer(ByteSpan state) const;
  Result<StepReport> train(const Turn& turn, RoundExchange& exchange);
  Result<StepReport> evaluate(const Turn& turn, RoundExchange& exchange);
  Result<ValidationSums> measure_share(const Turn& turn);
  // A committed round has brought a measurement of the state that it began with.
  void hear_validation(std::int64_t step, StepReport& report);
  void hear_final(StepReport& report);
  std::int64_t steps_before(Round round) const;
  Result<RoundReport> measure(ShardRange shard, const EvaluationWatch& watch = {});

  const Recipe recipe_;
  const DataPlaces places_;
  const Clock& clock_;
  ScheduleOptions schedule_;
  double learning_rate_ = 0;  // before the schedule
  std::unique_ptr<Module> model_;
  ParameterArena arena_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<LossScale> loss_scale_;  // precision f16
  std::optional<MemberPart> part_;       // nothing: equal shares, and rounds wait for all
  std::unique_ptr<RoundStep> step_;
  std::unique_ptr<BatchLoader> loader_;
  std::int64_t train_samples_ = 0;
  DataDescription described_;  // the training data
  std::string data_mark_;      // empty where data are not compared
  CardTexts card_;
  BatchOptions evaluation_options_;
  std::optional<Dataset> test_;
  EvaluationProgress progress_;  // or none
  Validation validation_;
  std::unique_ptr<CapturedStep> captured_;  // null: steps are computed eagerly
};

}  // namespace weft
