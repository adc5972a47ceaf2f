// sbacc: as bacc, with the workers at Chebyshev points of the first kind, so that liars show in the
// discrete cosine transform of the answers (liar_search.h).
//
// IMPLEMENTATION: Borah and Harshan, 2025: blocks at cos((2 j + 1) pi / 2 K), workers at
// cos((2 i + 1) pi / 2 N).
#include <numbers>

#include <fmt/format.h>

#include "weft/base/portable_math.h"
#include "weft/code/code_def.h"

namespace weft {
namespace {

constexpr Option kSbaccOptions[] = {
    {.name = "blocks",
     .fallback = 4,
     .min = 1,
     .max = 64,
     .whole = true,
     .help = "Blocks of data; no more than workers."},
    {.name = "threshold",
     .fallback = 1e-3,
     .min = 1e-9,
     .max = 1,
     .help = "Energy of high coefficients above which some answer is a lie, against an answer."},
};

std::vector<double> first_kind_nodes(std::size_t count) {
  std::vector<double> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(portable_cos(static_cast<double>(2 * i + 1) * std::numbers::pi /
                                 static_cast<double>(2 * count)));
  }
  return nodes;
}

Result<std::unique_ptr<CodedBlocks>> sbacc_blocks(const CodeInput& input) {
  const std::size_t blocks = input.option(0);
  if (input.workers < blocks) {
    return invalid_argument(
        fmt::format("workers: expected at least {}, got {}", blocks, input.workers));
  }
  CodedBlocksInfo info = {
      .block_nodes = first_kind_nodes(blocks),
      .worker_nodes = first_kind_nodes(input.workers),
      .locates = true,
      .threshold = input.options[1],
  };
  return std::make_unique<CodedBlocks>(std::move(info));
}

}  // namespace

extern const CodeDef sbacc_code = {
    .name = "sbacc",
    .summary = "As bacc, and locates up to n / 8 answers that are lies (Borah and Harshan 2025).",
    .load_text = "1 / blocks",
    .options = kSbaccOptions,
    .blocks = sbacc_blocks,
};

}  // namespace weft
