#include "weft/kernel/gemm/matmul.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/isa/isa.h"
#include "weft/base/parallel.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/gemm/gemm_loops.h"
#include "weft/kernel/gemm/linear.h"

namespace weft::matmul_test {
namespace {

double at(const Array& array, std::int64_t i, std::int64_t j) {
  return static_cast<double>(array.data<float>()[i * array.strides()[0] + j * array.strides()[1]]);
}

// a b by plain loops in f64.
std::vector<double> product(const Array& a, const Array& b) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < a.dim(0); ++i) {
    for (std::int64_t j = 0; j < b.dim(1); ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.dim(1); ++k) sum += at(a, i, k) * at(b, k, j);
      out.push_back(sum);
    }
  }
  return out;
}

void expect_near(const Array& got, const std::vector<double>& want, double tolerance) {
  const std::vector<float> values = got.to_vector<float>();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(values[i]), want[i], tolerance) << "element " << i;
  }
}

struct Sizes {
  std::int64_t m, n, k;
};
const std::vector<Sizes> kSizes = {{1, 1, 1},    {6, 16, 256}, {7, 17, 257}, {5, 3, 2},
                                   {64, 10, 33}, {13, 200, 9}, {3, 40, 900}, {97, 31, 64}};

TEST(Matmul, EqualsPlainLoopsForOddSizesAndAnyTransposes) {
  for (const Sizes& size : kSizes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const Array a =
            random_array(transpose_a ? Shape{size.k, size.m} : Shape{size.m, size.k}, 1);
        const Array b =
            random_array(transpose_b ? Shape{size.n, size.k} : Shape{size.k, size.n}, 2);
        Array out = Array::empty({size.m, size.n});
        matmul(a, b, out, {transpose_a, transpose_b});
        expect_near(
            out, product(transpose_a ? a.transpose(0, 1) : a, transpose_b ? b.transpose(0, 1) : b),
            1e-5 * static_cast<double>(size.k));
      }
    }
  }
}

// More rows and columns than are packed at once, in three parts of k. Every 61st element is
// compared.
TEST(Matmul, EqualsPlainLoopsAcrossBlocks) {
  constexpr Sizes kSize = {97, 1560, 790};
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Array a =
          random_array(transpose_a ? Shape{kSize.k, kSize.m} : Shape{kSize.m, kSize.k}, 1);
      const Array b =
          random_array(transpose_b ? Shape{kSize.n, kSize.k} : Shape{kSize.k, kSize.n}, 2);
      Array out = Array::empty({kSize.m, kSize.n});
      matmul(a, b, out, {transpose_a, transpose_b});
      const Array left = transpose_a ? a.transpose(0, 1) : a;
      const Array right = transpose_b ? b.transpose(0, 1) : b;
      for (std::int64_t element = 0; element < kSize.m * kSize.n; element += 61) {
        const std::int64_t i = element / kSize.n;
        const std::int64_t j = element % kSize.n;
        double sum = 0;
        for (std::int64_t k = 0; k < kSize.k; ++k) sum += at(left, i, k) * at(right, k, j);
        ASSERT_NEAR(at(out, i, j), sum, 1e-5 * static_cast<double>(kSize.k)) << i << ", " << j;
      }
    }
  }
}

TEST(Matmul, TakesViewsOfAnyStrides) {
  const Array a =
      random_array({20, 30}, 3).slice(0, 1, 18, 2).slice(1, std::nullopt, std::nullopt, -3);
  const Array b = random_array({10, 40}, 4).slice(1, 0, 38, 2);
  Array out = Array::empty({a.dim(0), b.dim(1)});
  matmul(a, b, out);
  expect_near(out, product(a, b), 1e-4);
}

TEST(Matmul, AddsToItsTarget) {
  const Array a = random_array({9, 300}, 5);
  const Array b = random_array({300, 21}, 6);
  Array out = Array::full({9, 21}, 2.0);
  matmul(a, b, out, {.accumulate = true});
  std::vector<double> want = product(a, b);
  for (double& value : want) value += 2.0;
  expect_near(out, want, 1e-3);
}

TEST(Matmul, AnEmptySumIsZeroAndAnEmptyProductNothing) {
  Array out = Array::full({3, 4}, 7.0);
  matmul(Array::empty({3, 0}), Array::empty({0, 4}), out);
  EXPECT_EQ(out.to_vector<float>(), std::vector<float>(12, 0.0F));
  Array nothing = Array::empty({0, 4});
  matmul(Array::empty({0, 5}), random_array({5, 4}, 7), nothing);
}

TEST(Matmul, BroadcastsBatches) {
  const Array a = random_array({2, 1, 3, 4}, 8);
  const Array b = random_array({1, 5, 4, 6}, 9);
  Array out = Array::empty({2, 5, 3, 6});
  matmul(a, b, out);
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      expect_near(out.select(0, i).select(0, j),
                  product(a.select(0, i).select(0, 0), b.select(0, 0).select(0, j)), 1e-5);
    }
  }
}

