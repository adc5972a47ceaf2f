// The loops of winograd_loops.h. The pragmas stand after all includes, so that no function of a
// header is compiled for AVX2.
//
// The six points of the transforms are 0, +-1/sqrt(2), +-sqrt(2) and infinity: about half the
// rounding error of 0, +-1, +-2 (Barabasz et al., "Error analysis and improving the accuracy of
// Winograd convolution for deep neural networks", ACM TOMS 46(4), 2020). With s = sqrt(2), h = s/2:
//   B^T = 1  0 -5/2  0   1  0    A^T = 1 1   1   1   1  0    G =   1    0    0
//         0 -s  -2   h   1  0          0 h  -h   s  -s  0        -2/3 -s/3 -1/3
//         0  s  -2  -h   1  0          0 1/2 1/2 2   2  0        -2/3  s/3 -1/3
//         0 -h -1/2  s   1  0          0 s/4 -s/4 2s -2s 1        1/6  s/6  1/3
//         0  h -1/2 -s   1  0                                     1/6 -s/6  1/3
//         0  1   0 -5/2  0  1                                      0    0    1
#if defined(__x86_64__)

#include <immintrin.h>

#include "weft/kernel/conv/winograd_loops.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,fma")
#endif

namespace weft {
namespace {

#define WEFT_LANES 8
#include "weft/kernel/core/vector.inc"

constexpr std::int64_t kLanes = 8;
constexpr float kS = 1.41421356237309504880F;
constexpr float kH = 0.70710678118654752440F;

inline Vec all(float value) { return _mm256_set1_ps(value); }
inline Vec fma(float a, const Vec& b, const Vec& c) { return _mm256_fmadd_ps(all(a), b, c); }

// Six values of one line, each with the six transformed ones.
inline void input_line(const Vec (&d)[6], Vec (&t)[6]) {
  const Vec even = fma(-2.0F, d[2], d[4]);
  const Vec odd = fma(kH, d[3], all(-kS) * d[1]);
  const Vec even2 = fma(-0.5F, d[2], d[4]);
  const Vec odd2 = fma(kS, d[3], all(-kH) * d[1]);
  t[0] = fma(-2.5F, d[2], d[0] + d[4]);
  t[1] = even + odd;
  t[2] = even - odd;
  t[3] = even2 + odd2;
  t[4] = even2 - odd2;
  t[5] = fma(-2.5F, d[3], d[1] + d[5]);
}

inline void output_line(const Vec (&m)[6], Vec (&y)[4]) {
  const Vec a = m[1] + m[2];
  const Vec b = m[1] - m[2];
  const Vec c = m[3] + m[4];
  const Vec d = m[3] - m[4];
  y[0] = m[0] + a + c;
  y[1] = fma(kS, d, all(kH) * b);
  y[2] = fma(2.0F, c, all(0.5F) * a);
  y[3] = fma(2.0F * kS, d, fma(0.25F * kS, b, m[5]));
}

inline void output_line_gradient(const Vec& g0, const Vec& g1, const Vec& g2, const Vec& g3,
                                 Vec (&m)[6]) {
  const Vec even = fma(0.5F, g2, g0);
  const Vec odd = fma(0.25F * kS, g3, all(kH) * g1);
  const Vec even2 = fma(2.0F, g2, g0);
  const Vec odd2 = fma(2.0F * kS, g3, all(kS) * g1);
  m[0] = g0;
  m[1] = even + odd;
  m[2] = even - odd;
  m[3] = even2 + odd2;
  m[4] = even2 - odd2;
  m[5] = g3;
}

inline void input_line_gradient(const Vec (&v)[6], Vec (&d)[6]) {
  const Vec a = v[1] + v[2];
  const Vec b = v[1] - v[2];
  const Vec c = v[3] + v[4];
  const Vec e = v[3] - v[4];
  d[0] = v[0];
  d[1] = fma(-kH, e, fma(-kS, b, v[5]));
  d[2] = fma(-0.5F, c, fma(-2.0F, a, all(-2.5F) * v[0]));
  d[3] = fma(-2.5F, v[5], fma(kS, e, all(kH) * b));
  d[4] = v[0] + a + c;
  d[5] = v[5];
}

inline void weight_line(const Vec& g0, const Vec& g1, const Vec& g2, Vec (&u)[6]) {
  const Vec even = fma(-2.0F / 3.0F, g0, all(-1.0F / 3.0F) * g2);
  const Vec odd = all(-kS / 3.0F) * g1;
  const Vec even2 = fma(1.0F / 6.0F, g0, all(1.0F / 3.0F) * g2);
  const Vec odd2 = all(kS / 6.0F) * g1;
  u[0] = g0;
  u[1] = even + odd;
  u[2] = even - odd;
  u[3] = even2 + odd2;
  u[4] = even2 - odd2;
  u[5] = g2;
}

inline void weight_line_gradient(const Vec (&u)[6], Vec (&g)[3]) {
  const Vec a = u[1] + u[2];
  const Vec b = u[1] - u[2];
  const Vec c = u[3] + u[4];
  const Vec d = u[3] - u[4];
  g[0] = fma(1.0F / 6.0F, c, fma(-2.0F / 3.0F, a, u[0]));
  g[1] = fma(kS / 6.0F, d, all(-kS / 3.0F) * b);
  g[2] = fma(1.0F / 3.0F, c, fma(-1.0F / 3.0F, a, u[5]));
}

inline bool inside(std::int64_t first, std::int64_t extent, std::int64_t size) {
  return first >= 0 && first + extent <= size;
}

// kExtent x kExtent pixels of one block of channels from (row, column) on; zeros off the image.
template <int kExtent>
inline void read(const WinogradImage& image, const float* block, std::int64_t row,
                 std::int64_t column, Vec (&out)[kExtent][kExtent]) {
  const float* from = block + (row * image.width + column) * kLanes;
  if (inside(row, kExtent, image.height) && inside(column, kExtent, image.width)) {
    for (int i = 0; i < kExtent; ++i) {
      for (int j = 0; j < kExtent; ++j) out[i][j] = load(from + j * kLanes);
      from += image.width * kLanes;
    }
    return;
  }
  for (int i = 0; i < kExtent; ++i) {
    const bool row_inside = inside(row + i, 1, image.height);
    for (int j = 0; j < kExtent; ++j) {
      out[i][j] = row_inside && inside(column + j, 1, image.width)
                      ? load(block + ((row + i) * image.width + column + j) * kLanes)
                      : Vec{};
    }
  }
}

inline float* block_of(const WinogradImage& image, std::int64_t block) {
  return image.data + block * image.height * image.width * kLanes;
}

// Calls body(half, block, row of tiles, column of tiles, floats from a panel's start) for both
// halves of each tile, and empty(floats) for a half without a block.
template <class Body, class Empty>
inline void for_each_half(const WinogradTiles& tiles, std::int64_t panel, std::int64_t blocks,
                          Body body, Empty empty) {
  std::int64_t at = 0;
  for (std::int64_t row = tiles.first_row; row < tiles.first_row + tiles.rows; ++row) {
    for (std::int64_t column = 0; column < tiles.across; ++column, at += kWinogradPanel) {
      for (int half = 0; half < 2; ++half) {
        const std::int64_t block = panel * 2 + half;
        if (block < blocks) {
          body(half, block, row * kWinogradTile, column * kWinogradTile, at + half * kLanes);
        } else {
          empty(at + half * kLanes);
        }
      }
    }
  }
}

inline void clear_positions(float* to, std::int64_t step) {
  for (std::int64_t p = 0; p < kWinogradPositions; ++p) store(to + p * step, Vec{});
}

void input(const WinogradImage& x, std::int64_t panel, const WinogradTiles& tiles,
           const WinogradPanel& out) {
  for_each_half(
      tiles, panel, x.blocks,
      [&](int, std::int64_t block, std::int64_t row, std::int64_t column, std::int64_t at) {
        Vec d[6][6];
        read<6>(x, block_of(x, block), row - tiles.padding_top, column - tiles.padding_left, d);
        Vec lines[6][6];
        for (int j = 0; j < 6; ++j) {
          const Vec line[6] = {d[0][j], d[1][j], d[2][j], d[3][j], d[4][j], d[5][j]};
          Vec t[6];
          input_line(line, t);
          for (int i = 0; i < 6; ++i) lines[i][j] = t[i];
        }
        float* to = out.data + at;
        for (int i = 0; i < 6; ++i) {
          Vec t[6];
          input_line(lines[i], t);
          for (int j = 0; j < 6; ++j) store(to + j * out.step, t[j]);
          to += 6 * out.step;
        }
      },
      [&](std::int64_t at) { clear_positions(out.data + at, out.step); });
}

void output(const WinogradPanel& in, const WinogradTiles& tiles,
            const WinogradLoops::Finish& finish, const WinogradImage& y, std::int64_t panel) {
  Vec bias[2] = {};
  if (finish.bias != nullptr) {
    bias[0] = load(finish.bias);
    bias[1] = load(finish.bias + kLanes);
  }
  for_each_half(
      tiles, panel, y.blocks,
      [&](int half, std::int64_t block, std::int64_t row, std::int64_t column, std::int64_t at) {
        const float* const from = in.data + at;
        Vec lines[4][6];
        for (int j = 0; j < 6; ++j) {
          Vec m[6];
          for (int i = 0; i < 6; ++i) m[i] = load(from + (6 * i + j) * in.step);
          Vec t[4];
          output_line(m, t);
          for (int i = 0; i < 4; ++i) lines[i][j] = t[i];
        }
        const std::int64_t rows = y.height - row < 4 ? y.height - row : 4;
        const std::int64_t columns = y.width - column < 4 ? y.width - column : 4;
        float* to = block_of(y, block) + (row * y.width + column) * kLanes;
        for (std::int64_t i = 0; i < rows; ++i) {
          Vec t[4];
          output_line(lines[i], t);
          for (int j = 0; j < 4; ++j) {
            t[j] += bias[half];
            if (finish.relu) t[j] = positive(t[j]);
            if (j < columns) store(to + j * kLanes, t[j]);
          }
          to += y.width * kLanes;
        }
      },
      [](std::int64_t) {});
}

void output_gradient(const WinogradLoops::Gradient& gradient, std::int64_t panel,
                     const WinogradTiles& tiles, const WinogradPanel& out) {
  const WinogradImage& dy = gradient.dy;
  const WinogradImage value{const_cast<float*>(gradient.y), dy.blocks, dy.height, dy.width};
  const Vec zero = {};
  Vec sums[2] = {};
  for_each_half(
      tiles, panel, dy.blocks,
      [&](int half, std::int64_t block, std::int64_t row, std::int64_t column, std::int64_t at) {
        Vec g[4][4];
        read<4>(dy, block_of(dy, block), row, column, g);
        if (gradient.y != nullptr) {
          Vec v[4][4];
          read<4>(value, block_of(value, block), row, column, v);
          for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 4; ++j) g[i][j] = v[i][j] > zero ? g[i][j] : zero;
          }
        }
        Vec lines[6][4];
        for (int j = 0; j < 4; ++j) {
          sums[half] += (g[0][j] + g[1][j]) + (g[2][j] + g[3][j]);
          Vec t[6];
          output_line_gradient(g[0][j], g[1][j], g[2][j], g[3][j], t);
          for (int i = 0; i < 6; ++i) lines[i][j] = t[i];
        }
        float* to = out.data + at;
        for (int i = 0; i < 6; ++i) {
          Vec t[6];
          output_line_gradient(lines[i][0], lines[i][1], lines[i][2], lines[i][3], t);
          for (int j = 0; j < 6; ++j) store(to + j * out.step, t[j]);
          to += 6 * out.step;
        }
      },
      [&](std::int64_t at) { clear_positions(out.data + at, out.step); });
  if (gradient.bias_sums == nullptr) return;
  for (int half = 0; half < 2; ++half) {
    float* const to = gradient.bias_sums + half * kLanes;
    store(to, load(to) + sums[half]);
  }
}

