// Chain: elementwise loops over one shape that run together, block by block, so that what one
// writes is still in the first-level cache when the next reads it. For this folder.
//
// A result that only the chain itself reads gets no memory but a slot of one block. Each element
// goes through the same row loops as alone, so values are the same bits.
#pragma once

#include <memory>
#include <vector>

#include "weft/array/launch.h"

namespace weft::internal {

inline constexpr int kChainInputsMax = 24;
inline constexpr int kChainStepsMax = 12;

struct ChainOperand {
  enum class Place : std::uint8_t { kSlot, kInput, kOutput } place = Place::kInput;
  int index = 0;
};

struct ChainStep {
  ElementwiseLoop loop;
  std::vector<ChainOperand> operands;
  ChainOperand target;  // a slot or an output
};

// Inputs of the body: arrays that the chain reads from outside; outputs: arrays that others read.
// All outputs have one shape and are contiguous.
std::unique_ptr<LaunchBody> make_chain(std::vector<ChainStep> steps, int slots);

}  // namespace weft::internal
