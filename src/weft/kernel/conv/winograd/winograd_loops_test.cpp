#include "weft/kernel/conv/winograd/winograd_loops.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/test_random_array.h"

namespace weft::winograd_loops_test {
namespace {

using Floats = std::vector<float>;

// What `run` gives with each instruction set: the same bits where multiplications are fused, and
// nearly the same values without.
template <class Loops, std::size_t kCount>
void expect_agreement(const IsaLoops<Loops> (&tables)[kCount],
                      const std::function<Floats(const Loops&)>& run) {
  const Floats plain = run(*tables[0].loops);
  Floats fused;
  for (const IsaLoops<Loops>& table : loops_that_run(tables)) {
    if (table.isa == Isa::kGeneric) continue;
    const Floats values = run(*table.loops);
    if (fused.empty()) {
      fused = values;
      ASSERT_EQ(plain.size(), fused.size());
      for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(plain[i], fused[i], 1e-4) << i;
    }
    EXPECT_EQ(values, fused) << "instruction set " << static_cast<int>(table.isa);
  }
}

struct ImageCase {
  std::int64_t blocks;
  std::int64_t height;  // of both images
  std::int64_t width;
  std::int64_t padding;
};

// Images whose last panel has one block or two, and whose tiles are cut off, or not.
std::vector<ImageCase> image_cases() {
  return {{1, 4, 4, 1}, {2, 8, 8, 1}, {3, 5, 11, 1}, {4, 7, 6, 0}, {3, 12, 3, 2}};
}

WinogradTiles tiles_of(const ImageCase& c) {
  return {0, (c.height + 3) / 4, (c.width + 3) / 4, c.padding, c.padding};
}
std::int64_t image_floats(const ImageCase& c) {
  return c.blocks * c.height * c.width * kWinogradBlock;
}
// The values of one position, with room between two.
std::int64_t position_floats(const ImageCase& c) {
  const WinogradTiles tiles = tiles_of(c);
  return (tiles.rows * tiles.across + 1) * kWinogradPanel;
}
std::int64_t panel_floats(const ImageCase& c) { return kWinogradPositions * position_floats(c); }

// Calls body(panel, its positions) for all panels, and returns these, one after the other.
Floats all_panels(const ImageCase& c,
                  const std::function<void(std::int64_t, const WinogradPanel<float>&)>& body) {
  Floats all;
  for (std::int64_t panel = 0; panel < (c.blocks + 1) / 2; ++panel) {
    Floats values(static_cast<std::size_t>(panel_floats(c)));
    body(panel, {values.data(), position_floats(c)});
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(WinogradLoops, InstructionSetsAgreeOnTransformsOfImages) {
  for (const ImageCase& c : image_cases()) {
    Floats x = random_floats(image_floats(c), 1);
    const Floats y = random_floats(image_floats(c), 2);
    const WinogradImage<float> image{x.data(), c.blocks, c.height, c.width};
    expect_agreement<WinogradImages>(winograd_images_tables, [&](const auto& images) {
      const auto& loops = images.of_floats;
      return all_panels(c, [&](std::int64_t panel, const WinogradPanel<float>& out) {
        loops.input(image, panel, tiles_of(c), out);
      });
    });
    for (const float* const mask : {static_cast<const float*>(nullptr), y.data()}) {
      expect_agreement<WinogradImages>(winograd_images_tables, [&](const auto& images) {
        const auto& loops = images.of_floats;
        Floats sums(kWinogradPanel, 1.0F);
        Floats all = all_panels(c, [&](std::int64_t panel, const WinogradPanel<float>& out) {
          loops.output_gradient({image, mask, sums.data()}, panel, tiles_of(c), out);
        });
        all.insert(all.end(), sums.begin(), sums.end());
        return all;
      });
    }
  }
}

TEST(WinogradLoops, InstructionSetsAgreeOnTransformsToImages) {
  for (const ImageCase& c : image_cases()) {
    Floats values = random_floats(panel_floats(c), 3);
    const Floats bias = random_floats(kWinogradPanel, 4);
    const WinogradPanel<float> panel{values.data(), position_floats(c)};
    const auto to_image =
        [&](const std::function<void(std::int64_t, const WinogradImage<float>&)>& run) {
          Floats y(static_cast<std::size_t>(image_floats(c)), 5.0F);
          for (std::int64_t i = 0; i < (c.blocks + 1) / 2; ++i) {
            run(i, {y.data(), c.blocks, c.height, c.width});
          }
          return y;
        };
    for (const bool relu : {false, true}) {
      expect_agreement<WinogradImages>(winograd_images_tables, [&](const auto& images) {
        const auto& loops = images.of_floats;
        return to_image([&](std::int64_t i, const WinogradImage<float>& y) {
          loops.output(panel, tiles_of(c), {relu ? bias.data() : nullptr, relu}, y, i);
        });
      });
    }
    expect_agreement<WinogradImages>(winograd_images_tables, [&](const auto& images) {
      const auto& loops = images.of_floats;
      return to_image([&](std::int64_t i, const WinogradImage<float>& dx) {
        loops.input_gradient(panel, tiles_of(c), dx, i, nullptr);
      });
    });
  }
}

TEST(WinogradLoops, InstructionSetsAgreeOnTransformsOfFilters) {
  Floats filters = random_floats(kWinogradPanel * 9, 6);
  Floats transformed = random_floats(kWinogradPositions * kWinogradPanel, 7);
  for (const std::int64_t count : {0, 3, 8, 13, 16}) {
    expect_agreement<WinogradImages>(winograd_images_tables, [&](const auto& images) {
      const auto& loops = images.of_floats;
      Floats out(2 * transformed.size());
      loops.weights({filters.data(), 9, count}, {filters.data(), 9, 16 - count},
                    {out.data(), 2 * kWinogradPanel});
      return out;
    });
    for (const bool accumulate : {false, true}) {
      expect_agreement<WinogradImages>(winograd_images_tables, [&](const auto& images) {
        const auto& loops = images.of_floats;
        Floats out = filters;
        loops.weights_gradient({transformed.data(), kWinogradPanel}, {out.data(), 9, count},
                               accumulate);
        return out;
      });
    }
  }
}

struct ProductCase {
  std::int64_t panels;
  std::int64_t tiles;
  std::int64_t depth;
};

// c[panel][row][16] of all panels, as many at a time as the loops take.
Floats by_loops(const WinogradProducts<float>& loops, const ProductCase& size, bool transposed) {
  const std::int64_t depth_panels = size.depth / kWinogradPanel;
  const Floats a = random_floats(depth_panels * size.tiles * kWinogradPanel, 8);
  const std::int64_t b_next = (transposed ? size.tiles : size.depth) * kWinogradPanel;
  const std::int64_t c_next = (transposed ? kWinogradPanel : size.tiles) * kWinogradPanel;
  const Floats b = random_floats(size.panels * b_next, 9);
  Floats c(static_cast<std::size_t>(size.panels * c_next), 1.0F);
  for (std::int64_t panel = 0; panel < size.panels; panel += loops.panels) {
    for (const bool accumulate : {false, true}) {
      const WinogradProduct<float> product{a.data(),
                                           size.tiles * kWinogradPanel,
                                           b.data() + panel * b_next,
                                           b_next,
                                           c.data() + panel * c_next,
                                           c_next,
                                           std::min(loops.panels, size.panels - panel),
                                           size.tiles,
                                           size.depth,
                                           accumulate};
      transposed ? loops.multiply_transposed(product) : loops.multiply(product);
    }
  }
  return c;
}

TEST(WinogradLoops, InstructionSetsAgreeOnProducts) {
  for (const std::int64_t panels : {1, 2, 3}) {
    for (const std::int64_t tiles : {1, 2, 5, 6, 7, 11, 12, 13, 23, 25, 36}) {
      for (const bool transposed : {false, true}) {
        const ProductCase size{panels, tiles, transposed ? 16 : 48};
        SCOPED_TRACE(std::to_string(panels) + " panels, " + std::to_string(tiles) + " tiles" +
                     (transposed ? ", transposed" : ""));
        expect_agreement<WinogradProducts<float>>(winograd_products_tables, [&](const auto& loops) {
          return by_loops(loops, size, transposed);
        });
      }
    }
  }
}

}  // namespace
}  // namespace weft::winograd_loops_test
