// The transforms of winograd_loops.h. The pragmas stand after all includes, so that no function of
// a header is compiled for AVX2.
#if defined(__x86_64__)

#include "weft/kernel/cpu/winograd_loops.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,fma")
#endif

namespace weft {
namespace {

#include "weft/kernel/cpu/vector.inc"

constexpr std::int64_t kLanes = 8;

// Where a tile lies: its first row and column in the 2x2 output and in the 4x4 input.
struct Place {
  std::int64_t row;
  std::int64_t column;
  std::int64_t in_row;
  std::int64_t in_column;
};

inline Place place_of(const WinogradTiles& tiles, std::int64_t tile) {
  const std::int64_t row = tile / tiles.across * 2;
  const std::int64_t column = tile % tiles.across * 2;
  return {row, column, row - tiles.padding_top, column - tiles.padding_left};
}

inline bool inside(const WinogradImage& image, std::int64_t row, std::int64_t column,
                   std::int64_t extent) {
  return row >= 0 && column >= 0 && row + extent <= image.height && column + extent <= image.width;
}

// kExtent x kExtent pixels of one block of channels from (row, column) on; zeros off the image.
template <int kExtent>
inline void read(const WinogradImage& image, const float* block, std::int64_t row,
                 std::int64_t column, Vec (&out)[kExtent][kExtent]) {
  if (inside(image, row, column, kExtent)) {
    const float* from = block + (row * image.width + column) * kLanes;
    for (int i = 0; i < kExtent; ++i) {
      for (int j = 0; j < kExtent; ++j) out[i][j] = load(from + j * kLanes);
      from += image.width * kLanes;
    }
    return;
  }
  for (int i = 0; i < kExtent; ++i) {
    for (int j = 0; j < kExtent; ++j) {
      out[i][j] = inside(image, row + i, column + j, 1)
                      ? load(block + ((row + i) * image.width + column + j) * kLanes)
                      : Vec{};
    }
  }
}

inline float* block_of(const WinogradImage& image, std::int64_t block) {
  return image.data + block * image.height * image.width * kLanes;
}

void input(const WinogradImage& x, const WinogradTiles& tiles, const WinogradMatrices& out) {
  const std::int64_t channels = x.blocks * kLanes;
  for (std::int64_t block = 0; block < x.blocks; ++block) {
    const float* const from = block_of(x, block);
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
      const Place at = place_of(tiles, tiles.first + tile);
      Vec d[4][4];
      read<4>(x, from, at.in_row, at.in_column, d);
      Vec t[4][4];
      for (int j = 0; j < 4; ++j) {
        t[0][j] = d[0][j] - d[2][j];
        t[1][j] = d[1][j] + d[2][j];
        t[2][j] = d[2][j] - d[1][j];
        t[3][j] = d[3][j] - d[1][j];
      }
      float* to = out.data + tile * channels + block * kLanes;
      for (int i = 0; i < 4; ++i) {
        store(to, t[i][0] - t[i][2]);
        store(to + out.step, t[i][1] + t[i][2]);
        store(to + 2 * out.step, t[i][2] - t[i][1]);
        store(to + 3 * out.step, t[i][3] - t[i][1]);
        to += 4 * out.step;
      }
    }
  }
}

// The second half of A^T m A, and what follows it: one tile of one block.
inline void write_tile(const Vec (&s)[2][4], const Vec& bias, bool relu, const WinogradImage& y,
                       float* block, const Place& at) {
  const bool whole = inside(y, at.row, at.column, 2);
  for (int i = 0; i < 2; ++i) {
    Vec left = s[i][0] + s[i][1] + s[i][2] + bias;
    Vec right = s[i][1] - s[i][2] + s[i][3] + bias;
    if (relu) {
      left = positive(left);
      right = positive(right);
    }
    float* const to = block + ((at.row + i) * y.width + at.column) * kLanes;
    if (whole || inside(y, at.row + i, at.column, 1)) store(to, left);
    if (whole || inside(y, at.row + i, at.column + 1, 1)) store(to + kLanes, right);
  }
}

void output(const WinogradMatrices& in, const WinogradTiles& tiles,
            const WinogradLoops::Finish& finish, const WinogradImage& y) {
  const std::int64_t channels = y.blocks * kLanes;
  for (std::int64_t block = 0; block < y.blocks; ++block) {
    const Vec bias = finish.bias != nullptr ? load(finish.bias + block * kLanes) : Vec{};
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
      const float* const from = in.data + tile * channels + block * kLanes;
      Vec s[2][4];
      for (int j = 0; j < 4; ++j) {
        const Vec m0 = load(from + j * in.step);
        const Vec m1 = load(from + (4 + j) * in.step);
        const Vec m2 = load(from + (8 + j) * in.step);
        const Vec m3 = load(from + (12 + j) * in.step);
        s[0][j] = m0 + m1 + m2;
        s[1][j] = m1 - m2 + m3;
      }
      write_tile(s, bias, finish.relu, y, block_of(y, block), place_of(tiles, tiles.first + tile));
    }
  }
}

