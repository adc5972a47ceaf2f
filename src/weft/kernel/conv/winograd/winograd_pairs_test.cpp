// Convolutions of bf16 by minimal filtering: loops of each instruction set, and whole ones.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/conv/conv.h"
#include "weft/kernel/conv/conv_plain.h"
#include "weft/kernel/conv/winograd/winograd_pairs_loops.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/elementwise/convert.h"

namespace weft::winograd_pairs_test {
namespace {

using Halves = std::vector<WinogradHalf>;
using Floats = std::vector<float>;

Halves bits_of(const Array& array) {
  const auto* const bits = static_cast<const WinogradHalf*>(array.raw_data());
  return {bits, bits + array.size()};
}
Halves random_halves(std::int64_t count, std::uint64_t seed) {
  return bits_of(convert(random_array({count}, seed), DType::kBF16));
}
Floats values_of(const Halves& bits) {
  Floats result;
  for (const WinogradHalf each : bits) {
    result.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(each) << 16));
  }
  return result;
}
// Rounded once.
Halves rounded(const Floats& values) {
  Array array = Array::empty({static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), array.data<float>());
  return bits_of(convert(array, DType::kBF16));
}

std::vector<WinogradPairs> all_pairs() {
  std::vector<WinogradPairs> result;
  for (const auto& [isa, loops] : loops_that_run(winograd_pairs_tables)) {
    if (loops->preferred) result.push_back(*loops);
  }
  return result;
}

struct Image {
  std::int64_t blocks;
  std::int64_t height;
  std::int64_t width;
  std::int64_t padding;
};
// The last panel has one block or two; tiles are cut off, or not.
const std::vector<Image> kImages = {
    {1, 4, 4, 1}, {2, 8, 8, 1}, {3, 5, 11, 1}, {4, 7, 6, 0}, {3, 12, 3, 2}};

WinogradTiles tiles_of(const Image& image) {
  return {0, (image.height + 3) / 4, (image.width + 3) / 4, image.padding, image.padding};
}
std::int64_t size_of(const Image& image) {
  return image.blocks * image.height * image.width * kWinogradBlock;
}
std::int64_t step_of(const Image& image) {
  return (tiles_of(image).rows * tiles_of(image).across + 1) * kWinogradPanel;
}

// Values of floats in memory as T.
template <class T>
std::vector<T> stored(const Floats& values) {
  if constexpr (std::is_same_v<T, float>) {
    return values;
  } else {
    return rounded(values);
  }
}

// The transforms of images are those of f32 of the same values; tiles of bf16 are rounded once.
template <class Tile>
void expect_transforms_of_images(const WinogradTransforms<WinogradHalf, Tile>& loops) {
  const WinogradTransforms<float, float>& exact = winograd_images().of_floats;
  for (const Image& c : kImages) {
    Halves x = random_halves(size_of(c), 1);
    Halves y = random_halves(size_of(c), 2);
    Floats wide_x = values_of(x);
    const Floats wide_y = values_of(y);
    const auto size = static_cast<std::size_t>(kWinogradPositions * step_of(c));
    for (std::int64_t panel = 0; panel < (c.blocks + 1) / 2; ++panel) {
      std::vector<Tile> got(size);
      Floats want(size);
      const WinogradImage<WinogradHalf> image{x.data(), c.blocks, c.height, c.width};
      const WinogradImage<float> wide{wide_x.data(), c.blocks, c.height, c.width};
      loops.input(image, panel, tiles_of(c), {got.data(), step_of(c)});
      exact.input(wide, panel, tiles_of(c), {want.data(), step_of(c)});
      EXPECT_EQ(got, stored<Tile>(want));
      Floats sums(kWinogradPanel, 1.0F);
      Floats wide_sums = sums;
      loops.output_gradient({image, y.data(), sums.data()}, panel, tiles_of(c),
                            {got.data(), step_of(c)});
      exact.output_gradient({wide, wide_y.data(), wide_sums.data()}, panel, tiles_of(c),
                            {want.data(), step_of(c)});
      EXPECT_EQ(got, stored<Tile>(want));
      EXPECT_EQ(sums, wide_sums);
    }
  }
}

