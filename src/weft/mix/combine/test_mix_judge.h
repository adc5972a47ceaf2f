// Judges for tests: one whose scores a test writes down, and one that classifies a few samples by a
// linear output layer.
// Threads: one owner. Fails: never.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/rng.h"
#include "weft/mix/combine/mix_judge.h"
#include "weft/mix/combine/mix_probe.h"

namespace weft {

class ScriptedJudge final : public MixJudge {
 public:
  using Script = std::function<std::vector<double>(std::span<const float> model)>;

  ScriptedJudge(std::vector<std::size_t> familiar, Script script)
      : familiar_(std::move(familiar)), script_(std::move(script)) {}
  const std::vector<std::size_t>& familiar() const override { return familiar_; }
  std::vector<double> scores(std::span<const float> model) override {
    ++asked;
    return script_(model);
  }

  int asked = 0;

 private:
  const std::vector<std::size_t> familiar_;
  const Script script_;
};

// Samples of `kClasses` classes: a class's inputs lie around a point of its own. The model is a
// weight [classes, inputs] at `begin`, and a bias behind it.
class LinearJudge final : public MixJudge {
 public:
  static constexpr std::size_t kClasses = 3;
  static constexpr std::size_t kInputs = 4;
  static constexpr std::size_t kOutputs = kClasses * (kInputs + 1);

  explicit LinearJudge(std::size_t begin) : begin_(begin) {
    Rng draws(21);
    for (std::size_t s = 0; s < 30; ++s) {
      truths_.push_back(s % kClasses);
      for (std::size_t i = 0; i < kInputs; ++i) {
        const double centre = i == s % kClasses ? 2 : 0;
        inputs_.push_back(static_cast<float>(centre + 0.3 * draws.normal()));
      }
    }
  }
  MixUnits outputs() const {
    return {kClasses, {{begin_, 1, kInputs}, {begin_ + kClasses * kInputs, 1, 1}}};
  }
  const std::vector<std::size_t>& familiar() const override { return familiar_; }
  std::vector<double> scores(std::span<const float> model) override {
    std::vector<std::size_t> guesses;
    for (std::size_t s = 0; s < truths_.size(); ++s) {
      std::pair<float, std::size_t> best{-1e30F, 0};
      for (std::size_t c = 0; c < kClasses; ++c) {
        float sum = model[begin_ + kClasses * kInputs + c];
        for (std::size_t i = 0; i < kInputs; ++i) {
          sum += model[begin_ + c * kInputs + i] * inputs_[s * kInputs + i];
        }
        if (sum > best.first) best = {sum, c};
      }
      guesses.push_back(best.second);
    }
    return class_f1(truths_, guesses, familiar_);
  }
  // A model that distinguishes the classes: a row looks at its own input.
  std::vector<float> able(float strength) const {
    std::vector<float> model(begin_ + kOutputs);
    for (std::size_t c = 0; c < kClasses; ++c) model[begin_ + c * kInputs + c] = strength;
    return model;
  }

 private:
  const std::size_t begin_;
  const std::vector<std::size_t> familiar_ = {0, 1, 2};
  std::vector<std::size_t> truths_;
  std::vector<float> inputs_;
};

}  // namespace weft