// g = 0 where y is not above 0.
inline void mask(const Vec (&y)[2][2], Vec (&g)[2][2]) {
  const Vec zero = {};
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) g[i][j] = y[i][j] > zero ? g[i][j] : zero;
  }
}

void output_gradient(const WinogradImage& dy, const float* y, const WinogradTiles& tiles,
                     const WinogradMatrices& out, float* bias_sums) {
  const std::int64_t channels = dy.blocks * kLanes;
  const WinogradImage value{const_cast<float*>(y), dy.blocks, dy.height, dy.width};
  for (std::int64_t block = 0; block < dy.blocks; ++block) {
    Vec sum = load(bias_sums + block * kLanes);
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
      const Place at = place_of(tiles, tiles.first + tile);
      Vec g[2][2];
      read<2>(dy, block_of(dy, block), at.row, at.column, g);
      if (y != nullptr) {
        Vec v[2][2];
        read<2>(value, block_of(value, block), at.row, at.column, v);
        mask(v, g);
      }
      sum += (g[0][0] + g[0][1]) + (g[1][0] + g[1][1]);
      const Vec e[4][2] = {{g[0][0], g[0][1]},
                           {g[0][0] + g[1][0], g[0][1] + g[1][1]},
                           {g[0][0] - g[1][0], g[0][1] - g[1][1]},
                           {g[1][0], g[1][1]}};
      float* to = out.data + tile * channels + block * kLanes;
      for (int i = 0; i < 4; ++i) {
        store(to, e[i][0]);
        store(to + out.step, e[i][0] + e[i][1]);
        store(to + 2 * out.step, e[i][0] - e[i][1]);
        store(to + 3 * out.step, e[i][1]);
        to += 4 * out.step;
      }
    }
    store(bias_sums + block * kLanes, sum);
  }
}

// The second half of B v B^T, added to one window of one block.
inline void add_window(const Vec (&t)[4][4], const WinogradImage& dx, float* block,
                       const Place& at) {
  const bool whole = inside(dx, at.in_row, at.in_column, 4);
  for (int i = 0; i < 4; ++i) {
    const Vec d[4] = {t[i][0], t[i][1] - t[i][2] - t[i][3], t[i][1] + t[i][2] - t[i][0], t[i][3]};
    const std::int64_t row = at.in_row + i;
    float* const to = block + (row * dx.width + at.in_column) * kLanes;
    for (int j = 0; j < 4; ++j) {
      if (!whole && !inside(dx, row, at.in_column + j, 1)) continue;
      store(to + j * kLanes, load(to + j * kLanes) + d[j]);
    }
  }
}

void input_gradient(const WinogradMatrices& in, const WinogradTiles& tiles,
                    const WinogradImage& dx) {
  const std::int64_t channels = dx.blocks * kLanes;
  for (std::int64_t block = 0; block < dx.blocks; ++block) {
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
      const float* const from = in.data + tile * channels + block * kLanes;
      Vec t[4][4];
      for (int j = 0; j < 4; ++j) {
        const Vec v0 = load(from + j * in.step);
        const Vec v1 = load(from + (4 + j) * in.step);
        const Vec v2 = load(from + (8 + j) * in.step);
        const Vec v3 = load(from + (12 + j) * in.step);
        t[0][j] = v0;
        t[1][j] = v1 - v2 - v3;
        t[2][j] = v1 + v2 - v0;
        t[3][j] = v3;
      }
      add_window(t, dx, block_of(dx, block), place_of(tiles, tiles.first + tile));
    }
  }
}

}  // namespace

const WinogradLoops kWinogradLoopsAvx2 = {input, output, output_gradient, input_gradient};

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
