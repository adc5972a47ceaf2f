// amd: in each version a member is an anchor or a miner, which is drawn by all alike. An anchor
// measures the gradient at the model on many samples; a miner takes steps whose noise is that of
// differences of gradients only.
//
// IMPLEMENTATION: Wu, Guo, Qu, He, Liu and Gao, "Anchor sampling for federated learning with
// partial client participation", ICML 2023 (FedAMD), as the authors' code has it:
//   anchor   returns v = the mean gradient of several batches at the model, which does not move
//   miner    g = the mean of all v at first; y = the model
//            each step: g += gradient(y) - gradient(y before), of one batch; y moves by g
// We differ: y moves by the recipe's optimizer instead of plain descent, and in version 0 all are
// anchors of several batches instead of all samples, and only those that the plan draws.
// Cost: two gradients for each of a miner's steps but the first; memory of four vectors.
#include <algorithm>
#include <vector>

#include "weft/base/rng.h"
#include "weft/mix/local/mix_local_def.h"

namespace weft {
namespace {

constexpr Option kAmdOptions[] = {
    {.name = "p",
     .fallback = 0.5,
     .min = 0.001,
     .max = 0.999,
     .help = "The probability that a member is an anchor; all are in version 0."},
    {.name = "batches",
     .fallback = 8,
     .min = 1,
     .max = 100'000,
     .whole = true,
     .help = "Batches of an anchor's gradient."},
};

bool is_drawn_anchor(const MixDraw& draw) {
  if (draw.version == 0) return true;
  constexpr std::uint64_t kStream = std::uint64_t{1} << 63U;  // apart from the plans'
  Rng rng(draw.seed, kStream | draw.version << 16U | draw.member);
  return rng.chance(draw.options[0]);
}

// A member without steps to take has no data: its gradient is zero.
Result<MixLoss> measure_anchor(const MixLocalInput& input, std::uint32_t steps,
                               std::vector<float>& model) {
  const auto batches = steps > 0 ? static_cast<std::uint64_t>(input.options[1]) : 0;
  std::vector<double> sum(model.size());
  std::vector<float> gradient(model.size());
  MixLoss sums;
  for (std::uint64_t i = 0; i < batches; ++i) {
    std::ranges::copy(input.given, model.begin());
    WEFT_TRY_ASSIGN(const MixLoss loss,
                    input.learner.gradient(input.member, input.step + i, model, gradient));
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += static_cast<double>(gradient[j]);
    sums.add(loss);
  }
  const double scale = batches > 0 ? 1 / static_cast<double>(batches) : 0;
  std::ranges::transform(sum, model.begin(),
                         [scale](double value) { return static_cast<float>(scale * value); });
  return sums;
}

Result<MixLoss> mine(const MixLocalInput& input, std::uint32_t steps, std::vector<float>& model) {
  std::vector<float> direction(input.beside.begin(), input.beside.end());
  std::vector<float> before;
  std::vector<float> here(model.size());
  std::vector<float> there(model.size());
  MixLoss sums;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::uint64_t step = input.step + i;
    if (i == 0) {
      WEFT_TRY_ASSIGN(const MixLoss loss, input.learner.loss(input.member, step, model));
      sums.add(loss);
    } else {
      // The pass at the model before may change its buffers, which are not kept.
      WEFT_TRY(input.learner.gradient(input.member, step, before, there).status());
      WEFT_TRY_ASSIGN(const MixLoss loss, input.learner.gradient(input.member, step, model, here));
      for (std::size_t j = 0; j < direction.size(); ++j) direction[j] += here[j] - there[j];
      sums.add(loss);
    }
    before = model;
    WEFT_TRY(input.learner.update(input.member, step, direction, model));
  }
  return sums;
}

Result<MixLoss> amd_run(const MixLocalInput& input, std::uint32_t steps,
                        std::vector<float>& model) {
  if (input.anchor) return measure_anchor(input, steps, model);
  if (input.beside.size() != model.size()) {
    return internal_error("amd: a miner was given no mean of the anchors' gradients");
  }
  return mine(input, steps, model);
}

}  // namespace

extern const MixLocalDef amd_local = {
    .name = "amd",
    .summary =
        "Anchors measure gradients, miners take steps corrected by them (Wu et al. 2023, "
        "FedAMD).",
    .options = kAmdOptions,
    .run = amd_run,
    .is_anchor = is_drawn_anchor,
};

}  // namespace weft
