#include "weft/train/step/mix_learner.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "weft/data/partition.h"
#include "weft/op/loss.h"
#include "weft/train/report/confusion.h"
#include "weft/train/update/precision.h"

namespace weft {
namespace {

// Members that draw from all samples begin so many steps apart.
constexpr std::int64_t kMixPlaceSteps = 1 << 20;

// One in so many of a member's samples is held out, and at most so many are.
constexpr std::size_t kHeldOutEach = 10;
constexpr std::size_t kHeldOutMax = 100;

Result<std::vector<std::int64_t>> partition_labels(const Partition& partition,
                                                   const Dataset* dataset) {
  if (dataset == nullptr) return internal_error("data.partition: the data set is not at hand");
  std::vector<std::int64_t> labels(static_cast<std::size_t>(dataset->size));
  if (!partition.needs_labels()) return labels;
  if (dataset->labels.empty()) {
    return invalid_argument(
        fmt::format("data.partition: expected samples with classes for \"{}\", got {}",
                    partition.text(), to_string(dataset->kind)));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = dataset->label(static_cast<std::int64_t>(i));
  }
  return labels;
}

// What belongs to one round alone is left out.
StepParts lasting(StepParts parts) {
  parts.validation = nullptr;
  return parts;
}

}  // namespace

Result<std::unique_ptr<MixTrainedLearner>> MixTrainedLearner::make(const Recipe& recipe,
                                                                   const StepParts& parts,
                                                                   std::uint32_t members) {
  std::unique_ptr<MixTrainedLearner> learner(new MixTrainedLearner(recipe, parts));
  WEFT_TRY(learner->divide(members));
  return learner;
}

MixTrainedLearner::MixTrainedLearner(const Recipe& recipe, const StepParts& parts)
    : recipe_(recipe), parts_(lasting(parts)), names_(parts.arena.state_names()) {
  const std::span<const float> values = std::as_const(parts_.arena).parameters();
  first_ = std::make_shared<const std::vector<float>>(values.begin(), values.end());
  first_states_ = take_states();
}

Status MixTrainedLearner::divide(std::uint32_t members) {
  WEFT_TRY_ASSIGN(const Partition partition, Partition::parse(recipe_.data.partition));
  if (partition.is_shared()) return {};
  const auto seed = static_cast<std::uint64_t>(recipe_.run.seed);
  WEFT_TRY_ASSIGN(const std::vector<std::int64_t> labels,
                  partition_labels(partition, parts_.loader.dataset()));
  WEFT_TRY_ASSIGN(auto parts, partition.parts(labels, members, seed));
  divided_.resize(parts.size());
  for (std::uint32_t i = 0; i < members; ++i) WEFT_TRY(set_part(i, std::move(parts[i])));
  return {};
}

Status MixTrainedLearner::set_part(std::uint32_t member, std::vector<std::int64_t> samples) {
  Part& part = divided_[member];
  part.samples = std::move(samples);
  const auto size = static_cast<std::int64_t>(part.samples.size());
  WEFT_TRY_ASSIGN(part.sampler,
                  Sampler::make({.seed = static_cast<std::uint64_t>(recipe_.run.seed) + member,
                                 .dataset_size = size,
                                 .batch_size = std::min(size, recipe_.run.global_batch)}));
  return {};
}

Status MixTrainedLearner::add_samples(std::uint32_t member, std::span<const std::int64_t> samples) {
  if (divided_.empty()) return {};
  std::set<std::int64_t> all(divided_[member].samples.begin(), divided_[member].samples.end());
  all.insert(samples.begin(), samples.end());
  return set_part(member, {all.begin(), all.end()});
}

Status MixTrainedLearner::hold_out() {
  const Dataset* const dataset = parts_.loader.dataset();
  if (divided_.empty()) {
    return invalid_argument(
        "data.partition: expected a part of the samples for each member, such as \"equal\", of "
        "which it keeps some to judge others by, got \"shared\"");
  }
  if (dataset == nullptr || dataset->labels.empty()) {
    return invalid_argument("data.name: expected samples with classes, by which members judge");
  }
  for (std::uint32_t member = 0; member < divided_.size(); ++member) {
    std::vector<std::int64_t> rest;
    std::vector<std::int64_t>& kept = held_out_.emplace_back();
    const std::vector<std::int64_t>& samples = divided_[member].samples;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const bool keeps = i % kHeldOutEach == 1 && kept.size() < kHeldOutMax;
      (keeps ? kept : rest).push_back(samples[i]);
    }
    if (kept.empty()) {
      return invalid_argument(fmt::format(
          "data.partition: expected at least 2 samples of member {}, of which it keeps one to "
          "judge others by, got {}",
          member, samples.size()));
    }
    WEFT_TRY(set_part(member, std::move(rest)));
  }
  return {};
}

