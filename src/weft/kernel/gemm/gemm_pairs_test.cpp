#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/gemm/gemm_pairs_loops.h"
#include "weft/kernel/gemm/matmul.h"

namespace weft::gemm_pairs_test {
namespace {

constexpr double kRoundedF32 = 0x1p-23;

std::uint16_t bits_of(const Array& array, std::int64_t index) {
  return static_cast<const std::uint16_t*>(array.raw_data())[index];
}

double value_of(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

struct Sizes {
  std::int64_t m, n, k;
};

// Random bf16 [rows, columns], and how it is read as an operand that is transposed or not.
struct Matrix {
  Matrix(std::int64_t rows, std::int64_t columns, bool transposed, std::uint64_t seed)
      : array(random_array(transposed ? Shape{columns, rows} : Shape{rows, columns}, seed)
                  .to(DType::kBF16)),
        operand{static_cast<const std::uint16_t*>(array.raw_data()), transposed ? 1 : columns,
                transposed ? rows : 1} {}
  double at(std::int64_t i, std::int64_t j) const {
    return value_of(bits_of(array, i * operand.row_step + j * operand.column_step));
  }

  Array array;
  PairsOperand operand;
};

// a b + 1 by loops alone.
std::vector<float> by_loops(const GemmPairsLoops& loops, const Sizes& size, const Matrix& a,
                            const Matrix& b) {
  const std::int64_t pairs = (size.k + 1) / 2;
  const std::int64_t panels = (size.n + kGemmPanel - 1) / kGemmPanel;
  // What is not written must not be read: the upper half of each word would be NaN.
  std::vector<std::uint32_t> packed(static_cast<std::size_t>(panels * pairs * kGemmPanel), ~0U);
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(size.m * pairs), ~0U);
  for (std::int64_t j = 0; j < size.n; j += kGemmPanel) {
    PairsOperand from = b.operand;
    from.data += j * from.column_step;
    loops.pack(from, size.k, std::min(kGemmPanel, size.n - j), packed.data() + j * pairs);
  }
  loops.pack_rows(a.operand, size.m, size.k, rows.data());
  std::vector<float> out(static_cast<std::size_t>(size.m * size.n), 1.0F);
  for (std::int64_t j = 0; j < size.n; j += loops.columns) {
    loops.multiply({size.m, std::min(loops.columns, size.n - j), pairs}, rows.data(),
                   {packed.data() + j * pairs, kGemmPanel, kGemmPanel * pairs},
                   {out.data() + j, size.n, true});
  }
  return out;
}

// Products of bf16 are exact in f32, so that only sums are rounded: each of the k additions by at
// most 2^-23 of the largest partial sum, whose magnitude is at most 1 + sum |a b|.
void expect_product(const std::vector<float>& got, const Sizes& size, const Matrix& a,
                    const Matrix& b) {
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t j = 0; j < size.n; ++j) {
      double sum = 1;
      double magnitude = 1;
      for (std::int64_t k = 0; k < size.k; ++k) {
        sum += a.at(i, k) * b.at(k, j);
        magnitude += std::abs(a.at(i, k) * b.at(k, j));
      }
      ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(i * size.n + j)]), sum,
                  kRoundedF32 * static_cast<double>(size.k + 1) * magnitude)
          << "row " << i << ", column " << j << " of " << size.m << "x" << size.n << "x" << size.k;
    }
  }
}

TEST(GemmPairsLoops, EqualPlainLoopsWithEachInstructionSet) {
  bool any = false;
  for (const IsaLoops<GemmPairsLoops>& table : loops_that_run(gemm_pairs_loops_tables)) {
    if (!table.loops->preferred) continue;
    any = true;
    for (const Sizes& size : std::vector<Sizes>{{1, 1, 1},
                                                {2, 16, 2},
                                                {5, 17, 3},
                                                {8, 31, 16},
                                                {9, 32, 17},
                                                {11, 33, 40},
                                                {12, 48, 34},
                                                {13, 64, 35},
                                                {25, 71, 50},
                                                {36, 11, 19}}) {
      for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
          const Matrix a(size.m, size.k, transpose_a, 1);
          const Matrix b(size.k, size.n, transpose_b, 2);
          expect_product(by_loops(*table.loops, size, a, b), size, a, b);
          if (HasFatalFailure()) FAIL() << "instruction set " << static_cast<int>(table.isa);
        }
      }
    }
  }
  if (!any) GTEST_SKIP() << "this processor runs no set that multiplies pairs";
}

