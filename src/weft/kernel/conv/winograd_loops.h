// The loops of winograd.h: transforms between images in blocks of 8 channels and panels of 16
// channels, one for each of the 36 positions of a transformed tile, and products of panels. AVX2
// only: other processors convolve in oneDNN.
#pragma once

#include <cstdint>

namespace weft {

inline constexpr std::int64_t kWinogradPositions = 36;
// Results of a tile along each axis.
inline constexpr std::int64_t kWinogradTile = 4;
inline constexpr std::int64_t kWinogradPanel = 16;

// One image of `blocks` blocks of 8 channels.
struct WinogradImage {
  float* data;
  std::int64_t blocks;
  std::int64_t height;
  std::int64_t width;
};

// Rows [first_row, first_row + rows) of an image's tiles, `across` in each.
struct WinogradTiles {
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t across;
  // The padding of the input image.
  std::int64_t padding_top;
  std::int64_t padding_left;
};

// 16 channels of some tiles: position p, tile t, channel c: data[p * step + t * 16 + c]. A panel
// of the image that has one block only is filled with zeros.
struct WinogradPanel {
  float* data;
  std::int64_t step;
};

// Up to 16 filters of 3x3 = 9 values at distance `step`.
struct WinogradFilters {
  float* data;
  std::int64_t step;
  std::int64_t count;
};

// c[t][j] (+)= sum over k of a's panels [k / 16][t][k % 16], `a_step` apart, times b[k][j]; 16 j.
struct WinogradProduct {
  const float* a;
  std::int64_t a_step;
  const float* b;
  float* c;
  std::int64_t tiles;
  std::int64_t depth;  // a multiple of 16
  bool accumulate;
};

struct WinogradLoops {
  // B^T d B of each 6x6 window of the channels of `panel`.
  void (*input)(const WinogradImage& x, std::int64_t panel, const WinogradTiles& tiles,
                const WinogradPanel& out);
  // A^T m A + bias to each 4x4 tile of y; bias [16] may be null.
  struct Finish {
    const float* bias;
    bool relu;
  };
  void (*output)(const WinogradPanel& in, const WinogradTiles& tiles, const Finish& finish,
                 const WinogradImage& y, std::int64_t panel);
  // A g A^T of each 4x4 tile of g = dy, or of dy where y > 0 if y has data. Adds all of g to
  // bias_sums[16] unless null.
  struct Gradient {
    WinogradImage dy;
    const float* y;
    float* bias_sums;
  };
  void (*output_gradient)(const Gradient& gradient, std::int64_t panel, const WinogradTiles& tiles,
                          const WinogradPanel& out);
  // Adds B v B^T to each 6x6 window of dx, which the first rows of tiles clear before.
  void (*input_gradient)(const WinogradPanel& in, const WinogradTiles& tiles,
                         const WinogradImage& dx, std::int64_t panel);
  // G g G^T: position p of filter i goes to out.data[p * out.step + i], zeros behind the last.
  void (*weights)(const WinogradFilters& filters, const WinogradPanel& out);
  // The adjoint, to the filters, or added to them.
  void (*weights_gradient)(const WinogradPanel& in, const WinogradFilters& filters,
                           bool accumulate);
  void (*multiply)(const WinogradProduct& product);
  // c[i][j] (+)= sum over tiles t of a[t][i] b[t][j]: 16 by 16.
  void (*multiply_transposed)(const WinogradProduct& product);
};

#if defined(__x86_64__)
extern const WinogradLoops kWinogradLoopsAvx2;
#endif

}  // namespace weft
