#include "weft/kernel/optimizer/optimizer.h"

#include <cmath>

#include "weft/base/check.h"
#include "weft/base/parallel.h"
#include "weft/base/portable_math.h"
#include "weft/kernel/optimizer/optimizer_loops.h"

namespace weft {
namespace {

// Fewer elements than this are not worth a second thread.
constexpr std::int64_t kOptimizerGrain = 32 * 1024;

}  // namespace

template <class Value>
void sgd_step(const SgdConstants& constants, StepInput<Value> gradients,
              StepOutput<Value> momentum_state, StepOutput<Value> parameters) {
  const bool has_momentum = constants.momentum != 0.0;
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(!has_momentum || momentum_state.size() == parameters.size());
  const SgdPass<Value> pass{
      .gradients = gradients.data(),
      .momentum_state = has_momentum ? momentum_state.data() : nullptr,
      .parameters = parameters.data(),
      .learning_rate = static_cast<Value>(constants.learning_rate),
      .momentum = static_cast<Value>(constants.momentum),
      .gradient_share =
          constants.first_step ? Value(1) : Value(1) - static_cast<Value>(constants.dampening),
      .weight_decay = static_cast<Value>(constants.weight_decay),
      .nesterov = constants.nesterov,
  };
  const OptimizerLoops<Value>& loops = optimizer_loops<Value>();
  parallel_for(static_cast<std::int64_t>(parameters.size()), kOptimizerGrain,
               [&](std::int64_t begin, std::int64_t end) { loops.sgd(pass, begin, end); });
}

template <class Value>
void adam_step(const AdamConstants& constants, StepInput<Value> gradients,
               const std::type_identity_t<AdamStateOf<Value>>& state,
               StepOutput<Value> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(state.mean.size() == parameters.size());
  WEFT_CHECK(state.variance.size() == parameters.size());
  const auto step = static_cast<double>(constants.step);
  const double mean_correction = 1.0 - portable_pow(constants.beta1, step);
  const double variance_correction = 1.0 - portable_pow(constants.beta2, step);
  const bool decoupled = constants.decoupled_weight_decay;
  const double shrink = decoupled ? 1.0 - constants.learning_rate * constants.weight_decay : 1.0;
  const AdamPass<Value> pass{
      .gradients = gradients.data(),
      .mean = state.mean.data(),
      .variance = state.variance.data(),
      .parameters = parameters.data(),
      .beta1 = static_cast<Value>(constants.beta1),
      .mean_share = static_cast<Value>(1.0 - constants.beta1),
      .beta2 = static_cast<Value>(constants.beta2),
      .variance_share = static_cast<Value>(1.0 - constants.beta2),
      .step_size = static_cast<Value>(constants.learning_rate / mean_correction),
      .root_correction = static_cast<Value>(std::sqrt(variance_correction)),
      .epsilon = static_cast<Value>(constants.epsilon),
      .weight_decay = static_cast<Value>(decoupled ? 0.0 : constants.weight_decay),
      .shrink = static_cast<Value>(shrink),
  };
  const OptimizerLoops<Value>& loops = optimizer_loops<Value>();
  if (!state.variance_max.empty()) {
    WEFT_CHECK(state.variance_max.size() == parameters.size());
    const AmsgradPass<Value> largest{pass, state.variance_max.data()};
    parallel_for(static_cast<std::int64_t>(parameters.size()), kOptimizerGrain,
                 [&](std::int64_t begin, std::int64_t end) { loops.amsgrad(largest, begin, end); });
    return;
  }
  parallel_for(static_cast<std::int64_t>(parameters.size()), kOptimizerGrain,
               [&](std::int64_t begin, std::int64_t end) { loops.adam(pass, begin, end); });
}

#define WEFT_STEPS_OF(Value)                                                              \
  template void sgd_step<Value>(const SgdConstants&, StepInput<Value>, StepOutput<Value>, \
                                StepOutput<Value>);                                       \
  template void adam_step<Value>(const AdamConstants&, StepInput<Value>,                  \
                                 const AdamStateOf<Value>&, StepOutput<Value>);
WEFT_STEPS_OF(float)
WEFT_STEPS_OF(double)
#undef WEFT_STEPS_OF

}  // namespace weft
