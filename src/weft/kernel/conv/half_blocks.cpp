#include "weft/kernel/conv/half_blocks.h"

#include <algorithm>

#include "weft/base/parallel.h"

namespace weft::half_blocks {
namespace {

constexpr std::int64_t kBlock = 8;
// Values of a part of the work.
constexpr std::int64_t kGrain = 16 * 1024;

using Row [[gnu::vector_size(16)]] = std::uint16_t;

Row load_row(const std::uint16_t* from) {
  Row row;
  __builtin_memcpy(&row, from, sizeof row);
  return row;
}
void store_row(std::uint16_t* to, const Row& row) { __builtin_memcpy(to, &row, sizeof row); }

Row low(const Row& a, const Row& b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
Row high(const Row& a, const Row& b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

// to[j][i] = from[i][j] of 8 by 8 values; rows lie so many values apart. Each of three passes
// interleaves row i with row i + 4. Loops are unrolled, so that rows stay in registers.
void turn_tile(const std::uint16_t* from, std::int64_t from_step, std::uint16_t* to,
               std::int64_t to_step) {
  Row rows[kBlock];
#pragma GCC unroll 8
  for (int i = 0; i < kBlock; ++i) rows[i] = load_row(from + i * from_step);
#pragma GCC unroll 3
  for (int pass = 0; pass < 3; ++pass) {
    Row next[kBlock];
#pragma GCC unroll 4
    for (int i = 0; i < kBlock / 2; ++i) {
      next[2 * i] = low(rows[i], rows[i + kBlock / 2]);
      next[2 * i + 1] = high(rows[i], rows[i + kBlock / 2]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kBlock; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < kBlock; ++i) store_row(to + i * to_step, rows[i]);
}

// Calls body(first value of a block) for each of all images, which is where its planes begin, too.
template <class Body>
void for_each_block(const Images& images, const Body& body) {
  const std::int64_t size = kBlock * images.pixels;
  parallel_for(images.count * images.channels / kBlock,
               1 + kGrain / std::max<std::int64_t>(1, size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t block = begin; block < end; ++block) body(block * size);
               });
}

// Copies between both orders. Value `pixel` of channel `c` of a block lies in the planes at
// [c][pixel] and in blocks at [pixel][c].
template <bool kFromPlanes>
void copy(const Images& images, const std::uint16_t* from, std::uint16_t* to) {
  const std::int64_t pixels = images.pixels;
  const std::int64_t whole = pixels / kBlock * kBlock;
  for_each_block(images, [&](std::int64_t first) {
    for (std::int64_t i = 0; i < whole; i += kBlock) {
      if constexpr (kFromPlanes) {
        turn_tile(from + first + i, pixels, to + first + i * kBlock, kBlock);
      } else {
        turn_tile(from + first + i * kBlock, kBlock, to + first + i, pixels);
      }
    }
    for (std::int64_t i = whole * kBlock; i < pixels * kBlock; ++i) {
      const std::int64_t in_planes = first + i % kBlock * pixels + i / kBlock;
      const std::int64_t in_blocks = first + i;
      to[kFromPlanes ? in_blocks : in_planes] = from[kFromPlanes ? in_planes : in_blocks];
    }
  });
}

}  // namespace

void from_planes(const Images& images, const std::uint16_t* planes, std::uint16_t* blocks) {
  copy<true>(images, planes, blocks);
}

void to_planes(const Images& images, const std::uint16_t* blocks, std::uint16_t* planes) {
  copy<false>(images, blocks, planes);
}

}  // namespace weft::half_blocks
