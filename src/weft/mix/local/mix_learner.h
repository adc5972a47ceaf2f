// MixLearner: one member's data, model and optimizer, as local updates use them.
//
// Where it stands: MixLocal calls it; the simulator's is a Trainer, that of tests a closed form.
// Threads: one owner. Fails: as the implementation says, for example with kInvalidArgument where a
// loss is no number any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/base/status.h"

namespace weft {

// Sums over the samples of the batches that were used.
struct MixLoss {
  double loss = 0;  // of labels, added up
  double correct = 0;
  double samples = 0;
  double labels = 0;

  void add(const MixLoss& other) {
    loss += other.loss;
    correct += other.correct;
    samples += other.samples;
    labels += other.labels;
  }
};

class MixProbe;  // mix/combine/mix_probe.h

class MixLearner {
 public:
  virtual ~MixLearner() = default;
  virtual std::size_t elements() const = 0;
  // The mean gradient at `model` of the member's batch for its step `step`, from 0; the same batch
  // for the same step. Passes forward may change buffers of `model`, and nothing else of it.
  virtual Result<MixLoss> gradient(std::uint32_t member, std::uint64_t step, std::span<float> model,
                                   std::span<float> gradient) = 0;
  // The loss at `model` of the batch for that step, as gradient() has it, but with nothing drawn at
  // random (dropout), and with no change to `model`.
  virtual Result<MixLoss> loss(std::uint32_t member, std::uint64_t step,
                               std::span<const float> model) = 0;
  // Moves `model` by the member's optimizer. What that remembers stays with the member.
  virtual Status update(std::uint32_t member, std::uint64_t step, std::span<const float> gradient,
                        std::span<float> model) = 0;
  // Whether passes forward change some of a model's elements, such as running statistics.
  virtual bool has_buffers() const { return false; }
  // What combinations may ask of the model; null where they may ask nothing.
  virtual MixProbe* probe() { return nullptr; }
};

}  // namespace weft
