#include "weft/kernel/optimizer.h"

#include <cmath>

#include "weft/base/check.h"
#include "weft/base/parallel.h"
#include "weft/kernel/cpu/flat_loops.h"
#include "weft/kernel/cpu/isa.h"
#include "weft/kernel/cpu/optimizer_loops.h"

namespace weft {
namespace {

// Fewer elements than this are not worth a second thread.
constexpr std::int64_t kOptimizerGrain = 32 * 1024;

}  // namespace

const FlatLoops& flat_loops() {
#if defined(__x86_64__)
  if (use_avx2()) return kFlatLoopsAvx2;
#endif
  return kFlatLoopsGeneric;
}

void sgd_step(const SgdConstants& constants, std::span<const float> gradients,
              std::span<float> momentum_state, std::span<float> parameters) {
  const bool has_momentum = constants.momentum != 0.0F;
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(!has_momentum || momentum_state.size() == parameters.size());
  const SgdPass pass{
      .gradients = gradients.data(),
      .momentum_state = has_momentum ? momentum_state.data() : nullptr,
      .parameters = parameters.data(),
      .learning_rate = constants.learning_rate,
      .momentum = constants.momentum,
      .gradient_share = constants.first_step ? 1.0F : 1.0F - constants.dampening,
      .weight_decay = constants.weight_decay,
      .nesterov = constants.nesterov,
  };
  const FlatLoops& loops = flat_loops();
  parallel_for(static_cast<std::int64_t>(parameters.size()), kOptimizerGrain,
               [&](std::int64_t begin, std::int64_t end) { loops.sgd(pass, begin, end); });
}

void adam_step(const AdamConstants& constants, std::span<const float> gradients,
               const AdamState& state, std::span<float> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(state.mean.size() == parameters.size());
  WEFT_CHECK(state.variance.size() == parameters.size());
  const auto step = static_cast<double>(constants.step);
  const double mean_correction = 1.0 - std::pow(constants.beta1, step);
  const double variance_correction = 1.0 - std::pow(constants.beta2, step);
  const bool decoupled = constants.decoupled_weight_decay;
  const double shrink = decoupled ? 1.0 - constants.learning_rate * constants.weight_decay : 1.0;
  const AdamPass pass{
      .gradients = gradients.data(),
      .mean = state.mean.data(),
      .variance = state.variance.data(),
      .parameters = parameters.data(),
      .beta1 = static_cast<float>(constants.beta1),
      .mean_share = static_cast<float>(1.0 - constants.beta1),
      .beta2 = static_cast<float>(constants.beta2),
      .variance_share = static_cast<float>(1.0 - constants.beta2),
      .step_size = static_cast<float>(constants.learning_rate / mean_correction),
      .root_correction = static_cast<float>(std::sqrt(variance_correction)),
      .epsilon = static_cast<float>(constants.epsilon),
      .weight_decay = static_cast<float>(decoupled ? 0.0 : constants.weight_decay),
      .shrink = static_cast<float>(shrink),
  };
  if (!state.variance_max.empty()) {
    WEFT_CHECK(state.variance_max.size() == parameters.size());
    const AmsgradPass largest{pass, state.variance_max.data()};
    const OptimizerLoops& loops = optimizer_loops();
    parallel_for(static_cast<std::int64_t>(parameters.size()), kOptimizerGrain,
                 [&](std::int64_t begin, std::int64_t end) { loops.amsgrad(largest, begin, end); });
    return;
  }
  const FlatLoops& loops = flat_loops();
  parallel_for(static_cast<std::int64_t>(parameters.size()), kOptimizerGrain,
               [&](std::int64_t begin, std::int64_t end) { loops.adam(pass, begin, end); });
}

}  // namespace weft
