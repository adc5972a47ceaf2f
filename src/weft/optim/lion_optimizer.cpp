// lion: the sign of a blend of gradient and momentum; one state, decoupled weight decay.
#include "weft/kernel/optimizer/optimizer_steps.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

class Lion : public Optimizer {
 public:
  Lion(const OptimizerOptions& options, ParameterArena& arena)
      : Optimizer(arena, options), mean_(arena.add_state("mean")) {}

 private:
  void apply(const ArenaRange& range, const Array& gradients, Array& parameters) override {
    const LionConstants constants = {
        .learning_rate = rate_of(range),
        .beta1 = options().beta1,
        .beta2 = options().beta2,
        .weight_decay = range.weight_decay,
    };
    lion_step(constants, gradients, range.of(mean_), parameters);
  }

  Array mean_;
};

std::unique_ptr<Optimizer> make_lion(const OptimizerOptions& options, ParameterArena& arena) {
  return std::make_unique<Lion>(options, arena);
}

}  // namespace

extern const OptimizerDef lion_optimizer = {"lion", make_lion};

}  // namespace weft
