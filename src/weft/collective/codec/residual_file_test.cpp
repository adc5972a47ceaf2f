#include "weft/collective/codec/residual_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/bytes.h"
#include "weft/base/file.h"
#include "weft/base/testing/test_folder.h"

namespace weft::residual_file_test {
namespace {

const std::vector<float> kValues = {1.5F, -0.0F, std::numeric_limits<float>::denorm_min(), 3e38F};
// Nothing here outlives the test.
const WriteFileOptions kQuick = {.durable = false};

bool same_bits(const std::vector<float>& values) {
  const ByteSpan got = as_bytes(std::span<const float>(values));
  const ByteSpan wanted = as_bytes(std::span<const float>(kValues));
  return std::ranges::equal(got, wanted);
}

struct ResidualFile : testing::Test {
  TestFolder folder;
  std::string path = folder.path("residual");
  Codec codec = *Codec::parse("topk:ratio=0.25");
  ResidualState state = {Round(12), {std::make_shared<const std::vector<float>>(kValues)}};
};

TEST_F(ResidualFile, ComesBackToTheLastBit) {
  ASSERT_TRUE(write_residual_file(path, codec, state).ok());
  const Result<ResidualState> read = read_residual_file(path, codec, 4);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->round, Round(12));
  ASSERT_EQ(read->of(0)->size(), kValues.size());
  EXPECT_TRUE(same_bits(*read->of(0)));
}

TEST_F(ResidualFile, KeepsEachExchangeApart) {
  const auto other = std::make_shared<const std::vector<float>>(std::vector<float>{7, 8});
  state.residuals = {other, nullptr, state.residuals.front()};
  ASSERT_TRUE(write_residual_file(path, codec, state).ok());
  const Result<ResidualState> read = read_residual_file(path, codec, 6);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->residuals.size(), 3U);
  EXPECT_EQ(*read->of(0), *other);
  EXPECT_EQ(read->of(1), nullptr);
  EXPECT_TRUE(same_bits(*read->of(2)));
  EXPECT_EQ(read_residual_file(path, codec, 5).status().code(), Code::kCorrupt) << "too long";
}

TEST_F(ResidualFile, WithoutAResidualThereIsNoFile) {
  EXPECT_EQ(read_residual_file(path, codec, 4)->of(0), nullptr);
  ASSERT_TRUE(write_residual_file(path, codec, state).ok());
  ASSERT_TRUE(write_residual_file(path, codec, {Round(13), {nullptr}}).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(write_residual_file(path, codec, {Round(13), {nullptr}}).ok());
}

TEST_F(ResidualFile, AnotherCodecOrDamageIsRefused) {
  ASSERT_TRUE(write_residual_file(path, codec, state).ok());
  EXPECT_EQ(read_residual_file(path, *Codec::parse("topk"), 4).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(read_residual_file(path, codec, 3).status().code(), Code::kCorrupt) << "too long";
  const Bytes good = *read_file(path, 1000);
  for (std::size_t length = 0; length < good.size(); ++length) {
    ASSERT_TRUE(write_file_atomically(path, ByteSpan(good).first(length), kQuick).ok());
    EXPECT_EQ(read_residual_file(path, codec, 4).status().code(), Code::kCorrupt) << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x10U;
    ASSERT_TRUE(write_file_atomically(path, ByteSpan(bad), kQuick).ok());
    EXPECT_EQ(read_residual_file(path, codec, 4).status().code(), Code::kCorrupt) << at;
  }
}

}  // namespace
}  // namespace weft::residual_file_test
