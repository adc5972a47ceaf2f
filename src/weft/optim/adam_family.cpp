#include "weft/optim/adam_family.h"

#include "weft/kernel/optimizer/optimizer_steps.h"

namespace weft {
namespace {

class AdamFamily : public Optimizer {
 public:
  AdamFamily(const OptimizerOptions& options, ParameterArena& arena, WeightDecay weight_decay)
      : Optimizer(arena, options),
        mean_(arena.add_state("mean")),
        variance_(arena.add_state("variance")),
        weight_decay_(weight_decay) {
    if (options.amsgrad) variance_max_ = arena.add_state("variance_max");
    count_steps();
  }

 private:
  void apply(const ArenaRange& range, const Array& gradients, Array& parameters) override {
    const AdamConstants constants = {
        .learning_rate = rate_of(range),
        .beta1 = options().beta1,
        .beta2 = options().beta2,
        .epsilon = options().epsilon,
        .weight_decay = range.weight_decay,
        .decoupled_weight_decay = weight_decay_ == WeightDecay::kDecoupled,
        .step = range.steps + 1,
    };
    adam_step(constants, gradients, {range.of(mean_), range.of(variance_), range.of(variance_max_)},
              parameters);
  }

  Array mean_;
  Array variance_;
  Array variance_max_;  // undefined unless AMSGrad
  WeightDecay weight_decay_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam_family(const OptimizerOptions& options, ParameterArena& arena,
                                            WeightDecay weight_decay) {
  return std::make_unique<AdamFamily>(options, arena, weight_decay);
}

}  // namespace weft
