// gradient: what a member returns is the gradient at its model, and no optimizer moves the model.
//
// For methods that are optimizers themselves, such as accelerated gossip.
#include <algorithm>
#include <vector>

#include "weft/mix/local/mix_local_def.h"

namespace weft {
namespace {

constexpr Option kGradientOptions[] = {
    {.name = "l2",
     .fallback = 0,
     .min = 0,
     .max = 1e6,
     .help = "l2 / 2 |x|^2 is added to the loss, which makes it strongly convex."},
};

}  // namespace

extern const MixLocalDef gradient_local = {
    .name = "gradient",
    .summary = "The gradient at the model, for plans that make the step (DADAO).",
    .options = kGradientOptions,
    .gives_gradients = true,
    .run = [](const MixLocalInput& input, std::uint32_t /*steps*/,
              std::vector<float>& model) -> Result<MixLoss> {
      std::vector<float> gradient(model.size());
      WEFT_TRY_ASSIGN(const MixLoss loss,
                      input.learner.gradient(input.member, input.step, model, gradient));
      const auto l2 = static_cast<float>(input.options[0]);
      for (std::size_t i = 0; i < model.size(); ++i) model[i] = gradient[i] + l2 * input.given[i];
      return loss;
    },
};

}  // namespace weft
