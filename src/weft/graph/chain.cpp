#include "weft/graph/chain.h"

#include <algorithm>
#include <array>
#include <optional>

#include "weft/array/elementwise_walk.h"
#include "weft/base/parallel.h"

namespace weft::internal {
namespace {

// What all operands of a block may take: half of a first-level cache of 32 KiB.
constexpr std::int64_t kBlockBytes = 16 * 1024;
constexpr std::int64_t kItemBytesMax = 8;
constexpr std::int64_t kBlockMin = 64;
constexpr std::int64_t kBlockMax = 2048;
// Values a thread takes at least.
constexpr std::int64_t kGrain = 8'192;
constexpr std::int64_t kSlotBytesMax = 64 * 1024;

std::uint8_t* first_byte(const Array& array) {
  return static_cast<std::uint8_t*>(array.raw_data());
}

std::int64_t item_of(const Array& array) {
  return static_cast<std::int64_t>(size_of(array.dtype()));
}

class Chain final : public LaunchBody {
 public:
  Chain(std::vector<ChainStep> steps, int slots) : steps_(std::move(steps)), slots_(slots) {}

  void run(LaunchArrays in, LaunchArrays out) override {
    const Array& model = out[0];
    if (model.size() == 0) return;
    const int streams = in.size() + out.size() + slots_;
    const std::int64_t block =
        std::clamp(kBlockBytes / (kItemBytesMax * streams) / 16 * 16, kBlockMin, kBlockMax);
    if (!walk_) walk_ = make_walk(in, model.shape());
    const Walk& walk = *walk_;
    parallel_for(model.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::array<std::uint8_t, kSlotBytesMax> slots;
      walk.each(begin, end, block, [&](std::int64_t at, const auto& offsets, std::int64_t count) {
        const Block place{in, out, offsets.data(), slots.data(), block * kItemBytesMax, at};
        for (const ChainStep& step : steps_) run_step(step, walk, place, count);
      });
    });
  }

 private:
  using Walk = ElementwiseWalk<kChainInputsMax>;

  static Walk make_walk(LaunchArrays in, const Shape& shape) {
    std::array<Strides, kChainInputsMax> strides;
    for (int i = 0; i < in.size(); ++i) {
      strides[static_cast<std::size_t>(i)] = broadcast_strides(in[i], shape);
    }
    return {shape, strides, in.size()};
  }

  struct Block {
    LaunchArrays in;
    LaunchArrays out;
    const std::int64_t* offsets;  // of the inputs, in elements
    std::uint8_t* slots;
    std::int64_t slot_bytes;
    std::int64_t at;  // the first element's place in the outputs
  };

  static std::uint8_t* dense(const ChainOperand& operand, const Block& block) {
    if (operand.place == ChainOperand::Place::kSlot) {
      return block.slots + operand.index * block.slot_bytes;
    }
    const Array& array = block.out[operand.index];
    return first_byte(array) + block.at * item_of(array);
  }

  static void run_step(const ChainStep& step, const Walk& walk, const Block& block,
                       std::int64_t count) {
    std::array<RunOperand, ElementwiseLoop::kOperandsMax> operands{};
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const ChainOperand& operand = step.operands[i];
      if (operand.place == ChainOperand::Place::kInput) {
        const Array& array = block.in[operand.index];
        operands[i] = {first_byte(array) + block.offsets[operand.index] * item_of(array),
                       walk.step(operand.index)};
      } else {
        operands[i] = {dense(operand, block), 1};
      }
    }
    step.loop.run(step.loop, operands.data(), dense(step.target, block), count);
  }

  std::vector<ChainStep> steps_;
  int slots_;
  std::optional<Walk> walk_;  // shapes and strides are the same in every run
};

}  // namespace

std::unique_ptr<LaunchBody> make_chain(std::vector<ChainStep> steps, int slots) {
  return std::make_unique<Chain>(std::move(steps), slots);
}

}  // namespace weft::internal