void input_gradient(const WinogradPanel& in, const WinogradTiles& tiles, const WinogradImage& dx,
                    std::int64_t panel) {
  if (tiles.first_row == 0) {
    const std::int64_t blocks = dx.blocks - panel * 2 < 2 ? dx.blocks - panel * 2 : 2;
    float* const first = block_of(dx, panel * 2);
    const std::int64_t size = blocks * dx.height * dx.width * kLanes;
    for (std::int64_t i = 0; i < size; i += kLanes) store(first + i, Vec{});
  }
  for_each_half(
      tiles, panel, dx.blocks,
      [&](int, std::int64_t block, std::int64_t tile_row, std::int64_t tile_column,
          std::int64_t at) {
        const float* const from = in.data + at;
        Vec lines[6][6];
        for (int j = 0; j < 6; ++j) {
          Vec v[6];
          for (int i = 0; i < 6; ++i) v[i] = load(from + (6 * i + j) * in.step);
          Vec t[6];
          input_line_gradient(v, t);
          for (int i = 0; i < 6; ++i) lines[i][j] = t[i];
        }
        const std::int64_t row = tile_row - tiles.padding_top;
        const std::int64_t column = tile_column - tiles.padding_left;
        const bool whole = inside(column, 6, dx.width);
        for (std::int64_t i = 0; i < 6; ++i) {
          if (!inside(row + i, 1, dx.height)) continue;
          Vec t[6];
          input_line_gradient(lines[i], t);
          float* const to = block_of(dx, block) + ((row + i) * dx.width + column) * kLanes;
          for (int j = 0; j < 6; ++j) {
            if (!whole && !inside(column + j, 1, dx.width)) continue;
            store(to + j * kLanes, load(to + j * kLanes) + t[j]);
          }
        }
      },
      [](std::int64_t) {});
}

