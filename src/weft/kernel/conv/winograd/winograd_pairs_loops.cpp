// The loops of winograd_pairs_loops.h, compiled once for each instruction set.
#include "weft/kernel/conv/winograd/winograd_pairs_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

// A set that has no instruction for it and is not for tests has no loops.
#if defined(WEFT_WITH_AVX512BF16) || (WEFT_LANES == 16 && !defined(WEFT_WITH_AVX512F))

namespace weft {
namespace {

#include "weft/kernel/conv/winograd/winograd_blocks.inc"
#include "weft/kernel/conv/winograd/winograd_halves.inc"
#include "weft/kernel/conv/winograd/winograd_lines.inc"
#include "weft/kernel/core/pairs_math.inc"

// Values of both blocks side by side.
inline void store_pairs(WinogradHalf* to, const Block& first, const Block& second) {
  WinogradHalf values[2 * kLanes];
  store_values(values, first);
  store_values(values + kLanes, second);
  using Halves [[gnu::vector_size(4 * kWinogradBlock)]] = std::uint16_t;
  Halves halves;
  __builtin_memcpy(&halves, values, sizeof halves);
  halves =
      __builtin_shufflevector(halves, halves, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  __builtin_memcpy(to, &halves, sizeof halves);
}

#include "weft/kernel/conv/winograd/winograd_tiles.inc"
#include "weft/kernel/conv/winograd/winograd_transforms.inc"

using Value = WinogradHalf;
using Lanes = Elements;

struct Operands {
  static Element lane(const WinogradHalf* from) {
    Element lane;
    __builtin_memcpy(&lane, from, sizeof lane);
    return lane;
  }
  static Elements lanes(const WinogradHalf* from) {
    Elements lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }
  static Elements two_rows(const WinogradHalf* from) {
    using Bits [[gnu::vector_size(4 * WEFT_LANES)]] = std::uint16_t;
    const Bits rows = __builtin_bit_cast(Bits, lanes(from));
    return __builtin_bit_cast(
        Elements,
        __builtin_shufflevector(rows, rows, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                                8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
  }
};

#include "weft/kernel/conv/winograd/winograd_products.inc"

void pair_tiles(WinogradHalf* tiles, std::int64_t count) {
  for (std::int64_t t = 0; t < count; t += 2, tiles += 2 * kPanel) {
    const Elements pairs = Operands::two_rows(tiles);
    __builtin_memcpy(tiles, &pairs, sizeof pairs);
  }
}

}  // namespace

extern const WinogradPairs WEFT_LOOPS_NAME(winograd_pairs) = {
    true,
    {input<WinogradHalf, WinogradHalf>, output<WinogradHalf, WinogradHalf>,
     output_gradient<WinogradHalf, WinogradHalf>, input_gradient<WinogradHalf>,
     weights<WinogradHalf>, weights_gradient},
    {kPanels, multiply, pair_tiles, multiply_transposed}};

}  // namespace weft

#else

namespace weft {

extern const WinogradPairs WEFT_LOOPS_NAME(winograd_pairs) = {};

}  // namespace weft

#endif

#include "weft/base/isa/loops_end.inc"
