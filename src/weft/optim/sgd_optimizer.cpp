// sgd: stochastic gradient descent with momentum, Nesterov's variant, weight decay.
#include "weft/kernel/optimizer/optimizer_steps.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, ParameterArena& arena) : Optimizer(arena, options) {
    if (options.momentum == 0.0) return;
    momentum_ = arena.add_state("momentum");
    count_steps();
  }

 private:
  bool leaves_zeros_alone() const override { return options().momentum == 0.0; }

  void apply(const ArenaRange& range, const Array& gradients, Array& parameters) override {
    const SgdConstants constants = {
        .learning_rate = rate_of(range),
        .momentum = options().momentum,
        .dampening = options().dampening,
        .weight_decay = range.weight_decay,
        .nesterov = options().nesterov,
        .first_step = range.steps == 0,
    };
    sgd_step(constants, gradients, range.of(momentum_), parameters);
  }

  Array momentum_;
};

std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options, ParameterArena& arena) {
  return std::make_unique<Sgd>(options, arena);
}

}  // namespace

extern const OptimizerDef sgd_optimizer = {"sgd", make_sgd};

}  // namespace weft
