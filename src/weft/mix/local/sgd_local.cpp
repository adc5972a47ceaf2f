// sgd: the gradient as it is. prox: with a pull towards the model that the member was given.
//
// IMPLEMENTATION: McMahan et al., "Communication-efficient learning of deep networks from
// decentralized data", AISTATS 2017 (sgd); Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith,
// "Federated optimization in heterogeneous networks", MLSys 2020, equation 2 (prox: FedProx).
#include "weft/mix/local/mix_local_def.h"

namespace weft {
namespace {

constexpr Option kProxOptions[] = {
    {.name = "mu",
     .fallback = 0.01,
     .min = 0,
     .max = 1e6,
     .help = "mu / 2 |x - given|^2 is added to the loss."},
};

Result<MixLoss> plain_gradient(const MixLocalInput& input, std::span<float> model,
                               std::span<float> gradient) {
  return input.learner.gradient(input.member, input.step, model, gradient);
}

}  // namespace

extern const MixLocalDef sgd_local = {
    .name = "sgd",
    .summary = "Steps of the recipe's optimizer (McMahan et al. 2017, FedAvg).",
    .gradient = plain_gradient,
};

extern const MixLocalDef prox_local = {
    .name = "prox",
    .summary = "With a pull towards the model that was given (Li et al. 2020, FedProx).",
    .options = kProxOptions,
    .gradient = [](const MixLocalInput& input, std::span<float> model,
                   std::span<float> gradient) -> Result<MixLoss> {
      WEFT_TRY_ASSIGN(const MixLoss loss, plain_gradient(input, model, gradient));
      const auto mu = static_cast<float>(input.options[0]);
      for (std::size_t i = 0; i < model.size(); ++i) {
        gradient[i] += mu * (model[i] - input.given[i]);
      }
      return loss;
    },
};

}  // namespace weft
