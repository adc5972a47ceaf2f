// The elementwise optimizers beside SGD and Adam: Adagrad, RMSProp, Adadelta, Lion.
#include "weft/base/check.h"
#include "weft/base/parallel.h"
#include "weft/kernel/optimizer/optimizer.h"
#include "weft/kernel/optimizer/optimizer_loops.h"

namespace weft {
namespace {

// Fewer elements than this are not worth a second thread.
constexpr std::int64_t kAdaptiveGrain = 32 * 1024;

// Runs `loop` over all elements, split over the threads.
template <class Pass>
void run_pass(void (*loop)(const Pass& pass, std::int64_t begin, std::int64_t end),
              const Pass& pass, std::size_t size) {
  parallel_for(static_cast<std::int64_t>(size), kAdaptiveGrain,
               [&](std::int64_t begin, std::int64_t end) { loop(pass, begin, end); });
}

template <class Value>
Value* data_or_null(std::span<Value> values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

template <class Value>
void adagrad_step(const AdagradConstants& constants, StepInput<Value> gradients,
                  StepOutput<Value> square_sum, StepOutput<Value> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(square_sum.size() == parameters.size());
  const AdagradPass<Value> pass{
      .gradients = gradients.data(),
      .square_sum = square_sum.data(),
      .parameters = parameters.data(),
      .learning_rate = static_cast<Value>(constants.learning_rate),
      .epsilon = static_cast<Value>(constants.epsilon),
      .weight_decay = static_cast<Value>(constants.weight_decay),
  };
  run_pass(optimizer_loops<Value>().adagrad, pass, parameters.size());
}

template <class Value>
void rms_prop_step(const RmsPropConstants& constants, StepInput<Value> gradients,
                   const std::type_identity_t<RmsPropStateOf<Value>>& state,
                   StepOutput<Value> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(state.square_mean.size() == parameters.size());
  WEFT_CHECK(state.mean.empty() || state.mean.size() == parameters.size());
  WEFT_CHECK(state.momentum.empty() || state.momentum.size() == parameters.size());
  const RmsPropPass<Value> pass{
      .gradients = gradients.data(),
      .square_mean = state.square_mean.data(),
      .mean = data_or_null(state.mean),
      .momentum = data_or_null(state.momentum),
      .parameters = parameters.data(),
      .learning_rate = static_cast<Value>(constants.learning_rate),
      .smoothing = static_cast<Value>(constants.smoothing),
      .share = static_cast<Value>(1.0 - constants.smoothing),
      .momentum_factor = static_cast<Value>(constants.momentum),
      .epsilon = static_cast<Value>(constants.epsilon),
      .weight_decay = static_cast<Value>(constants.weight_decay),
  };
  run_pass(optimizer_loops<Value>().rms_prop, pass, parameters.size());
}

template <class Value>
void adadelta_step(const AdadeltaConstants& constants, StepInput<Value> gradients,
                   const std::type_identity_t<AdadeltaStateOf<Value>>& state,
                   StepOutput<Value> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(state.square_mean.size() == parameters.size());
  WEFT_CHECK(state.delta_square_mean.size() == parameters.size());
  const AdadeltaPass<Value> pass{
      .gradients = gradients.data(),
      .square_mean = state.square_mean.data(),
      .delta_square_mean = state.delta_square_mean.data(),
      .parameters = parameters.data(),
      .learning_rate = static_cast<Value>(constants.learning_rate),
      .smoothing = static_cast<Value>(constants.smoothing),
      .share = static_cast<Value>(1.0 - constants.smoothing),
      .epsilon = static_cast<Value>(constants.epsilon),
      .weight_decay = static_cast<Value>(constants.weight_decay),
  };
  run_pass(optimizer_loops<Value>().adadelta, pass, parameters.size());
}

template <class Value>
void lion_step(const LionConstants& constants, StepInput<Value> gradients, StepOutput<Value> mean,
               StepOutput<Value> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(mean.size() == parameters.size());
  const LionPass<Value> pass{
      .gradients = gradients.data(),
      .mean = mean.data(),
      .parameters = parameters.data(),
      .learning_rate = static_cast<Value>(constants.learning_rate),
      .beta1 = static_cast<Value>(constants.beta1),
      .share1 = static_cast<Value>(1.0 - constants.beta1),
      .beta2 = static_cast<Value>(constants.beta2),
      .share2 = static_cast<Value>(1.0 - constants.beta2),
      .shrink = static_cast<Value>(1.0 - constants.learning_rate * constants.weight_decay),
  };
  run_pass(optimizer_loops<Value>().lion, pass, parameters.size());
}

#define WEFT_STEPS_OF(Value)                                                                      \
  template void adagrad_step<Value>(const AdagradConstants&, StepInput<Value>, StepOutput<Value>, \
                                    StepOutput<Value>);                                           \
  template void rms_prop_step<Value>(const RmsPropConstants&, StepInput<Value>,                   \
                                     const RmsPropStateOf<Value>&, StepOutput<Value>);            \
  template void adadelta_step<Value>(const AdadeltaConstants&, StepInput<Value>,                  \
                                     const AdadeltaStateOf<Value>&, StepOutput<Value>);           \
  template void lion_step<Value>(const LionConstants&, StepInput<Value>, StepOutput<Value>,       \
                                 StepOutput<Value>);
WEFT_STEPS_OF(float)
WEFT_STEPS_OF(double)
#undef WEFT_STEPS_OF

}  // namespace weft