void weights(const WinogradFilters& filters, const WinogradPanel& out) {
  for (std::int64_t half = 0; half < 2; ++half) {
    float values[9][kLanes] = {};
    const std::int64_t left = filters.count - half * kLanes;
    for (std::int64_t lane = 0; lane < (left < kLanes ? left : kLanes); ++lane) {
      const float* const filter = filters.data + (half * kLanes + lane) * filters.step;
      for (int e = 0; e < 9; ++e) values[e][lane] = filter[e];
    }
    Vec lines[6][3];
    for (int j = 0; j < 3; ++j) {
      Vec t[6];
      weight_line(load(values[j]), load(values[3 + j]), load(values[6 + j]), t);
      for (int i = 0; i < 6; ++i) lines[i][j] = t[i];
    }
    float* to = out.data + half * kLanes;
    for (int i = 0; i < 6; ++i) {
      Vec t[6];
      weight_line(lines[i][0], lines[i][1], lines[i][2], t);
      for (int j = 0; j < 6; ++j) store(to + j * out.step, t[j]);
      to += 6 * out.step;
    }
  }
}

void weights_gradient(const WinogradPanel& in, const WinogradFilters& filters, bool accumulate) {
  for (std::int64_t half = 0; half < 2; ++half) {
    const float* const from = in.data + half * kLanes;
    Vec lines[3][6];
    for (int j = 0; j < 6; ++j) {
      Vec u[6];
      for (int i = 0; i < 6; ++i) u[i] = load(from + (6 * i + j) * in.step);
      Vec t[3];
      weight_line_gradient(u, t);
      for (int i = 0; i < 3; ++i) lines[i][j] = t[i];
    }
    float values[9][kLanes];
    for (int i = 0; i < 3; ++i) {
      Vec t[3];
      weight_line_gradient(lines[i], t);
      for (int j = 0; j < 3; ++j) store(values[3 * i + j], t[j]);
    }
    const std::int64_t left = filters.count - half * kLanes;
    for (std::int64_t lane = 0; lane < (left < kLanes ? left : kLanes); ++lane) {
      float* const filter = filters.data + (half * kLanes + lane) * filters.step;
      for (int e = 0; e < 9; ++e) {
        filter[e] = accumulate ? filter[e] + values[e][lane] : values[e][lane];
      }
    }
  }
}

