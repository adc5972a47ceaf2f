// A file NAME_local.cpp defines one of these: a local update of MixLocal.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/base/option.h"
#include "weft/base/status.h"
#include "weft/mix/local/mix_local.h"

namespace weft {

// One local step, or all of a piece of work.
struct MixLocalInput {
  // In the order of MixLocalDef::options.
  std::span<const double> options;
  std::uint32_t member = 0;
  std::uint64_t step = 0;  // the first of the work's where it is all of it
  MixLearner& learner;
  // The model that the member was given.
  std::span<const float> given;
  std::uint64_t version = 0;
  std::uint64_t seed = 0;  // the run's
  std::span<const float> beside = {};
  bool anchor = false;
};

// A member in a version, for what all members compute alike.
struct MixDraw {
  std::span<const double> options;
  std::uint64_t seed = 0;
  std::uint64_t version = 0;
  std::uint32_t member = 0;
};

// What a local update returns in place of a model: numbers of a byte each.
struct MixNumbersDef {
  // The most of one local step.
  std::size_t (*each_step)(std::span<const double> options) = nullptr;
  // Any number, to the nearest that a byte stands for.
  std::uint8_t (*pack)(float number) = nullptr;
  // False: the byte stands for none.
  bool (*unpack)(std::uint8_t byte, float& number) = nullptr;
  void (*replay)(const MixDraw& draw, std::span<const float> numbers,
                 std::span<float> delta) = nullptr;
};

struct MixLocalDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  // The gradient for the optimizer at `model`, which may be changed meanwhile but not afterwards,
  // except for its buffers.
  Result<MixLoss> (*gradient)(const MixLocalInput& input, std::span<float> model,
                              std::span<float> gradient) = nullptr;
  // Whether what it makes of a model is a gradient.
  bool gives_gradients = false;
  // Or the whole of the work: makes of `model`, which is as it was given, what is returned.
  Result<MixLoss> (*run)(const MixLocalInput& input, std::uint32_t steps,
                         std::vector<float>& model) = nullptr;
  // Where run() makes numbers.
  const MixNumbersDef* numbers = nullptr;
  // Where run() makes a gradient for some members in a version, and takes a vector beside the model
  // for the others: for whom.
  bool (*is_anchor)(const MixDraw& draw) = nullptr;
};

}  // namespace weft
