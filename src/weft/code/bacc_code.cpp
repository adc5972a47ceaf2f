// bacc: Berrut's interpolant over Chebyshev points of the second kind.
//
// IMPLEMENTATION: Jahani-Nezhad and Maddah-Ali, 2023: blocks at cos((2 j + 1) pi / 2 K), workers at
// cos(i pi / (N - 1)).
#include <numbers>

#include <fmt/format.h>

#include "weft/base/portable_math.h"
#include "weft/code/code_def.h"

namespace weft {
namespace {

constexpr Option kBaccOptions[] = {
    {.name = "blocks",
     .fallback = 4,
     .min = 1,
     .max = 64,
     .whole = true,
     .help = "Blocks of data; no more than workers, which are at least 2."},
};

Result<std::unique_ptr<CodedBlocks>> bacc_blocks(const CodeInput& input) {
  const std::size_t blocks = input.option(0);
  if (input.workers < 2 || input.workers < blocks) {
    return invalid_argument(fmt::format("workers: expected at least {}, got {}",
                                        blocks < 2 ? 2 : blocks, input.workers));
  }
  CodedBlocksInfo info;
  for (std::size_t j = 0; j < blocks; ++j) {
    info.block_nodes.push_back(portable_cos(static_cast<double>(2 * j + 1) * std::numbers::pi /
                                            static_cast<double>(2 * blocks)));
  }
  for (std::size_t i = 0; i < input.workers; ++i) {
    info.worker_nodes.push_back(portable_cos(static_cast<double>(i) * std::numbers::pi /
                                             static_cast<double>(input.workers - 1)));
  }
  return std::make_unique<CodedBlocks>(std::move(info));
}

}  // namespace

extern const CodeDef bacc_code = {
    .name = "bacc",
    .summary =
        "Approximates a smooth function of blocks of data by Berrut's interpolant (Jahani-Nezhad "
        "and Maddah-Ali 2023).",
    .load_text = "1 / blocks",
    .options = kBaccOptions,
    .blocks = bacc_blocks,
};

}  // namespace weft
