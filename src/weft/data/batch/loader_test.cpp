#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/data/batch_loader.h"

namespace weft::loader_test {
namespace {

Sampler sampler_of(std::uint64_t seed, std::int64_t size, std::int64_t batch) {
  Result<Sampler> made = Sampler::make({.seed = seed, .dataset_size = size, .batch_size = batch});
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::move(made).value();
}

std::vector<std::uint32_t> batch_of(Sampler& sampler, std::int64_t step) {
  const auto batch = sampler.batch(step);
  return {batch.begin(), batch.end()};
}

std::shared_ptr<const Dataset> synthetic(std::int64_t size) {
  Result<Dataset> made = make_synthetic_dataset({.seed = 2, .size = size}, Split::kTrain);
  EXPECT_TRUE(made.ok());
  return std::make_shared<const Dataset>(std::move(*made));
}

std::unique_ptr<BatchLoader> loader_of(std::shared_ptr<const Dataset> dataset, int workers) {
  auto made =
      BatchLoader::make(std::move(dataset), {.seed = 9, .batch_size = 32, .workers = workers});
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

// The mistakes of a calling program end in an error, not in its death.
TEST(Dataset, RefusesSamplesAndLabelsOutOfRange) {
  const std::shared_ptr<const Dataset> data = synthetic(100);
  for (const auto& [begin, end] : {std::pair{90, 200}, {-1, 3}, {5, 4}}) {
    const Result<Batch> batch = make_batch(*data, begin, end, {});
    EXPECT_EQ(batch.status().code(), Code::kInvalidArgument) << begin << " " << end;
  }
  const std::vector<std::int64_t> indexes = {3, 100};
  EXPECT_THAT(make_batch(*data, indexes, {}).status().message(),
              testing::HasSubstr("samples from 0 to 99, got 100"));
  const std::vector<std::int64_t> labels = {0, 10};
  EXPECT_THROW(pack_labels(labels, 10), std::invalid_argument);
  EXPECT_THROW(pack_labels(labels, 0), std::invalid_argument);
  const std::vector<std::int32_t> tokens = {7, -1};
  EXPECT_THROW(pack_tokens(tokens, 10), std::invalid_argument);
  Dataset copy = *data;
  EXPECT_THROW(copy.keep_first(0), std::invalid_argument);
  EXPECT_THROW(shard_of(10, 2, 2), std::invalid_argument);
  EXPECT_THROW(sampler_of(1, 10, 5).batch(-1), std::invalid_argument);
}

// What a program fills by hand is not read beyond its end.
TEST(Dataset, OfPartsThatDoNotFitIsRefused) {
  const auto refusal = [](const Dataset& dataset) {
    const Result<Batch> batch = make_batch(dataset, 0, 2, {});
    const auto loader = BatchLoader::make(std::make_shared<const Dataset>(dataset),
                                          {.seed = 1, .batch_size = 2, .workers = 0});
    EXPECT_EQ(batch.ok(), loader.ok());
    return batch.status().message();
  };
  Dataset images = *synthetic(10);
  EXPECT_EQ(refusal(images), "");
  images.images = SharedBytes(Bytes(5));
  EXPECT_THAT(refusal(images), testing::HasSubstr("bytes of images for 10 samples, got 5"));
  images = *synthetic(10);
  images.labels = {};
  EXPECT_THAT(refusal(images), testing::HasSubstr("10 bytes of labels for 10 samples, got 0"));
  images.width = 0;
  EXPECT_THAT(refusal(images), testing::HasSubstr("at least one pixel"));
  images = *synthetic(10);
  images.size = std::int64_t{1} << 62;
  EXPECT_THAT(refusal(images), testing::HasSubstr("bytes of images"));
  Dataset rows;
  rows.kind = DatasetKind::kRows;
  rows.size = 4;
  EXPECT_THAT(refusal(rows), testing::HasSubstr("rows as contiguous f32 [4, columns], got none"));
  rows.rows = Array::zeros({2, 3});
  EXPECT_THAT(refusal(rows), testing::HasSubstr("[4, columns], got f32 [2, 3]"));
  rows.rows = Array::zeros({4, 3});
  EXPECT_THAT(refusal(rows), testing::HasSubstr("4 bytes of labels"));
  rows.classes = 256;
  EXPECT_THAT(refusal(rows), testing::HasSubstr("4 bytes of labels"));
  rows.classes = 257;
  EXPECT_THAT(refusal(rows), testing::HasSubstr("8 bytes of labels"));
  rows.targets = Array::zeros({4, 1});
  rows.mean = rows.deviation = {1, 1, 1};
  EXPECT_TRUE(make_batch(rows, 0, 2, {}).ok());
  Dataset tokens;
  tokens.kind = DatasetKind::kTokens;
  tokens.size = 2;
  tokens.context = 4;
  tokens.vocabulary = 3;
  tokens.tokens.bytes = SharedBytes(Bytes(8));
  EXPECT_THAT(refusal(tokens), testing::HasSubstr("more than 8 tokens"));
  EXPECT_FALSE(BatchLoader::make(std::shared_ptr<const Dataset>(), {.batch_size = 2}).ok());
}

TEST(Sampler, AnEpochHasEachSampleOnceAndEpochsDiffer) {
  Sampler sampler = sampler_of(1, 103, 10);
  EXPECT_EQ(sampler.steps_per_epoch(), 10);
  std::vector<std::vector<std::uint32_t>> epochs(2);
  for (std::int64_t step = 0; step < 20; ++step) {
    auto& epoch = epochs[static_cast<std::size_t>(sampler.epoch_of(step))];
    for (const std::uint32_t index : batch_of(sampler, step)) epoch.push_back(index);
  }
  for (const auto& epoch : epochs) {
    EXPECT_EQ(epoch.size(), 100U);
    EXPECT_EQ(std::set<std::uint32_t>(epoch.begin(), epoch.end()).size(), 100U);
    EXPECT_LT(*std::max_element(epoch.begin(), epoch.end()), 103U);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(Sampler, AStepIsTheSameWhateverCameBefore) {
  Sampler forward = sampler_of(8, 1000, 64);
  std::vector<std::vector<std::uint32_t>> batches;
  for (std::int64_t step = 0; step < 60; ++step) batches.push_back(batch_of(forward, step));
  Sampler jumping = sampler_of(8, 1000, 64);
  for (const std::int64_t step : {59, 0, 31, 30, 14, 15, 16, 45}) {
    EXPECT_EQ(batch_of(jumping, step), batches[static_cast<std::size_t>(step)]) << step;
  }
  Sampler other = sampler_of(9, 1000, 64);
  EXPECT_NE(batch_of(other, 0), batches[0]);
}

// All peers of a run must draw these; a change would tear every run that resumes.
TEST(Sampler, TheOrderIsPinned) {
  Sampler sampler = sampler_of(42, 60000, 64);
  const auto first = batch_of(sampler, 0);
  EXPECT_THAT(std::vector<std::uint32_t>(first.begin(), first.begin() + 4),
              testing::ElementsAre(42667, 10998, 54176, 54938));
  const auto later = batch_of(sampler, 1000);
  EXPECT_THAT(std::vector<std::uint32_t>(later.begin(), later.begin() + 4),
              testing::ElementsAre(17869, 1191, 16243, 27037));
}

TEST(Sampler, EverySampleIsEquallyLikelyInTheFirstBatch) {
  std::vector<int> counts(20);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Sampler sampler = sampler_of(seed, 20, 5);
    for (const std::uint32_t index : batch_of(sampler, 0)) ++counts[index];
  }
  double chi_squared = 0;  // 19 degrees of freedom: below 43.8 with probability 0.999
  for (const int count : counts) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_squared, 43.8);
}

TEST(Sampler, ShardsJoinedInRankOrderAreTheBatch) {
  for (const std::int64_t count : {1, 2, 3, 4, 7, 64, 70}) {
    std::int64_t at = 0;
    for (std::int64_t rank = 0; rank < count; ++rank) {
      const ShardRange shard = shard_of(64, rank, count);
      EXPECT_EQ(shard.begin, at);
      EXPECT_LE(std::abs(shard.size() - 64 / count), 1);
      at = shard.end;
    }
    EXPECT_EQ(at, 64);
  }
}

TEST(Sampler, BadSizesAreRefused) {
  EXPECT_EQ(Sampler::make({.dataset_size = 10, .batch_size = 11}).status().message(),
            "sampler: expected a batch of 1 to 10 samples, got 11");
  EXPECT_FALSE(Sampler::make({.dataset_size = 0, .batch_size = 1}).ok());
  EXPECT_FALSE(Sampler::make({.dataset_size = std::int64_t{1} << 32, .batch_size = 1}).ok());
}

TEST(BatchLoader, ValuesAreNormalisedPixelsInTheSamplersOrder) {
  const auto dataset = synthetic(200);
  const auto loader = loader_of(dataset, 1);
  Sampler sampler = sampler_of(9, 200, 32);
  const Result<Batch> batch = loader->get(3, {0, 32});
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->inputs.shape(), (Shape{32, 1, 28, 28}));
  EXPECT_EQ(batch->labels.dtype(), DType::kI64);
  const auto indexes = sampler.batch(3);
  const auto inputs = batch->inputs.flat<float>();
  for (std::size_t row = 0; row < 32; ++row) {
    EXPECT_EQ(batch->labels.flat<std::int64_t>()[row], dataset->label(indexes[row]));
    for (std::size_t pixel = 0; pixel < 784; ++pixel) {
      const double expected =
          (dataset->image(indexes[row])[pixel] / 255.0 - dataset->mean[0]) / dataset->deviation[0];
      ASSERT_NEAR(inputs[row * 784 + pixel], expected, 1e-6);
    }
  }
}

TEST(BatchLoader, ShardsAndPrefetchChangeNoBit) {
  const auto dataset = synthetic(200);
  const auto whole = loader_of(dataset, 0);
  for (const std::int64_t count : {1, 2, 3, 5, 40}) {
    for (std::int64_t rank = 0; rank < count; ++rank) {
      const auto part = loader_of(dataset, 1);
      const ShardRange shard = shard_of(32, rank, count);
      for (const std::int64_t step : {0, 1, 2, 9, 10, 4}) {
        const auto expected = whole->get(step, {0, 32})->inputs.slice(0, shard.begin, shard.end);
        const Result<Batch> got = part->get(step, shard);
        ASSERT_TRUE(got.ok());
        ASSERT_EQ(got->inputs.to_vector<float>(), expected.to_vector<float>());
      }
    }
  }
}

// A view change moves the shard in mid-run: the batch made ahead for the old one is dropped.
TEST(BatchLoader, AShardThatMovesGetsItsOwnSamples) {
  const auto dataset = synthetic(200);
  const auto whole = loader_of(dataset, 0);
  const auto moving = loader_of(dataset, 1);
  for (std::int64_t step = 0; step < 50; ++step) {
    const ShardRange shard = shard_of(32, step % 3, 3);
    const auto expected = whole->get(step, {0, 32})->labels.slice(0, shard.begin, shard.end);
    const Result<Batch> got = moving->get(step, shard);
    ASSERT_TRUE(got.ok());
    ASSERT_EQ(got->labels.to_vector<std::int64_t>(), expected.to_vector<std::int64_t>());
  }
}

TEST(BatchLoader, RangesOutsideTheBatchAreRefused) {
  const auto loader = loader_of(synthetic(100), 1);
  for (const auto& [step, begin, end] :
       std::vector<std::array<std::int64_t, 3>>{{-1, 0, 32}, {0, -1, 3}, {0, 3, 2}, {0, 0, 33}}) {
    EXPECT_EQ(loader->get(step, {begin, end}).status().code(), Code::kInvalidArgument);
  }
  EXPECT_FALSE(BatchLoader::make(synthetic(100), {.batch_size = 101}).ok());
  EXPECT_FALSE(
      BatchLoader::make(synthetic(100), {.batch_size = 1, .normalization = Normalization{{0}, {0}}})
          .ok());
}

}  // namespace
}  // namespace weft::loader_test
