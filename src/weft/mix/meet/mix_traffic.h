// What members of a method of loose exchange send each other, and what a member's core asks for.
// Threads: values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "weft/mix/combine/mix_history.h"
#include "weft/mix/local/mix_learner.h"

namespace weft {

// A model or a delta. Shared with what is on its way, never changed.
using MixVector = std::shared_ptr<const std::vector<float>>;

// To a member: a model to work on.
struct MixGiven {
  std::uint64_t version = 0;
  std::uint32_t steps = 0;
  MixVector model = {};
  // What else the member needs (MixLocal::takes_beside); null: nothing.
  MixVector beside = {};
};

// From a member.
struct MixReturned {
  std::uint64_t base = 0;  // the version that it worked on
  std::uint32_t steps = 0;
  double seconds = 0;
  MixLoss loss = {};
  MixVector values = {};
  // What the sender reports about another member (MixCombine::tells_histories).
  std::optional<MixHistory> history = {};
};

struct MixSend {
  std::uint32_t to = 0;
  std::variant<MixGiven, MixReturned> what;
};

// Local steps to take. Work that comes later makes this void.
struct MixWork {
  std::uint64_t id = 0;
  std::uint64_t version = 0;
  std::uint32_t steps = 0;
  MixVector model = {};
  MixVector beside = {};
};

// A combination that was made here.
struct MixCombined {
  std::uint64_t version = 0;  // that it made; the first model is version 0
  MixVector model = {};
  MixLoss loss = {};  // of what went into it
  std::uint32_t contributions = 0;
  double staleness = 0;  // mean, in versions
};

}  // namespace weft