Status MixTrainedLearner::change_samples(MixSamples samples, std::uint32_t member) {
  samples_ = std::move(samples);
  return batch(member, 0).status();
}

std::uint32_t MixTrainedLearner::owner_of(std::uint32_t member) const {
  return samples_.owner ? samples_.owner(member) : member;
}

MixVector mix_first_model(const Recipe& recipe, Module& model, const ParameterArena& arena,
                          std::uint32_t member) {
  if (recipe.mix.start != "same" && member > 0) {
    model.initialize(static_cast<std::uint64_t>(recipe.run.seed) + member);
  }
  const std::span<const float> values = arena.parameters();
  return std::make_shared<const std::vector<float>>(values.begin(), values.end());
}

MixVector MixTrainedLearner::first_model(std::uint32_t member) {
  put_in(*first_);
  return mix_first_model(recipe_, parts_.model, parts_.arena, member);
}

std::int64_t MixTrainedLearner::batch_size(std::uint32_t member) const {
  if (divided_.empty()) return recipe_.run.global_batch;
  return divided_[member].sampler->options().batch_size;
}

Result<Batch> MixTrainedLearner::batch(std::uint32_t member, std::uint64_t step) {
  WEFT_TRY_ASSIGN(Batch batch, own_batch(owner_of(member), step));
  if (samples_.edit) WEFT_TRY(samples_.edit(member, batch));
  return batch;
}

Result<Batch> MixTrainedLearner::own_batch(std::uint32_t member, std::uint64_t step) {
  BatchLoader& loader = parts_.loader;
  const auto own_step = static_cast<std::int64_t>(step);
  if (divided_.empty()) {
    return loader.get((member + 1) * kMixPlaceSteps + own_step, {0, loader.batch_size()});
  }
  Part& part = divided_[member];
  std::vector<std::int64_t> samples;
  for (const std::int64_t place : part.sampler->batch(own_step)) {
    samples.push_back(part.samples[static_cast<std::size_t>(place)]);
  }
  return loader.samples(samples, part.sampler->epoch_of(own_step));
}

void MixTrainedLearner::put_in(std::span<const float> model) {
  std::ranges::copy(model, parts_.arena.parameters().begin());
}

Result<MixLoss> MixTrainedLearner::gradient(std::uint32_t member, std::uint64_t step,
                                            std::span<float> model, std::span<float> gradient) {
  WEFT_TRY_ASSIGN(const Batch batch, this->batch(member, step));
  put_in(model);
  const ShardWork work = {
      parts_,
      (owner_of(member) + 1) * static_cast<std::uint64_t>(kMixPlaceSteps) + step,
      {0, batch.inputs.dim(0)},
      1.0 / static_cast<double>(batch.labels.size())};
  parts_.arena.zero_gradients();
  const RoundReport report = compute_shard(work, batch, [](ParameterId) {});
  std::ranges::copy(std::as_const(parts_.arena).gradients(), gradient.begin());
  std::ranges::copy(std::as_const(parts_.arena).parameters(), model.begin());
  return MixLoss{report.loss * report.labels, report.correct, report.samples, report.labels};
}

