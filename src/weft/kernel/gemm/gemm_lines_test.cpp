// What tiles fetch for later: which lines, and that they do not fetch more.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/gemm/gemm_blocks.h"
#include "weft/kernel/gemm/gemm_loops.h"

namespace weft {
namespace {

const char* bytes(const float* values) { return reinterpret_cast<const char*>(values); }

TEST(GemmLinesAhead, AreRowsWhereTheseLieTogether) {
  const std::vector<float> a(1000);
  const GemmLinesAhead lines =
      gemm_blocks::lines_ahead(GemmOperand{a.data(), 100, 1}, 5, {12, 32, 40}, 32);
  EXPECT_EQ(lines.next, bytes(a.data()));
  EXPECT_EQ(lines.end, bytes(a.data()) + 160);
  EXPECT_EQ(lines.length, 160);
  EXPECT_EQ(lines.step, 400);
  EXPECT_EQ(lines.runs, 5);
  EXPECT_EQ(lines.each, 2);  // 5 times 3 lines, for 12 rows
}

TEST(GemmLinesAhead, AreColumnsWhereTheseLieTogether) {
  const std::vector<float> a(1000);
  const GemmLinesAhead lines =
      gemm_blocks::lines_ahead(GemmOperand{a.data(), 1, 20}, 17, {12, 33, 40}, 32);
  EXPECT_EQ(lines.length, 68);
  EXPECT_EQ(lines.step, 80);
  EXPECT_EQ(lines.runs, 40);
  EXPECT_EQ(lines.each, 4);  // 40 times 2 lines, for 12 rows twice
}

TEST(GemmLinesAhead, AreFewAtATime) {
  const std::vector<float> a(1);
  EXPECT_EQ(gemm_blocks::lines_ahead(GemmOperand{a.data(), 4096, 1}, 96, {6, 16, 1024}, 32).each,
            4);
}

TEST(GemmLinesAhead, AreNoneWithoutRowsAndWhereValuesLieApart) {
  const std::vector<float> a(1);
  EXPECT_EQ(gemm_blocks::lines_ahead(GemmOperand{a.data(), 100, 1}, 0, {12, 32, 40}, 32).runs, 0);
  EXPECT_EQ(gemm_blocks::lines_ahead(GemmOperand{a.data(), 100, 2}, 5, {12, 32, 40}, 32).runs, 0);
  EXPECT_EQ(gemm_blocks::lines_ahead(GemmOperand{a.data(), -100, -1}, 5, {12, 32, 40}, 32).runs, 0);
}

// The lines that are left of `lines` after one tile of ones, whose sums must be right all the same.
void fetch_in_one_tile(const GemmLoops& loops, GemmLinesAhead& lines) {
  constexpr std::int64_t kDepth = 50;
  const std::vector<float> rows(static_cast<std::size_t>(loops.rows * kDepth), 1.0F);
  const std::vector<float> panels(static_cast<std::size_t>(loops.columns * kDepth), 1.0F);
  std::vector<float> sums(static_cast<std::size_t>(loops.rows * loops.columns));
  loops.multiply_packed({loops.rows, loops.columns, kDepth}, rows.data(),
                        {panels.data(), kGemmPanel, kGemmPanel * kDepth, nullptr, &lines},
                        {sums.data(), loops.columns});
  for (const float sum : sums) EXPECT_EQ(sum, 50.0F);
}

TEST(GemmLoops, ATileFetchesLinesForEachOfItsRows) {
  const std::vector<float> memory(1000);
  const char* const begin = bytes(memory.data());
  for (const IsaLoops<GemmLoops>& table : loops_that_run(gemm_loops_tables)) {
    GemmLinesAhead lines{begin, begin + 256, 256, 1000, 4, 1};
    fetch_in_one_tile(*table.loops, lines);
    const std::int64_t runs = table.loops->rows / 4;  // of four lines each
    EXPECT_EQ(lines.next, begin + runs * 1000 + table.loops->rows % 4 * 64);
    EXPECT_EQ(lines.runs, 4 - runs);
  }
}

TEST(GemmLoops, ATileFetchesNoMoreThanThereIs) {
  const std::vector<float> memory(1000);
  const char* const begin = bytes(memory.data());
  for (const IsaLoops<GemmLoops>& table : loops_that_run(gemm_loops_tables)) {
    GemmLinesAhead lines{begin, begin + 100, 100, 100, 1, 4};
    fetch_in_one_tile(*table.loops, lines);
    EXPECT_EQ(lines.runs, 0);
    EXPECT_EQ(lines.next, begin + 128);
  }
}

}  // namespace
}  // namespace weft
