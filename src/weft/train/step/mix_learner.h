// MixTrainedLearner: members of a method of loose exchange, as one model plays them.
//
// A real member plays itself; in a simulation one model plays all, and each member has its
// optimizer's state and the list of its samples. With data.partition = "shared" it draws from all
// samples, from a place of its own in their order; otherwise from its part, shuffled anew in each
// epoch. The learning rate is that of the member's own step.
//
// It works in the arena of its StepParts: what stands there is overwritten.
// Where it stands: MixLocal -> here -> compute_shard(), update_parameters(). Threads: one owner.
// Fails: make() as Partition::parts().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/sampler.h"
#include "weft/mix/local/mix_learner.h"
#include "weft/mix/mix_core.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/step.h"

namespace weft {

// The tensors of a layout, as combinations see them.
std::vector<MixTensor> mix_tensors(const Layout& layout);

// The output layer of a layout, whose units are the classes: its last weight, and the bias of the
// same name. kInvalidArgument where that is no matrix.
Result<MixUnits> mix_outputs(const Layout& layout);

// What a member begins with, where the arena holds the recipe's own first model: that, the same for
// all, or with mix.start = "own" one of its own. The arena holds it afterwards.
MixVector mix_first_model(const Recipe& recipe, Module& model, const ParameterArena& arena,
                          std::uint32_t member);

// How members' samples differ from what the recipe gives them; for simulations of liars.
struct MixSamples {
  // Whose samples a member trains on.
  std::function<std::uint32_t(std::uint32_t member)> owner;
  // Changes a batch that a member trains on.
  std::function<Status(std::uint32_t member, Batch& batch)> edit;
};

class MixTrainedLearner final : public MixLearner {
 public:
  // Borrows what `parts` refers to, which must outlive this.
  static Result<std::unique_ptr<MixTrainedLearner>> make(const Recipe& recipe,
                                                         const StepParts& parts,
                                                         std::uint32_t members);

  std::size_t elements() const override { return first_->size(); }
  Result<MixLoss> gradient(std::uint32_t member, std::uint64_t step, std::span<float> model,
                           std::span<float> gradient) override;
  Result<MixLoss> loss(std::uint32_t member, std::uint64_t step,
                       std::span<const float> model) override;
  Status update(std::uint32_t member, std::uint64_t step, std::span<const float> gradient,
                std::span<float> model) override;
  bool has_buffers() const override;

  MixVector first_model(std::uint32_t member);
  // Samples of a member's batch.
  std::int64_t batch_size(std::uint32_t member) const;
  void put_in(std::span<const float> model);
  // As `edit` and Sampler::make() for the first batch of `member`, for example.
  Status change_samples(MixSamples samples, std::uint32_t member);
  // The member's part has these of the data set's samples, too; nothing changes where all members
  // draw from all samples.
  Status add_samples(std::uint32_t member, std::span<const std::int64_t> samples);
  // Keeps a tenth of each member's samples, at most 100, from its training. kInvalidArgument where
  // all members draw from all samples, samples have no classes, or a member has fewer than two.
  Status hold_out();
  // REQUIRES: hold_out().
  const std::vector<std::int64_t>& held_out(std::uint32_t member) const {
    return held_out_.at(member);
  }

 private:
  using States = std::vector<std::vector<float>>;

  MixTrainedLearner(const Recipe& recipe, const StepParts& parts);
  Status divide(std::uint32_t members);
  Status set_part(std::uint32_t member, std::vector<std::int64_t> samples);
  std::uint32_t owner_of(std::uint32_t member) const;
  Result<Batch> batch(std::uint32_t member, std::uint64_t step);
  Result<Batch> own_batch(std::uint32_t member, std::uint64_t step);
  void take_turn(std::uint32_t member);
  States take_states();
  void put_states(const States& states);

  struct Part {
    std::vector<std::int64_t> samples;
    std::optional<Sampler> sampler;
  };

  const Recipe recipe_;
  const StepParts parts_;
  const std::vector<std::string> names_;  // of the optimizer's states
  MixVector first_;
  States first_states_;
  std::vector<Part> divided_;  // empty: all draw from all samples
  MixSamples samples_;         // or none of both
  std::vector<std::vector<std::int64_t>> held_out_;
  // Those whose turn it is not; the turn of nobody at first.
  std::map<std::uint32_t, States> states_;
  std::optional<std::uint32_t> turn_;
};

}  // namespace weft