// Rows that lie anywhere, one panel and two, stored and added.
TEST(GemmPairsLoops, RowsNeedNotBePacked) {
  bool any = false;
  for (const IsaLoops<GemmPairsLoops>& table : loops_that_run(gemm_pairs_loops_tables)) {
    if (!table.loops->preferred) continue;
    any = true;
    for (const std::int64_t n : {std::int64_t{16}, table.loops->columns}) {
      for (const std::int64_t m : {1, 6, 13, 24}) {
        const Sizes size{m, n, 38};
        const Matrix a(size.m, size.k, false, 5);
        const Matrix b(size.k, size.n, false, 6);
        const std::int64_t pairs = size.k / 2;
        std::vector<std::uint32_t> packed(static_cast<std::size_t>(n * pairs));
        for (std::int64_t j = 0; j < n; j += kGemmPanel) {
          PairsOperand from = b.operand;
          from.data += j;
          table.loops->pack(from, size.k, kGemmPanel, packed.data() + j * pairs);
        }
        const PairsPanel panel{packed.data(), kGemmPanel, kGemmPanel * pairs};
        // The pairs of a row side by side, and those of a column.
        std::vector<std::uint32_t> by_row(static_cast<std::size_t>(m * pairs));
        std::vector<std::uint32_t> by_column = by_row;
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t p = 0; p < pairs; ++p) {
            const std::uint32_t upper = bits_of(a.array, i * size.k + 2 * p + 1);
            const std::uint32_t pair = bits_of(a.array, i * size.k + 2 * p) | upper << 16;
            by_row[static_cast<std::size_t>(i * pairs + p)] = pair;
            by_column[static_cast<std::size_t>(p * m + i)] = pair;
          }
        }
        for (const PairsMatrix& rows :
             {PairsMatrix{by_row.data(), pairs, 1}, PairsMatrix{by_column.data(), 1, m}}) {
          std::vector<float> out(static_cast<std::size_t>(m * n), 1.0F);
          table.loops->multiply_matrix({m, n, pairs}, rows, panel, {out.data(), n, true});
          expect_product(out, size, a, b);
          table.loops->multiply_matrix({m, n, pairs}, rows, panel, {out.data(), n, false});
          for (float& value : out) value += 1.0F;
          expect_product(out, size, a, b);
          if (HasFatalFailure()) FAIL() << "instruction set " << static_cast<int>(table.isa);
        }
      }
    }
  }
  if (!any) GTEST_SKIP() << "this processor runs no set that multiplies pairs";
}

// Blocks of rows, columns and k, with a bias and ReLU, as a layer computes them in bf16.
TEST(GemmPairs, WholeProductsAreRoundedOnce) {
  const Sizes size{101, 530, 1601};
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Matrix a(size.m, size.k, transpose_a, 3);
      const Matrix b(size.k, size.n, transpose_b, 4);
      Array out = Array::empty({size.m, size.n}, DType::kBF16);
      matmul(a.array, b.array, out, {transpose_a, transpose_b});
      for (std::int64_t i = 0; i < size.m; i += 10) {
        for (std::int64_t j = 0; j < size.n; j += 7) {
          double sum = 0;
          for (std::int64_t k = 0; k < size.k; ++k) sum += a.at(i, k) * b.at(k, j);
          // Half a unit of bf16's 8 bits, and the sum's own error, which is far smaller.
          ASSERT_NEAR(value_of(bits_of(out, i * size.n + j)), sum, std::abs(sum) / 256 + 1e-3);
        }
      }
    }
  }
}

TEST(GemmPairs, NotANumberAndInfinityStayThat) {
  Array a = Array::full({3, 5}, 1.0).to(DType::kBF16);
  const Array b = Array::full({5, 40}, 1.0).to(DType::kBF16);
  a.flat<BFloat16>()[2] = BFloat16(NAN);
  a.flat<BFloat16>()[9] = BFloat16(INFINITY);
  Array out = Array::empty({3, 40}, DType::kBF16);
  matmul(a, b, out);
  for (std::int64_t j = 0; j < 40; ++j) {
    EXPECT_TRUE(std::isnan(value_of(bits_of(out, j))));
    EXPECT_TRUE(std::isinf(value_of(bits_of(out, 40 + j))));
    EXPECT_EQ(value_of(bits_of(out, 80 + j)), 5.0);
  }
}

}  // namespace
}  // namespace weft::gemm_pairs_test
