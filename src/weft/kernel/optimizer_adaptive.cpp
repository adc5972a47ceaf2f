// The elementwise optimizers beside SGD and Adam: Adagrad, RMSProp, Adadelta, Lion.
#include "weft/base/check.h"
#include "weft/base/parallel.h"
#include "weft/kernel/cpu/isa.h"
#include "weft/kernel/cpu/optimizer_loops.h"
#include "weft/kernel/optimizer.h"

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

float* data_or_null(std::span<float> values) { return values.empty() ? nullptr : values.data(); }

}  // namespace

const OptimizerLoops& optimizer_loops() {
#if defined(__x86_64__)
  if (use_avx2()) return kOptimizerLoopsAvx2;
#endif
  return kOptimizerLoopsGeneric;
}

void adagrad_step(const AdagradConstants& constants, std::span<const float> gradients,
                  std::span<float> square_sum, std::span<float> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(square_sum.size() == parameters.size());
  const AdagradPass pass{
      .gradients = gradients.data(),
      .square_sum = square_sum.data(),
      .parameters = parameters.data(),
      .learning_rate = constants.learning_rate,
      .epsilon = constants.epsilon,
      .weight_decay = constants.weight_decay,
  };
  run_pass(optimizer_loops().adagrad, pass, parameters.size());
}

void rms_prop_step(const RmsPropConstants& constants, std::span<const float> gradients,
                   const RmsPropState& state, std::span<float> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(state.square_mean.size() == parameters.size());
  WEFT_CHECK(state.mean.empty() || state.mean.size() == parameters.size());
  WEFT_CHECK(state.momentum.empty() || state.momentum.size() == parameters.size());
  const RmsPropPass pass{
      .gradients = gradients.data(),
      .square_mean = state.square_mean.data(),
      .mean = data_or_null(state.mean),
      .momentum = data_or_null(state.momentum),
      .parameters = parameters.data(),
      .learning_rate = constants.learning_rate,
      .smoothing = static_cast<float>(constants.smoothing),
      .share = static_cast<float>(1.0 - constants.smoothing),
      .momentum_factor = constants.momentum,
      .epsilon = constants.epsilon,
      .weight_decay = constants.weight_decay,
  };
  run_pass(optimizer_loops().rms_prop, pass, parameters.size());
}

void adadelta_step(const AdadeltaConstants& constants, std::span<const float> gradients,
                   const AdadeltaState& state, std::span<float> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(state.square_mean.size() == parameters.size());
  WEFT_CHECK(state.delta_square_mean.size() == parameters.size());
  const AdadeltaPass pass{
      .gradients = gradients.data(),
      .square_mean = state.square_mean.data(),
      .delta_square_mean = state.delta_square_mean.data(),
      .parameters = parameters.data(),
      .learning_rate = constants.learning_rate,
      .smoothing = static_cast<float>(constants.smoothing),
      .share = static_cast<float>(1.0 - constants.smoothing),
      .epsilon = constants.epsilon,
      .weight_decay = constants.weight_decay,
  };
  run_pass(optimizer_loops().adadelta, pass, parameters.size());
}

void lion_step(const LionConstants& constants, std::span<const float> gradients,
               std::span<float> mean, std::span<float> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(mean.size() == parameters.size());
  const LionPass pass{
      .gradients = gradients.data(),
      .mean = mean.data(),
      .parameters = parameters.data(),
      .learning_rate = static_cast<float>(constants.learning_rate),
      .beta1 = static_cast<float>(constants.beta1),
      .share1 = static_cast<float>(1.0 - constants.beta1),
      .beta2 = static_cast<float>(constants.beta2),
      .share2 = static_cast<float>(1.0 - constants.beta2),
      .shrink = static_cast<float>(1.0 - constants.learning_rate * constants.weight_decay),
  };
  run_pass(optimizer_loops().lion, pass, parameters.size());
}

}  // namespace weft
