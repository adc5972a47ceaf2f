// A network of one hidden layer in plain loops, as a probe. For tests.
//
// 3 inputs, 5 hidden units with max(x, 0), 4 outputs, without biases of the outputs: 40 values, in
// the order weight [5, 3], bias [5], weight [4, 5]. Threads: one owner. Fails: never.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "weft/base/rng.h"
#include "weft/mix/combine/mix_probe.h"

namespace weft {

class TestMixProbe final : public MixProbe {
 public:
  static constexpr std::size_t kInputs = 3;
  static constexpr std::size_t kUnits = 5;
  static constexpr std::size_t kOutputs = 4;
  static constexpr std::size_t kElements = kUnits * (kInputs + 1) + kOutputs * kUnits;
  static constexpr std::size_t kSamples = 50;

  TestMixProbe()
      : layers_{{kUnits,
                 {{0, 1, kInputs},
                  {kUnits * kInputs, 1, 1},
                  {kUnits * (kInputs + 1), kOutputs, 1}}}},
        inputs_(kSamples * kInputs) {
    Rng draws(9);
    for (float& value : inputs_) value = static_cast<float>(draws.normal());
  }

  const std::vector<MixUnits>& layers() const override { return layers_; }
  std::vector<std::vector<float>> values(std::span<const float> model) override {
    std::vector<float> hidden;
    for (std::size_t s = 0; s < kSamples; ++s) {
      for (std::size_t u = 0; u < kUnits; ++u) {
        float sum = model[kUnits * kInputs + u];
        for (std::size_t i = 0; i < kInputs; ++i) {
          sum += model[u * kInputs + i] * inputs_[s * kInputs + i];
        }
        hidden.push_back(std::max(sum, 0.0F));
      }
    }
    return {hidden};
  }
  std::vector<float> outputs(std::span<const float> model) {
    const std::vector<float> hidden = values(model).front();
    std::vector<float> out;
    for (std::size_t s = 0; s < kSamples; ++s) {
      for (std::size_t o = 0; o < kOutputs; ++o) {
        float sum = 0;
        for (std::size_t u = 0; u < kUnits; ++u) {
          sum += model[kUnits * (kInputs + 1) + o * kUnits + u] * hidden[s * kUnits + u];
        }
        out.push_back(sum);
      }
    }
    return out;
  }

 private:
  const std::vector<MixUnits> layers_;
  std::vector<float> inputs_;
};

}  // namespace weft