TEST(Matmul, HasTheSameBitsForAnyThreadCount) {
  // Threads share the columns of the first and the rows of the others, and with these the packing.
  for (const Sizes& size : {Sizes{150, 90, 400}, {260, 90, 900}, {400, 120, 300}}) {
    const Array a = random_array({size.m, size.k}, 10);
    const Array b = random_array({size.k, size.n}, 11);
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      Array out = Array::empty({size.m, size.n});
      matmul(a, b, out);
      results.push_back(out.to_vector<float>());
    }
    set_thread_count(1);
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
  }
}

// A product with one column is computed as that of its transpose.
TEST(Matmul, AColumnHasTheBitsOfTheWholeProduct) {
  for (const Sizes& size : {Sizes{1, 5, 3}, {33, 7, 40}, {150, 90, 900}, {4, 3, 1}}) {
    for (const bool transpose_a : {false, true}) {
      const Array a = random_array(transpose_a ? Shape{size.k, size.m} : Shape{size.m, size.k}, 20);
      const Array b = random_array({size.k, size.n}, 21);
      Array whole = Array::full({size.m, size.n}, 0.5);
      matmul(a, b, whole, {.transpose_a = transpose_a, .accumulate = true});
      for (const int threads : {1, 3}) {
        set_thread_count(threads);
        Array column = Array::full({size.m, 1}, 0.5);
        matmul(a, b.slice(1, 2, 3), column, {.transpose_a = transpose_a, .accumulate = true});
        EXPECT_EQ(column.to_vector<float>(), whole.slice(1, 2, 3).to_vector<float>());
      }
      set_thread_count(1);
    }
  }
}

TEST(Linear, AddsTheBiasAndCutsOffBelowZero) {
  for (const Sizes& size : kSizes) {
    const Array x = random_array({size.m, size.k}, 12);
    const Array weight = random_array({size.n, size.k}, 13);
    const Array bias = random_array({size.n}, 14);
    std::vector<double> want = product(x, weight.transpose(0, 1));
    for (std::size_t i = 0; i < want.size(); ++i) {
      want[i] += static_cast<double>(bias.data<float>()[i % static_cast<std::size_t>(size.n)]);
      want[i] = std::max(want[i], 0.0);
    }
    expect_near(linear_forward(x, weight, bias, true), want, 1e-5 * static_cast<double>(size.k));
  }
}

TEST(Linear, SumsColumns) {
  const Array x = random_array({37, 130}, 15);
  Array sums = Array::full({130}, 1.0);
  column_sums(x, sums, true);
  expect_near(
      sums.reshape({1, 130}),
      [&] {
        std::vector<double> want(130, 1.0);
        for (std::int64_t i = 0; i < 37 * 130; ++i) {
          want[static_cast<std::size_t>(i % 130)] += static_cast<double>(x.data<float>()[i]);
        }
        return want;
      }(),
      1e-4);
}

// a times `columns` columns of b, added to ones, by loops alone, with rows as they are or packed.
Array by_loops(const GemmLoops& loops, const Array& a, const Array& b, bool packed_rows) {
  const std::int64_t rows = a.shape()[0];
  const std::int64_t depth = a.shape()[1];
  const std::int64_t columns = b.shape()[1];
  const std::int64_t panels = (columns + kGemmPanel - 1) / kGemmPanel;
  std::vector<float> packed(static_cast<std::size_t>(panels * depth * kGemmPanel));
  std::vector<float> packed_a(static_cast<std::size_t>(rows * depth));
  const GemmOperand left{a.data<float>(), depth, 1};
  for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
    loops.pack({b.data<float>() + j * depth, 1, depth}, depth, std::min(kGemmPanel, columns - j),
               packed.data() + j * depth);
  }
  loops.pack_rows(left, rows, depth, packed_a.data());
  Array out = Array::full({rows, columns}, 1.0);
  for (std::int64_t j = 0; j < columns; j += loops.columns) {
    const GemmSize size{rows, std::min(loops.columns, columns - j), depth};
    const GemmPanel panel{packed.data() + j * depth, kGemmPanel, kGemmPanel * depth};
    const GemmOutput to{out.data<float>() + j, columns, true};
    if (packed_rows) {
      loops.multiply_packed(size, packed_a.data(), panel, to);
    } else {
      loops.multiply(size, left, panel, to);
    }
  }
  return out;
}

