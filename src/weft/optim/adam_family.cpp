#include "weft/optim/adam_family.h"

#include "weft/kernel/optimizer.h"

namespace weft {
namespace {

class AdamFamily : public Optimizer {
 public:
  AdamFamily(const OptimizerOptions& options, ParameterArena& arena, WeightDecay weight_decay)
      : Optimizer(arena, options),
        mean_(arena.add_state("mean")),
        variance_(arena.add_state("variance")),
        weight_decay_(weight_decay) {}

 private:
  void apply(ArenaRange range, std::span<const float> gradients,
             std::span<float> parameters) override {
    const AdamConstants constants = {
        .learning_rate = learning_rate(),
        .beta1 = options().beta1,
        .beta2 = options().beta2,
        .epsilon = options().epsilon,
        .weight_decay = options().weight_decay,
        .decoupled_weight_decay = weight_decay_ == WeightDecay::kDecoupled,
        .step = steps() + 1,
    };
    const auto begin = static_cast<std::size_t>(range.begin);
    const auto size = static_cast<std::size_t>(range.size());
    const AdamState state = {.mean = mean_.flat<float>().subspan(begin, size),
                             .variance = variance_.flat<float>().subspan(begin, size)};
    adam_step(constants, gradients, state, parameters);
  }

  Array mean_;
  Array variance_;
  WeightDecay weight_decay_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam_family(const OptimizerOptions& options, ParameterArena& arena,
                                            WeightDecay weight_decay) {
  return std::make_unique<AdamFamily>(options, arena, weight_decay);
}

}  // namespace weft
