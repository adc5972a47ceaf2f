// The transforms of winograd.h: between images in blocks of 8 channels and matrices, one for each
// of the 16 positions of a transformed tile. AVX2 only: other processors convolve in oneDNN.
#pragma once

#include <cstdint>

namespace weft {

inline constexpr std::int64_t kWinogradPositions = 16;

// One image of `blocks` blocks of 8 channels.
struct WinogradImage {
  float* data;
  std::int64_t blocks;
  std::int64_t height;
  std::int64_t width;
};

// `count` tiles of an image from tile `first` on; `across` make a row of tiles.
struct WinogradTiles {
  std::int64_t first;
  std::int64_t count;
  std::int64_t across;
  // Of the input image.
  std::int64_t padding_top;
  std::int64_t padding_left;
};

// Position p, tile t, channel c: data[p * step + t * channels + c].
struct WinogradMatrices {
  float* data;
  std::int64_t step;
};

struct WinogradLoops {
  // B^T d B of each 4x4 window of x.
  void (*input)(const WinogradImage& x, const WinogradTiles& tiles, const WinogradMatrices& out);
  // A^T m A + bias to each 2x2 tile of y; bias may be null.
  struct Finish {
    const float* bias;
    bool relu;
  };
  void (*output)(const WinogradMatrices& in, const WinogradTiles& tiles, const Finish& finish,
                 const WinogradImage& y);
  // A g A^T of each 2x2 tile of g = dy, or of dy where y > 0 if y has data. Adds all of g to
  // bias_sums[channel].
  void (*output_gradient)(const WinogradImage& dy, const float* y, const WinogradTiles& tiles,
                          const WinogradMatrices& out, float* bias_sums);
  // Adds B v B^T to each 4x4 window of dx.
  void (*input_gradient)(const WinogradMatrices& in, const WinogradTiles& tiles,
                         const WinogradImage& dx);
};

#if defined(__x86_64__)
extern const WinogradLoops kWinogradLoopsAvx2;
#endif

}  // namespace weft