Result<MixLoss> MixTrainedLearner::loss(std::uint32_t member, std::uint64_t step,
                                        std::span<const float> model) {
  WEFT_TRY_ASSIGN(const Batch batch, this->batch(member, step));
  put_in(model);
  const NoGrad no_grad;
  parts_.model.train(false);
  const LowPrecision low(parts_.model, parts_.precision);
  const Tensor logits = LowPrecision::output(parts_.model.forward(low.input(batch.inputs)));
  const Tensor loss = summed_loss(logits, batch.labels, 1.0, parts_.label_smoothing);
  parts_.model.train(true);
  return MixLoss{static_cast<double>(loss.item()),
                 static_cast<double>(count_correct(logits.array(), batch.labels)),
                 static_cast<double>(batch.inputs.dim(0)),
                 static_cast<double>(batch.labels.size())};
}

bool MixTrainedLearner::has_buffers() const {
  const std::vector<MixTensor> tensors = mix_tensors(parts_.arena.layout());
  return std::ranges::find(tensors, false, &MixTensor::trained) != tensors.end();
}

Status MixTrainedLearner::update(std::uint32_t member, std::uint64_t step,
                                 std::span<const float> gradient, std::span<float> model) {
  take_turn(member);
  put_in(model);
  const auto own_step = static_cast<std::int64_t>(step);
  parts_.optimizer.set_steps(own_step);
  update_parameters(parts_, own_step, gradient);
  std::ranges::copy(std::as_const(parts_.arena).parameters(), model.begin());
  return {};
}

MixTrainedLearner::States MixTrainedLearner::take_states() {
  States states;
  for (const std::string& name : names_) {
    const Array buffer = parts_.arena.state(name);
    const std::span<const float> from = buffer.flat<float>();
    states.emplace_back(from.begin(), from.end());
  }
  return states;
}

void MixTrainedLearner::put_states(const States& states) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    Array buffer = parts_.arena.state(names_[i]);
    std::ranges::copy(states[i], buffer.flat<float>().begin());
  }
}

void MixTrainedLearner::take_turn(std::uint32_t member) {
  if (names_.empty() || turn_ == member) return;
  if (turn_) states_[*turn_] = take_states();
  const auto own = states_.find(member);
  put_states(own == states_.end() ? first_states_ : own->second);
  turn_ = member;
}

Result<MixUnits> mix_outputs(const Layout& layout) {
  const auto weight =
      std::find_if(layout.entries().rbegin(), layout.entries().rend(),
                   [](const LayoutEntry& entry) { return entry.kind == ParameterKind::kWeight; });
  if (weight == layout.entries().rend() || weight->shape.size() != 2) {
    return invalid_argument(
        fmt::format("model: expected a linear layer at the end, whose rows are the classes, got {}",
                    weight == layout.entries().rend() ? "no weights" : weight->name));
  }
  MixUnits outputs{static_cast<std::size_t>(weight->shape[0]), {}};
  outputs.slices.push_back(
      {static_cast<std::size_t>(weight->offset), 1, static_cast<std::size_t>(weight->shape[1])});
  const std::string prefix = weight->name.substr(0, weight->name.rfind('.') + 1);
  const int bias = layout.find(prefix + "bias");
  if (bias >= 0) {
    outputs.slices.push_back({static_cast<std::size_t>(layout[bias].offset), 1, 1});
  }
  return outputs;
}

std::vector<MixTensor> mix_tensors(const Layout& layout) {
  std::vector<MixTensor> tensors;
  for (const LayoutEntry& entry : layout.entries()) {
    const auto begin = static_cast<std::size_t>(entry.offset);
    tensors.push_back({begin, begin + static_cast<std::size_t>(entry.shape.num_elements()),
                       entry.kind != ParameterKind::kBuffer});
  }
  return tensors;
}

}  // namespace weft
