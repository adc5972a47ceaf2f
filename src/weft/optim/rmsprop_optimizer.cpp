// rmsprop: steps relative to a running root mean square of the gradients.
#include "weft/kernel/optimizer/optimizer_steps.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

class RmsProp : public Optimizer {
 public:
  RmsProp(const OptimizerOptions& options, ParameterArena& arena)
      : Optimizer(arena, options), square_mean_(arena.add_state("square_mean")) {
    if (options.centered) mean_ = arena.add_state("mean");
    if (options.momentum != 0.0) momentum_ = arena.add_state("momentum");
  }

 private:
  void apply(const ArenaRange& range, const Array& gradients, Array& parameters) override {
    const RmsPropConstants constants = {
        .learning_rate = rate_of(range),
        .smoothing = options().smoothing,
        .momentum = options().momentum,
        .epsilon = options().epsilon,
        .weight_decay = range.weight_decay,
    };
    rms_prop_step(constants, gradients,
                  {range.of(square_mean_), range.of(mean_), range.of(momentum_)}, parameters);
  }

  Array square_mean_;
  Array mean_;      // undefined unless centred
  Array momentum_;  // undefined without momentum
};

std::unique_ptr<Optimizer> make_rmsprop(const OptimizerOptions& options, ParameterArena& arena) {
  return std::make_unique<RmsProp>(options, arena);
}

}  // namespace

extern const OptimizerDef rmsprop_optimizer = {"rmsprop", make_rmsprop};

}  // namespace weft
