#include "weft/train/loose/mix_tools.h"

#include <memory>

#include "weft/nn/units.h"
#include "weft/train/loose/mix_trained_judge.h"
#include "weft/train/loose/mix_trained_probe.h"
#include "weft/train/step/mix_learner.h"

namespace weft {
namespace {

// The tools, and what they borrow.
struct OwnedTools {
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<MixTrainedLearner> learner;
  std::unique_ptr<MixTrainedProbe> probe;
  std::unique_ptr<MixTrainedJudge> judge;
};

Result<std::unique_ptr<MixTrainedLearner>> holding_learner(Trainer& trainer,
                                                           std::uint32_t members) {
  WEFT_TRY_ASSIGN(auto learner,
                  MixTrainedLearner::make(trainer.recipe(), trainer.parts(), members));
  WEFT_TRY(learner->hold_out());
  return learner;
}

}  // namespace

Status check_mix_tools(Trainer& trainer, const MixMethod& method, std::uint32_t members) {
  if (method.combine.needs_probe()) {
    WEFT_TRY(UnitLayers::of(trainer.model()).status().with_context("mix.combine"));
  }
  if (method.combine.needs_judge()) WEFT_TRY(holding_learner(trainer, members).status());
  return {};
}

Result<MixTools> make_mix_tools(const Trainer& trainer, const MixMethod& method,
                                std::uint32_t member, std::uint32_t members) {
  const bool probes = method.combine.needs_probe();
  const bool judges = method.combine.needs_judge();
  if (!probes && !judges) return MixTools();
  const auto owned = std::make_shared<OwnedTools>();
  WEFT_TRY_ASSIGN(owned->trainer, trainer.another());
  MixTools tools;
  if (probes) {
    WEFT_TRY_ASSIGN(owned->probe, MixTrainedProbe::make(*owned->trainer));
    tools.probe = std::shared_ptr<MixProbe>(owned, owned->probe.get());
  }
  if (judges) {
    WEFT_TRY_ASSIGN(owned->learner, holding_learner(*owned->trainer, members));
    WEFT_TRY_ASSIGN(owned->judge, MixTrainedJudge::make(*owned->trainer, *owned->learner, member));
    tools.judge = std::shared_ptr<MixJudge>(owned, owned->judge.get());
  }
  return tools;
}

}  // namespace weft
