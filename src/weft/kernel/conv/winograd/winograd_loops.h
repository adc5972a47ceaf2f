// The loops of winograd.h, one build for each instruction set: transforms between images in blocks
// of 8 channels and panels of 16 channels, one for each of the 36 positions of a transformed tile,
// and products of panels. Those with fused multiplications give the same bits, whatever their
// width.
//
// Images are float or WinogradHalf, the bits of bf16. Tiles and filters that are multiplied are
// float here, or both WinogradHalf (winograd_pairs_loops.h). Sums, and what becomes of them until
// an image is written, are floats.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

inline constexpr std::int64_t kWinogradPositions = 36;
// Results of a tile along each axis.
inline constexpr std::int64_t kWinogradTile = 4;
inline constexpr std::int64_t kWinogradPanel = 16;
// Channels of a block of an image.
inline constexpr std::int64_t kWinogradBlock = 8;

using WinogradHalf = std::uint16_t;

// One image of `blocks` blocks of 8 channels.
template <class T>
struct WinogradImage {
  T* data;
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
template <class T>
struct WinogradPanel {
  T* data;
  std::int64_t step;
};

// Up to 16 filters of 3x3 = 9 values at distance `step`.
struct WinogradFilters {
  float* data;
  std::int64_t step;
  std::int64_t count;
};

// c[t][j] (+)= sum over k of a's panels [k / 16][t][k % 16], `a_step` apart, times b[k][j]; 16 j of
// one panel, or of as many as WinogradProducts::panels, `b_next` and `c_next` values apart. What
// will be read after b may be fetched meanwhile, as much as b has, from `ahead` on.
template <class T>
struct WinogradProduct {
  const T* a;
  std::int64_t a_step;
  const T* b;
  std::int64_t b_next;
  float* c;
  std::int64_t c_next;
  std::int64_t panels;
  std::int64_t tiles;
  std::int64_t depth;  // a multiple of 16
  bool accumulate;
  const T* ahead = nullptr;
};

template <class Image, class Tile>
struct WinogradTransforms {
  // B^T d B of each 6x6 window of the channels of `panel`.
  void (*input)(const WinogradImage<Image>& x, std::int64_t panel, const WinogradTiles& tiles,
                const WinogradPanel<Tile>& out);
  // A^T m A + bias to each 4x4 tile of y; bias [16] may be null.
  struct Finish {
    const float* bias;
    bool relu;
  };
  void (*output)(const WinogradPanel<float>& in, const WinogradTiles& tiles, const Finish& finish,
                 const WinogradImage<Image>& y, std::int64_t panel);
  // A g A^T of each 4x4 tile of g = dy, or of dy where y > 0 if y has data. Adds all of g to
  // bias_sums[16] unless null.
  struct Gradient {
    WinogradImage<Image> dy;
    const Image* y;
    float* bias_sums;
  };
  void (*output_gradient)(const Gradient& gradient, std::int64_t panel, const WinogradTiles& tiles,
                          const WinogradPanel<Tile>& out);
  // Adds B v B^T to each 6x6 window of dx, which the first rows of tiles clear before. Images of
  // bf16 are rounded once for these tiles, and need winograd_strip_floats() of `sums`.
  void (*input_gradient)(const WinogradPanel<float>& in, const WinogradTiles& tiles,
                         const WinogradImage<Image>& dx, std::int64_t panel, float* sums);
  // G g G^T of two rows of filters: position p of filter i of a row goes to out.data[p * out.step +
  // i], zeros behind the last. The second row follows the first, 16 values later; in bf16 both
  // rows' values of a filter are neighbours, as products read them.
  void (*weights)(const WinogradFilters& first, const WinogradFilters& second,
                  const WinogradPanel<Tile>& out);
  // The adjoint, to the filters, or added to them.
  void (*weights_gradient)(const WinogradPanel<float>& in, const WinogradFilters& filters,
                           bool accumulate);
};

// Floats that input_gradient() needs for such tiles of an image of this width.
inline std::int64_t winograd_strip_floats(const WinogradTiles& tiles, std::int64_t width) {
  return (tiles.rows * kWinogradTile + 2) * width * kWinogradPanel;
}

template <class T>
struct WinogradProducts {
  // Panels of b and c that a product takes at most: one or two.
  std::int64_t panels;
  void (*multiply)(const WinogradProduct<T>& product);
  // Makes neighbours of the values of tiles 2i and 2i + 1, in place, for an even number of tiles,
  // as `a` of a transposed product must be. Null for floats, which it leaves as they are.
  void (*pair_tiles)(T* tiles, std::int64_t count);
  // c[i][j] (+)= sum over tiles t of a[t][i] b[t][j]: 16 by 16 for each panel of b.
  void (*multiply_transposed)(const WinogradProduct<T>& product);
};

// The transforms of images of either type to and from floats.
struct WinogradImages {
  WinogradTransforms<float, float> of_floats;
  WinogradTransforms<WinogradHalf, float> of_bf16;
};

WEFT_LOOPS(WinogradImages, winograd_images)
WEFT_LOOPS(WinogradProducts<float>, winograd_products)

}  // namespace weft