template <int kRows>
inline void finish_rows(const __m256 (&sum)[kRows][2], float* c, bool accumulate) {
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
    float* const to = c + i * kWinogradPanel;
    for (int half = 0; half < 2; ++half) {
      __m256 value = sum[i][half];
      if (accumulate) value = _mm256_add_ps(value, _mm256_loadu_ps(to + half * kLanes));
      _mm256_storeu_ps(to + half * kLanes, value);
    }
  }
}

// kRows tiles of a product: 12 accumulators, 2 registers of b and 1 of a are 15 of 16.
template <int kRows>
void product_rows(const WinogradProduct& product, const float* a, float* c) {
  __m256 sum[kRows][2];
  for (int i = 0; i < kRows; ++i) sum[i][0] = sum[i][1] = _mm256_setzero_ps();
  const float* b = product.b;
  const std::int64_t a_step = product.a_step;
  for (std::int64_t k = product.depth; k > 0; k -= kWinogradPanel) {
#pragma GCC unroll 4
    for (int part = 0; part < kWinogradPanel; ++part) {
      const __m256 b0 = _mm256_loadu_ps(b);
      const __m256 b1 = _mm256_loadu_ps(b + kLanes);
      b += kWinogradPanel;
#pragma GCC unroll 6
      for (int i = 0; i < kRows; ++i) {
        const __m256 x = _mm256_broadcast_ss(a + i * kWinogradPanel + part);
        sum[i][0] = _mm256_fmadd_ps(x, b0, sum[i][0]);
        sum[i][1] = _mm256_fmadd_ps(x, b1, sum[i][1]);
      }
    }
    a += a_step;
  }
  finish_rows<kRows>(sum, c, product.accumulate);
}