// The transforms to images are those of f32, rounded once.
template <class Tile>
void expect_transforms_to_images(const WinogradTransforms<WinogradHalf, Tile>& loops) {
  const WinogradTransforms<float, float>& exact = winograd_images().of_floats;
  for (const Image& c : kImages) {
    Floats values = random_floats(kWinogradPositions * step_of(c), 3);
    const Floats bias = random_floats(kWinogradPanel, 4);
    const WinogradPanel<float> in{values.data(), step_of(c)};
    Halves y(static_cast<std::size_t>(size_of(c)), 0x7FFF);
    Halves dx = y;
    Floats wide_y(y.size());
    Floats wide_dx(y.size());
    Floats strip(static_cast<std::size_t>(winograd_strip_floats(tiles_of(c), c.width)));
    const WinogradImage<float> wide{wide_y.data(), c.blocks, c.height, c.width};
    for (std::int64_t panel = 0; panel < (c.blocks + 1) / 2; ++panel) {
      loops.output(in, tiles_of(c), {bias.data(), true}, {y.data(), c.blocks, c.height, c.width},
                   panel);
      exact.output(in, tiles_of(c), {bias.data(), true}, wide, panel);
      loops.input_gradient(in, tiles_of(c), {dx.data(), c.blocks, c.height, c.width}, panel,
                           strip.data());
      exact.input_gradient(in, tiles_of(c), {wide_dx.data(), c.blocks, c.height, c.width}, panel,
                           nullptr);
    }
    EXPECT_EQ(y, rounded(wide_y));
    EXPECT_EQ(dx, rounded(wide_dx));
  }
}

TEST(WinogradPairs, TransformsAreThoseOfFloatsRoundedOnce) {
  for (const WinogradPairs& loops : all_pairs()) {
    expect_transforms_of_images(loops.transforms);
    expect_transforms_to_images(loops.transforms);
  }
}

TEST(WinogradImages, TransformsOfBf16AreThoseOfFloats) {
  if (isa_in_use() == Isa::kGeneric) GTEST_SKIP() << "sums are fused in some sets only";
  for (const auto& [isa, loops] : loops_that_run(winograd_images_tables)) {
    if (isa == Isa::kGeneric) continue;
    expect_transforms_of_images(loops->of_bf16);
    expect_transforms_to_images(loops->of_bf16);
  }
}

// An image whose rows of tiles come in two calls has the two rows between them rounded twice.
TEST(WinogradPairs, StripsOfAnImageAddUp) {
  const Image c{2, 12, 8, 1};
  Floats values = random_floats(kWinogradPositions * step_of(c), 5);
  Floats whole(static_cast<std::size_t>(size_of(c)));
  const WinogradPanel<float> in{values.data(), step_of(c)};
  winograd_images().of_floats.input_gradient(in, tiles_of(c), {whole.data(), 2, c.height, c.width},
                                             0, nullptr);
  for (const WinogradPairs& loops : all_pairs()) {
    Halves dx(whole.size(), 0x7FFF);
    Floats strip(static_cast<std::size_t>(winograd_strip_floats(tiles_of(c), c.width)));
    for (const std::int64_t first : {0, 1}) {
      WinogradTiles tiles = tiles_of(c);
      tiles.first_row = first;
      tiles.rows = first == 0 ? 1 : tiles.rows - 1;
      loops.transforms.input_gradient(
          {values.data() + first * tiles.across * kWinogradPanel, step_of(c)}, tiles,
          {dx.data(), 2, c.height, c.width}, 0, strip.data());
    }
    const Floats got = values_of(dx);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      // Either part is rounded, then their sum; each may be larger than that.
      ASSERT_NEAR(got[i], whole[i], 0x1p-8F * (std::abs(whole[i]) + 30.0F)) << i;
    }
  }
}

TEST(WinogradPairs, FiltersAreThoseOfFloatsRoundedAndPaired) {
  Floats filters = random_floats(2 * kWinogradPanel * 9, 6);
  for (const WinogradPairs& loops : all_pairs()) {
    for (const std::int64_t count : {0, 3, 8, 13, 16}) {
      const WinogradFilters first{filters.data(), 9, count};
      const WinogradFilters second{filters.data() + kWinogradPanel * 9, 9, 16 - count};
      constexpr std::int64_t kStep = 2 * kWinogradPanel;
      Halves got(kWinogradPositions * kStep);
      Floats want(got.size());
      loops.transforms.weights(first, second, {got.data(), kStep});
      winograd_images().of_floats.weights(first, second, {want.data(), kStep});
      const Halves plain = rounded(want);
      for (std::int64_t p = 0; p < kWinogradPositions; ++p) {
        for (std::int64_t i = 0; i < kStep; ++i) {
          ASSERT_EQ(got[static_cast<std::size_t>(p * kStep + i)],
                    plain[static_cast<std::size_t>(p * kStep + i % 2 * kWinogradPanel + i / 2)]);
        }
      }
    }
  }
}