// The same as tiles of rows in groups of 8 values, which lie `apart` floats from one another, with
// results in blocks of 8 columns where these are whole.
Array by_tiles(const GemmLoops& loops, const Array& a, const Array& b, std::int64_t apart) {
  const std::int64_t rows = a.shape()[0];
  const std::int64_t depth = a.shape()[1];
  const std::int64_t columns = b.shape()[1];
  const std::int64_t groups = depth / 8;
  std::vector<float> packed(
      static_cast<std::size_t>((columns + kGemmPanel - 1) / kGemmPanel * depth * kGemmPanel));
  for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
    loops.pack({b.data<float>() + j * depth, 1, depth}, depth, std::min(kGemmPanel, columns - j),
               packed.data() + j * depth);
  }
  std::vector<float> values(static_cast<std::size_t>(groups * rows * apart), std::nanf(""));
  for (std::int64_t i = 0; i < rows * depth; ++i) {
    const std::int64_t k = i % depth;
    values[static_cast<std::size_t>((k / 8 * rows + i / depth) * apart + k % 8)] =
        a.data<float>()[i];
  }
  const bool blocks = columns % 8 == 0;
  std::vector<const float*> places;
  std::vector<GemmTile<float>> tiles;
  for (std::int64_t row = 0; row < rows; row += loops.rows) {
    for (std::int64_t group = 0; group < groups; ++group) {
      places.push_back(values.data() + (group * rows + row) * apart);
    }
    tiles.push_back(
        {std::min(loops.rows, rows - row), nullptr, apart, row * (blocks ? 8 : columns)});
  }
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    tiles[i].groups = places.data() + static_cast<std::int64_t>(i) * groups;
  }
  std::vector<float> sums(static_cast<std::size_t>(rows * columns), 1.0F);
  for (std::int64_t j = 0; j < columns; j += loops.columns) {
    GemmOutput to{sums.data() + (blocks ? j * rows : j), blocks ? 8 : columns, true};
    if (blocks) to.block_step = 8 * rows;
    loops.multiply_tiles(
        {static_cast<std::int64_t>(tiles.size()), std::min(loops.columns, columns - j), depth},
        tiles.data(), {packed.data() + j * depth, kGemmPanel, kGemmPanel * depth}, to);
  }
  Array out = Array::empty({rows, columns});
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t j = i % columns;
    const std::int64_t place = blocks ? (j / 8 * rows + i / columns) * 8 + j % 8 : i;
    out.data<float>()[i] = sums[static_cast<std::size_t>(place)];
  }
  return out;
}

TEST(GemmLoops, TilesOfGroupsHaveTheBitsOfRows) {
  for (const IsaLoops<GemmLoops>& table : loops_that_run(gemm_loops_tables)) {
    for (const std::int64_t columns : {1, 8, 16, 24, 31, 32, 40, 71}) {
      for (const std::int64_t rows : {1, 2, 5, 7, 11, 12, 13, 25}) {
        const Array a = random_array({rows, 56}, 20);
        const Array b = random_array({columns, 56}, 21).transpose(0, 1);
        const std::vector<float> want = by_loops(*table.loops, a, b, false).to_vector<float>();
        for (const std::int64_t apart : {8, 16}) {
          EXPECT_EQ(by_tiles(*table.loops, a, b, apart).to_vector<float>(), want)
              << "instruction set " << static_cast<int>(table.isa) << ", " << rows << " x "
              << columns;
        }
      }
    }
  }
}

// Those too which gemm() does not choose here.
TEST(GemmLoops, AllInstructionSetsAgree) {
  for (const IsaLoops<GemmLoops>& table : loops_that_run(gemm_loops_tables)) {
    for (const std::int64_t columns : {1, 11, 16, 17, 31, 32, 33, 48, 71}) {
      for (const std::int64_t rows : {1, 2, 5, 7, 11, 12, 13, 23, 25, 36}) {
        const Array a = random_array({rows, 50}, 16);
        const Array b = random_array({columns, 50}, 17).transpose(0, 1);
        std::vector<double> want = product(a, b);
        for (double& value : want) value += 1.0;
        expect_near(by_loops(*table.loops, a, b, false), want, 1e-4);
        expect_near(by_loops(*table.loops, a, b, true), want, 1e-4);
      }
    }
  }
}

// Members with different processors hold the same products where both fuse multiplications.
TEST(GemmLoops, FusedLoopsGiveTheSameBits) {
  const Array a = random_array({29, 77}, 18);
  const Array b = random_array({43, 77}, 19).transpose(0, 1);
  std::vector<float> first;
  for (const IsaLoops<GemmLoops>& table : loops_that_run(gemm_loops_tables)) {
    if (table.isa == Isa::kGeneric) continue;
    for (const bool packed : {false, true}) {
      const Array out = by_loops(*table.loops, a, b, packed);
      const std::vector<float> values(out.data<float>(), out.data<float>() + out.size());
      if (first.empty()) first = values;
      EXPECT_EQ(values, first) << "instruction set " << static_cast<int>(table.isa);
    }
  }
}

}  // namespace
}  // namespace weft::matmul_test
