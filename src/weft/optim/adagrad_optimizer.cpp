// adagrad: steps shrink with the sum of all squared gradients so far.
#include "weft/kernel/optimizer/optimizer_steps.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

class Adagrad : public Optimizer {
 public:
  Adagrad(const OptimizerOptions& options, ParameterArena& arena)
      : Optimizer(arena, options), square_sum_(arena.add_state("square_sum")) {}

 private:
  bool leaves_zeros_alone() const override { return true; }

  void apply(const ArenaRange& range, const Array& gradients, Array& parameters) override {
    const AdagradConstants constants = {
        .learning_rate = rate_of(range),
        .epsilon = options().epsilon,
        .weight_decay = range.weight_decay,
    };
    adagrad_step(constants, gradients, range.of(square_sum_), parameters);
  }

  Array square_sum_;
};

std::unique_ptr<Optimizer> make_adagrad(const OptimizerOptions& options, ParameterArena& arena) {
  return std::make_unique<Adagrad>(options, arena);
}

}  // namespace

extern const OptimizerDef adagrad_optimizer = {"adagrad", make_adagrad};

}  // namespace weft