// Sums of products of bf16 in f64, and the bound of rounding each of the additions in f32.
struct Sum {
  double value = 0;
  double magnitude = 0;
  void add(float a, float b) {
    value += double{a} * double{b};
    magnitude += std::abs(double{a} * double{b});
  }
};

TEST(WinogradPairs, ProductsAreWithinTheBoundOfF32) {
  constexpr std::int64_t kDepth = 48;
  for (const WinogradPairs& loops : all_pairs()) {
    const WinogradProducts<WinogradHalf>& products = loops.products;
    for (const std::int64_t panels : {1, 2}) {
      for (const std::int64_t tiles : {2, 6, 12, 14, 24, 26}) {
        const Halves a = random_halves(kDepth * tiles, 8);
        const Halves b = random_halves(panels * kDepth * kWinogradPanel, 9);
        Floats c(static_cast<std::size_t>(panels * tiles * kWinogradPanel), 1.0F);
        products.multiply({a.data(), tiles * kWinogradPanel, b.data(), kDepth * kWinogradPanel,
                           c.data(), tiles * kWinogradPanel, panels, tiles, kDepth, true});
        const Floats wide_a = values_of(a);
        const Floats wide_b = values_of(b);
        for (std::int64_t i = 0; i < panels * tiles * kWinogradPanel; ++i) {
          const std::int64_t panel = i / (tiles * kWinogradPanel);
          const std::int64_t tile = i / kWinogradPanel % tiles;
          Sum sum{1, 1};
          for (std::int64_t k = 0; k < kDepth; ++k) {
            sum.add(wide_a[static_cast<std::size_t>((k / 16 * tiles + tile) * 16 + k % 16)],
                    wide_b[static_cast<std::size_t>((panel * kDepth + k / 2 * 2) * kWinogradPanel +
                                                    i % 16 * 2 + k % 2)]);
          }
          ASSERT_NEAR(double{c[static_cast<std::size_t>(i)]}, sum.value,
                      0x1p-23 * (kDepth + 1) * sum.magnitude);
        }
      }
    }
  }
}

TEST(WinogradPairs, TransposedProductsAreWithinTheBoundOfF32) {
  for (const WinogradPairs& loops : all_pairs()) {
    const WinogradProducts<WinogradHalf>& products = loops.products;
    for (const std::int64_t panels : {1, 2}) {
      for (const std::int64_t tiles : {2, 8, 26}) {
        const Halves a = random_halves(tiles * kWinogradPanel, 10);
        const Halves b = random_halves(panels * tiles * kWinogradPanel, 11);
        Halves paired = a;
        products.pair_tiles(paired.data(), tiles);
        Floats c(static_cast<std::size_t>(panels * 256));
        products.multiply_transposed({paired.data(), 0, b.data(), tiles * kWinogradPanel, c.data(),
                                      256, panels, tiles, 0, false});
        const Floats wide_a = values_of(a);
        const Floats wide_b = values_of(b);
        for (std::int64_t i = 0; i < panels * 256; ++i) {
          Sum sum;
          for (std::int64_t t = 0; t < tiles; ++t) {
            sum.add(wide_a[static_cast<std::size_t>(t * 16 + i % 256 / 16)],
                    wide_b[static_cast<std::size_t>((i / 256 * tiles + t) * 16 + i % 16)]);
          }
          ASSERT_NEAR(double{c[static_cast<std::size_t>(i)]}, sum.value,
                      0x1p-23 * static_cast<double>(tiles + 1) * sum.magnitude);
        }
      }
    }
  }
}

struct Case {
  std::string name;
  Shape x;
  Shape weight;
  Pair padding;
};
const std::vector<Case> kCases = {
    {"blocks of one panel", {5, 32, 12, 14}, {32, 32, 3, 3}, {1, 1}},
    {"half a panel", {3, 40, 7, 9}, {56, 40, 3, 3}, {1, 1}},
    {"an odd number of tiles", {1, 32, 9, 9}, {32, 32, 3, 3}, {1, 1}},
    {"no padding", {4, 64, 10, 6}, {32, 64, 3, 3}, {0, 0}},
    {"more padding", {2, 32, 6, 5}, {48, 32, 3, 3}, {2, 2}},
    {"strips", {1, 32, 90, 70}, {32, 32, 3, 3}, {1, 1}},
    {"chunks of filters", {2, 304, 8, 8}, {304, 304, 3, 3}, {1, 1}},
};

