// adadelta: steps in the unit of the parameters, from a running mean of their own squares.
#include "weft/kernel/optimizer/optimizer_steps.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

class Adadelta : public Optimizer {
 public:
  Adadelta(const OptimizerOptions& options, ParameterArena& arena)
      : Optimizer(arena, options),
        square_mean_(arena.add_state("square_mean")),
        delta_square_mean_(arena.add_state("delta_square_mean")) {}

 private:
  void apply(const ArenaRange& range, const Array& gradients, Array& parameters) override {
    const AdadeltaConstants constants = {
        .learning_rate = rate_of(range),
        .smoothing = options().smoothing,
        .epsilon = options().epsilon,
        .weight_decay = range.weight_decay,
    };
    adadelta_step(constants, gradients, {range.of(square_mean_), range.of(delta_square_mean_)},
                  parameters);
  }

  Array square_mean_;
  Array delta_square_mean_;
};

std::unique_ptr<Optimizer> make_adadelta(const OptimizerOptions& options, ParameterArena& arena) {
  return std::make_unique<Adadelta>(options, arena);
}

}  // namespace

extern const OptimizerDef adadelta_optimizer = {"adadelta", make_adadelta};

}  // namespace weft