template <int kRows>
void rest_rows(const WinogradProduct& product, std::int64_t done) {
  if (product.tiles - done == kRows) {
    product_rows<kRows>(product, product.a + done * kWinogradPanel,
                        product.c + done * kWinogradPanel);
  } else if constexpr (kRows > 1) {
    rest_rows<kRows - 1>(product, done);
  }
}

void multiply(const WinogradProduct& product) {
  std::int64_t done = 0;
  for (; done + 6 <= product.tiles; done += 6) {
    product_rows<6>(product, product.a + done * kWinogradPanel, product.c + done * kWinogradPanel);
  }
  rest_rows<5>(product, done);
}

template <int kRows>
void transposed_rows(const WinogradProduct& product, int first) {
  __m256 sum[kRows][2];
  for (int i = 0; i < kRows; ++i) sum[i][0] = sum[i][1] = _mm256_setzero_ps();
  const float* a = product.a + first;
  const float* b = product.b;
#pragma GCC unroll 4
  for (std::int64_t t = product.tiles; t > 0; --t) {
    const __m256 b0 = _mm256_loadu_ps(b);
    const __m256 b1 = _mm256_loadu_ps(b + kLanes);
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
      const __m256 x = _mm256_broadcast_ss(a + i);
      sum[i][0] = _mm256_fmadd_ps(x, b0, sum[i][0]);
      sum[i][1] = _mm256_fmadd_ps(x, b1, sum[i][1]);
    }
    a += kWinogradPanel;
    b += kWinogradPanel;
  }
  finish_rows<kRows>(sum, product.c + first * kWinogradPanel, product.accumulate);
}

void multiply_transposed(const WinogradProduct& product) {
  transposed_rows<6>(product, 0);
  transposed_rows<6>(product, 6);
  transposed_rows<4>(product, 12);
}

}  // namespace

const WinogradLoops kWinogradLoopsAvx2 = {
    input,   output,           output_gradient, input_gradient,
    weights, weights_gradient, multiply,        multiply_transposed};

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