// The root of the mean square of the differences, by that of the values.
double relative(const Array& got, const Array& want) {
  const Floats values = convert(got, DType::kF32).strided().to_vector<float>();
  const std::vector<double> wanted = want.to_vector<double>();
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{values[i]} - wanted[i], 2);
    size += wanted[i] * wanted[i];
  }
  return std::sqrt(error / size);
}

struct Inputs {
  explicit Inputs(const Case& c)
      : geometry{.padding = c.padding},
        x(convert(random_array(c.x, 1), DType::kBF16)),
        weight(convert(random_array(c.weight, 2), DType::kBF16)),
        bias(convert(random_array({c.weight[0]}, 3), DType::kBF16)),
        dy(convert(random_array(conv2d_shape(c.x, c.weight, geometry), 4), DType::kBF16)) {}

  Conv2dGeometry geometry;
  Array x, weight, bias, dy;
};

Array wide(const Array& array) { return array.strided().to(DType::kF64).contiguous(); }

// Rounding transformed tiles costs about 1 % of the results' size, rounding results alone 0.2 %.
double bound() { return winograd_pairs().preferred ? 0.02 : 0.004; }

TEST(Conv2dOfBf16, IsThatOfF64WithinItsRounding) {
  for (const Case& c : kCases) {
    const Inputs in(c);
    const Array y = conv2d_forward(in.x, in.weight, in.bias, in.geometry, true);
    EXPECT_EQ(y.dtype(), DType::kBF16);
    EXPECT_LT(relative(y, plain::conv2d_forward(wide(in.x), wide(in.weight), wide(in.bias),
                                                in.geometry, true)),
              bound())
        << c.name;
    Array dw = Array::empty(c.weight);
    Array db = Array::empty({c.weight[0]});
    const Array dx =
        conv2d_backward(in.dy, {in.x, in.weight, {}, in.geometry}, {&dw, false, &db, false}, true);
    EXPECT_EQ(dx.dtype(), DType::kBF16);
    EXPECT_LT(
        relative(dx, plain::conv2d_backward_data(wide(in.dy), wide(in.weight), c.x, in.geometry)),
        bound())
        << c.name;
    Array dw64 = Array::empty(c.weight, DType::kF64);
    Array db64 = Array::empty({c.weight[0]}, DType::kF64);
    plain::conv2d_backward_weights(wide(in.x), wide(in.dy), in.geometry, dw64, &db64);
    EXPECT_LT(relative(dw, dw64), bound()) << c.name;
    EXPECT_LT(relative(db, db64), 1e-5) << c.name;
  }
}

TEST(Conv2dOfBf16, TheGradientOfAFusedReluIsThatOfTheMaskedGradient) {
  const Inputs in(kCases[1]);
  const Array y = conv2d_forward(in.x, in.weight, in.bias, in.geometry, true);
  Array masked = convert(in.dy, DType::kF32);
  const Floats values = convert(y, DType::kF32).strided().to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= 0) masked.data<float>()[i] = 0;
  }
  const auto backward = [&](const Array& dy, const Array& result) {
    Array dw = Array::empty(in.weight.shape());
    const Array dx = conv2d_backward(dy, {in.x, in.weight, result, in.geometry},
                                     {&dw, false, nullptr, false}, true);
    Floats all = convert(dx, DType::kF32).strided().to_vector<float>();
    const Floats weights = dw.to_vector<float>();
    all.insert(all.end(), weights.begin(), weights.end());
    return all;
  };
  EXPECT_EQ(backward(in.dy, y), backward(convert(masked, DType::kBF16), {}));
}

TEST(Conv2dOfBf16, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = thread_count();
  const Inputs in(kCases[1]);
  std::vector<Floats> results;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    Array dw = Array::empty(in.weight.shape());
    const Array dx = conv2d_backward(in.dy, {in.x, in.weight, {}, in.geometry},
                                     {&dw, false, nullptr, false}, true);
    Floats all = dw.to_vector<float>();
    for (const Array& array : {dx, conv2d_forward(in.x, in.weight, {}, in.geometry, false)}) {
      const Floats values = convert(array, DType::kF32).strided().to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    results.push_back(all);
  }
  set_thread_count(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Conv2dOfBf16, NaNStays) {
  Inputs in(kCases[0]);
  static_cast<WinogradHalf*>(in.weight.raw_data())[0] = 0x7FFF;
  const Array y = conv2d_forward(in.x, in.weight, {}, in.geometry, false);
  const Floats values = convert(y, DType::kF32).strided().to_vector<float>();
  EXPECT_TRUE(
      std::any_of(values.begin(), values.end(), [](float value) { return value != value; }));
}

}  // namespace
}  // namespace weft::winograd_pairs_test
