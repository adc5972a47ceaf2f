// sam: the gradient where the loss is highest nearby, in which flat minima have an advantage.
//
// IMPLEMENTATION: Shi, Shen, Wei, Sun, Yuan, Wang and Tao, "Improving the model consistency of
// decentralized federated learning", ICML 2023, algorithm 1 (DFedSAM), after Foret, Kleiner, Mobahi
// and Neyshabur, "Sharpness-aware minimization", ICLR 2021. Both gradients are of one batch, and
// one norm is that of all parameters. Buffers keep what the second pass makes of them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/mix/local/mix_local_def.h"

namespace weft {
namespace {

constexpr Option kSamOptions[] = {
    {.name = "rho",
     .fallback = 0.05,
     .min = 0,
     .max = 1e3,
     .help = "How far away the second gradient is taken, as a Euclidean distance."},
};

}  // namespace

extern const MixLocalDef sam_local = {
    .name = "sam",
    .summary = "Sharpness-aware steps, of two gradients each (Shi et al. 2023, DFedSAM).",
    .options = kSamOptions,
    .gradient = [](const MixLocalInput& input, std::span<float> model,
                   std::span<float> gradient) -> Result<MixLoss> {
      const std::vector<float> here(model.begin(), model.end());
      WEFT_TRY_ASSIGN(const MixLoss loss,
                      input.learner.gradient(input.member, input.step, model, gradient));
      double squares = 0;
      for (const float value : gradient) squares += static_cast<double>(value) * value;
      if (squares == 0) return loss;
      const auto scale = static_cast<float>(input.options[0] / std::sqrt(squares));
      std::vector<float> there(here.size());
      for (std::size_t i = 0; i < here.size(); ++i) there[i] = here[i] + scale * gradient[i];
      std::ranges::copy(there, model.begin());
      WEFT_TRY(input.learner.gradient(input.member, input.step, model, gradient).status());
      // Only buffers have moved since; their gradient is 0.
      for (std::size_t i = 0; i < here.size(); ++i) {
        model[i] = model[i] == there[i] ? here[i] : here[i] + (model[i] - there[i]);
      }
      return loss;
    },
};

}  // namespace weft
