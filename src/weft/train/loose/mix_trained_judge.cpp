#include "weft/train/loose/mix_trained_judge.h"

#include <algorithm>

namespace weft {
namespace {

// By row; the first of equal ones.
std::vector<std::size_t> largest_of_rows(const Array& logits) {
  const std::vector<float> values = logits.to_vector<float>();
  const auto width = static_cast<std::size_t>(logits.dim(-1));
  std::vector<std::size_t> largest;
  for (std::size_t begin = 0; begin < values.size(); begin += width) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = row + static_cast<std::ptrdiff_t>(width);
    largest.push_back(static_cast<std::size_t>(std::max_element(row, end) - row));
  }
  return largest;
}

}  // namespace

Result<std::unique_ptr<MixTrainedJudge>> MixTrainedJudge::make(Trainer& trainer,
                                                               const MixTrainedLearner& learner,
                                                               std::uint32_t member) {
  const BatchLoader& loader = trainer.parts().loader;
  const std::vector<std::int64_t>& kept = learner.held_out(member);
  WEFT_TRY_ASSIGN(const Batch batch, loader.samples(kept, 0));
  std::vector<std::size_t> truths;
  truths.reserve(kept.size());
  for (const std::int64_t sample : kept) {
    truths.push_back(static_cast<std::size_t>(loader.dataset()->label(sample)));
  }
  return std::make_unique<MixTrainedJudge>(trainer, batch.inputs, std::move(truths));
}

MixTrainedJudge::MixTrainedJudge(Trainer& trainer, Array inputs, std::vector<std::size_t> truths)
    : trainer_(trainer),
      inputs_(std::move(inputs)),
      truths_(std::move(truths)),
      familiar_(truths_) {
  std::ranges::sort(familiar_);
  familiar_.erase(std::unique(familiar_.begin(), familiar_.end()), familiar_.end());
}

std::vector<double> MixTrainedJudge::scores(std::span<const float> model) {
  std::ranges::copy(model, trainer_.arena().parameters().begin());
  const NoGrad no_grad;
  Module& module = trainer_.model();
  const bool was_training = module.is_training();
  module.train(false);
  const Tensor logits = module.forward(Tensor(inputs_));
  module.train(was_training);
  return class_f1(truths_, largest_of_rows(logits.array()), familiar_);
}

}  // namespace weft
