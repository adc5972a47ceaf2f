#include "weft/kernel/conv/winograd/winograd_plan.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv.h"
#include "weft/kernel/core/test_random_array.h"

namespace weft::winograd {
namespace {

struct PlanCase {
  std::int64_t images;
  std::int64_t inputs;
  std::int64_t outputs;
  std::int64_t height;
  std::int64_t width;
};
std::string describe(const PlanCase& c) {
  return std::to_string(c.images) + " images " + std::to_string(c.height) + "x" +
         std::to_string(c.width) + " " + std::to_string(c.inputs) + " to " +
         std::to_string(c.outputs);
}

constexpr Conv2dGeometry kPadded{.padding = {1, 1}};

WinogradPlan plan_of(const PlanCase& c) {
  return {{c.images, c.inputs, c.height, c.width}, {c.outputs, c.inputs, 3, 3}, kPadded};
}
Chunks chunks_of(const WinogradPlan& plan) {
  return {plan.out_panels, panel_bytes<float>(plan.in_panels)};
}

const std::vector<PlanCase>& plan_cases() {
  static const std::vector<PlanCase> all = {
      {1, 32, 64, 28, 28},  {64, 32, 64, 24, 24},  {1, 64, 64, 56, 56},   {3, 16, 16, 9, 70},
      {7, 8, 24, 32, 32},   {64, 512, 512, 4, 4},  {5, 64, 128, 16, 16},  {1, 8, 8, 11, 13},
      {2, 256, 256, 8, 8},  {1, 128, 128, 40, 40}, {16, 128, 256, 16, 8}, {9, 40, 40, 5, 3},
      {1, 16, 16, 200, 12},
  };
  return all;
}

using Row = std::pair<std::int64_t, std::int64_t>;  // an image and a row of its tiles

std::vector<Row> rows_of_share(const Shares& shares, std::int64_t share) {
  std::vector<Row> rows;
  for (std::int64_t g = shares.first(share); g < shares.first(share + 1); ++g) {
    const Group& group = shares.groups[static_cast<std::size_t>(g)];
    for (std::int64_t i = 0; i < group.images * group.rows; ++i) {
      rows.emplace_back(group.first_image + i / group.rows, group.first_row + i % group.rows);
    }
  }
  return rows;
}

TEST(WinogradPlan, SharesHaveEachRowOfTilesOnceAndAboutAsMany) {
  for (const PlanCase& c : plan_cases()) {
    const WinogradPlan plan = plan_of(c);
    const auto all = static_cast<std::size_t>(c.images * plan.down);
    for (const std::int64_t threads : {1, 2, 3, 5, 16, 1000}) {
      SCOPED_TRACE(describe(c) + ", " + std::to_string(threads) + " threads");
      const Shares shares = plan.shares(chunks_of(plan), threads);
      ASSERT_TRUE(shares.count == 1 || shares.count == threads);
      std::set<Row> seen;
      std::size_t sum = 0;
      for (std::int64_t i = 0; i < shares.count; ++i) {
        const std::vector<Row> rows = rows_of_share(shares, i);
        EXPECT_FALSE(rows.empty());
        EXPECT_LE(4 * rows.size() * static_cast<std::size_t>(shares.count), 5 * all);
        seen.insert(rows.begin(), rows.end());
        sum += rows.size();
      }
      EXPECT_EQ(sum, all);
      EXPECT_EQ(seen.size(), all);
    }
  }
}

// Whole images make a group up to twice as large as was asked for.
TEST(WinogradPlan, SharesTakeLittleMemoryForEachThread) {
  const WinogradPlan plan = plan_of({64, 64, 560, 8, 8});
  const Shares shares = plan.shares(chunks_of(plan), 2);
  ASSERT_EQ(shares.count, 2);
  const std::int64_t tile = kWinogradPositions * (plan.in_panels + plan.out_panels) * kPanel * 4;
  for (const Group& group : shares.groups) EXPECT_LE(plan.tiles(group) * tile, 2 * kShareBytes);
}

TEST(WinogradPlan, ThreadsShareGroupsWhereFiltersAreLargeOrTilesFew) {
  const auto shares_of = [](const PlanCase& c, std::int64_t threads) {
    const WinogradPlan plan = plan_of(c);
    return plan.shares(chunks_of(plan), threads).count;
  };
  EXPECT_EQ(shares_of({64, 32, 64, 24, 24}, 2), 2);
  EXPECT_EQ(shares_of({64, 32, 64, 24, 24}, 1), 1);
  EXPECT_EQ(shares_of({1, 32, 64, 24, 24}, 2), 2);
  EXPECT_EQ(shares_of({1, 32, 64, 24, 24}, 3), 1);      // 12 tiles for each
  EXPECT_EQ(shares_of({1, 128, 128, 32, 32}, 2), 1);    // 32 tiles for 2.25 MiB of filters
  EXPECT_EQ(shares_of({256, 512, 512, 16, 16}, 2), 1);  // filters in chunks
  EXPECT_EQ(shares_of({3, 64, 64, 32, 32}, 2), 1);      // two images for one of them
}

// Threads that have groups of their own, and those that share them, compute the same bits.
TEST(WinogradPlan, SharesChangeNoBit) {
  const int before = thread_count();
  for (const PlanCase& c : plan_cases()) {
    if (c.inputs > 128) continue;
    const Array x = random_array({c.images, c.inputs, c.height, c.width}, 1);
    const Array weight = random_array({c.outputs, c.inputs, 3, 3}, 2);
    const Array bias = random_array({c.outputs}, 3);
    std::vector<float> want;
    for (const int threads : {1, 2, 3, 4}) {
      set_thread_count(threads);
      const Array y = conv2d_forward(x, weight, bias, kPadded, true).strided();
      if (threads == 1) want = y.to_vector<float>();
      EXPECT_EQ(y.to_vector<float>(), want) << describe(c) << ", " << threads << " threads";
    }
    set_thread_count(before);
  }
}

}  // namespace
}  // namespace weft::winograd
