#include "weft/data/transform.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/data/batch_loader.h"

namespace weft::transform_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Transforms parse(const std::vector<std::string>& texts) {
  Result<Transforms> transforms = Transforms::parse(texts);
  EXPECT_TRUE(transforms.ok()) << transforms.status().to_string();
  return transforms.ok() ? std::move(*transforms) : Transforms();
}

// Values 1, 2, 3, ... of one channel after another.
Image counted(ImageSize size) {
  Image image{size, Bytes(static_cast<std::size_t>(size.bytes()))};
  std::iota(image.pixels.begin(), image.pixels.end(), std::uint8_t{1});
  return image;
}

Image applied(const std::string& text, Image image, std::uint64_t seed = 1) {
  Rng rng(seed);
  const Transforms transforms = parse({text});
  const ImageSize size = transforms.output_size(image.size);
  transforms.apply(image, rng);
  EXPECT_EQ(image.size, size) << text;
  EXPECT_EQ(static_cast<std::int64_t>(image.pixels.size()), size.bytes()) << text;
  return image;
}

TEST(Transforms, FlipTurnsRowsAroundHalfOfTheTime) {
  const Image image = counted({3, 2, 3});
  int flipped = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Image result = applied("flip", image, seed);
    if (result.pixels == image.pixels) continue;
    ++flipped;
    ASSERT_THAT(result.pixels,
                ElementsAre(3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10, 15, 14, 13, 18, 17, 16));
  }
  EXPECT_NEAR(flipped, 200, 50);
}

TEST(Transforms, CropReachesEveryPlaceOfThePaddedImageAndNoOther) {
  const Image image = counted({1, 3, 3});
  std::set<Bytes> allowed;
  for (int top = -1; top <= 1; ++top) {
    for (int left = -1; left <= 1; ++left) {
      Bytes pixels;
      for (int y = top; y < top + 3; ++y) {
        for (int x = left; x < left + 3; ++x) {
          const bool inside = y >= 0 && y < 3 && x >= 0 && x < 3;
          pixels.push_back(inside ? static_cast<std::uint8_t>(1 + y * 3 + x) : 0);
        }
      }
      allowed.insert(pixels);
    }
  }
  std::set<Bytes> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    seen.insert(applied("crop:1", image, seed).pixels);
  }
  EXPECT_EQ(seen, allowed);
  EXPECT_EQ(applied("crop:0:2x2", image).size, (ImageSize{1, 2, 2}));
  EXPECT_THAT(
      applied("crop:0:5x5", counted({1, 1, 1})).pixels,
      ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Transforms, CenterCropTakesTheMiddle) {
  EXPECT_THAT(applied("center-crop:2x2", counted({1, 4, 4})).pixels, ElementsAre(6, 7, 10, 11));
  EXPECT_THAT(applied("center-crop:1x3", counted({1, 1, 1})).pixels, ElementsAre(0, 1, 0));
}

TEST(Transforms, ResizeIsByAreaOrLinear) {
  EXPECT_THAT(applied("resize:2x2", counted({1, 4, 4})).pixels, ElementsAre(4, 6, 12, 14));
  const Image two{{1, 1, 2}, {0, 100}};
  EXPECT_THAT(applied("resize:1x4", two).pixels, ElementsAre(0, 25, 75, 100));
  EXPECT_THAT(applied("resize:3x1", two).pixels, ElementsAre(50, 50, 50));
  const Image three{{1, 1, 3}, {0, 90, 240}};  // 1.5 pixels each: (0 + 45) / 1.5, (45 + 240) / 1.5
  EXPECT_THAT(applied("resize:1x2", three).pixels, ElementsAre(30, 190));
  for (int side = 1; side < 20; ++side) {  // a plain image stays plain at any size
    const Image plain{{3, 5, 7}, Bytes(105, 77)};
    const Image result = applied(fmt::format("resize:{}x{}", side, 20 - side), plain);
    EXPECT_THAT(result.pixels, testing::Each(77)) << side;
  }
}

TEST(Transforms, CutoutGreysOneSquareWhoseCentreIsInside) {
  int smallest = 16;
  int largest = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Image result = applied("cutout:4", Image{{3, 8, 8}, Bytes(192, 1)}, seed);
    int count = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      ASSERT_TRUE(result.pixels[i] == 1 || result.pixels[i] == 128);
      ASSERT_EQ(result.pixels[i], result.pixels[64 + i]);
      count += result.pixels[i] == 128 ? 1 : 0;
    }
    smallest = std::min(smallest, count);
    largest = std::max(largest, count);
  }
  EXPECT_EQ(largest, 16);
  EXPECT_EQ(smallest, 4);  // its centre in the corner of least room
}

TEST(Transforms, EraseAndJitterFollowTheirProbabilities) {
  const Image grey{{3, 16, 16}, Bytes(768, 100)};
  int erased = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    erased += applied("erase:0.25", grey, seed).pixels != grey.pixels ? 1 : 0;
  }
  EXPECT_NEAR(erased, 100, 35);
  EXPECT_EQ(applied("erase:0", grey).pixels, grey.pixels);
  EXPECT_EQ(applied("jitter:0:0:0", counted({3, 4, 4})).pixels, counted({3, 4, 4}).pixels);
  std::set<int> values;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Image result = applied("jitter:0.2", grey, seed);
    EXPECT_EQ(result.pixels, Bytes(768, result.pixels[0]));  // a plain image stays plain
    values.insert(result.pixels[0]);
  }
  EXPECT_GE(*values.begin(), 80);
  EXPECT_LE(*values.rbegin(), 120);
  EXPECT_GT(values.size(), 30U);
}

TEST(Transforms, OnlyRandomOnesAreLeftOutForEvaluation) {
  const Transforms all = parse({"resize:6x6", "crop:2", "flip", "center-crop:4x4", "cutout:2"});
  const Transforms kept = all.without_random();
  Image image = counted({1, 8, 8});
  Rng rng(1);
  kept.apply(image, rng);
  EXPECT_EQ(image.size, (ImageSize{1, 4, 4}));
  Image again = counted({1, 8, 8});
  Rng other(2);
  kept.apply(again, other);
  EXPECT_EQ(image.pixels, again.pixels);
  EXPECT_TRUE(parse({"flip"}).without_random().empty());
}

TEST(Transforms, MistakesAreNamed) {
  EXPECT_THAT(Transforms::parse(std::vector<std::string>{"flop"}).status().message(),
              HasSubstr("expected one of crop:P or crop:P:HxW, flip, "));
  for (const char* text :
       {"crop", "crop:", "crop:-1", "crop:1:3", "crop:1:3x", "crop:1:0x3", "flip:1",
        "resize:4097x1", "cutout:1:2", "erase:1.5", "erase:nan", "jitter", "jitter:0.1:0.1:0.1:0.1",
        "center-crop:3", "crop:5000", "crop: 1"}) {
    EXPECT_EQ(Transforms::parse(std::vector<std::string>{text}).status().code(),
              Code::kInvalidArgument)
        << text;
  }
  EXPECT_FALSE(Transforms::parse(std::vector<std::string>(33, "flip")).ok());
}

std::shared_ptr<const Dataset> colored(std::int64_t size) {
  Result<Dataset> made = make_synthetic_dataset(
      {.seed = 4, .size = size, .height = 12, .width = 12, .channels = 3}, Split::kTrain);
  EXPECT_TRUE(made.ok());
  return std::make_shared<const Dataset>(std::move(*made));
}

std::unique_ptr<BatchLoader> loader_with(std::shared_ptr<const Dataset> dataset,
                                         const std::vector<std::string>& texts, int workers) {
  BatchLoaderOptions options{.seed = 6, .batch_size = 10, .workers = workers};
  options.transforms = std::make_shared<const Transforms>(parse(texts));
  auto loader = BatchLoader::make(std::move(dataset), options);
  EXPECT_TRUE(loader.ok()) << loader.status().to_string();
  return std::move(loader).value();
}

// A dataset that takes transforms and applies none is a defect that others had.
TEST(LoaderTransforms, TheyReachTheBatch) {
  const auto dataset = colored(50);
  const auto plain = loader_with(dataset, {}, 0)->get(0, {0, 10});
  const auto flipped = loader_with(dataset, {"flip"}, 0)->get(0, {0, 10});
  ASSERT_TRUE(plain.ok() && flipped.ok());
  int turned = 0;
  for (std::int64_t row = 0; row < 10; ++row) {
    const Array before = plain->inputs.select(0, row);
    const Array after = flipped->inputs.select(0, row);
    const bool same = after.to_vector<float>() == before.to_vector<float>();
    const Array mirrored = after.slice(2, std::nullopt, std::nullopt, -1);
    EXPECT_TRUE(same || mirrored.to_vector<float>() == before.to_vector<float>()) << row;
    turned += same ? 0 : 1;
  }
  EXPECT_GT(turned, 0);
  EXPECT_LT(turned, 10);
  EXPECT_EQ(loader_with(dataset, {"resize:5x7"}, 0)->get(0, {0, 2})->inputs.shape(),
            (Shape{2, 3, 5, 7}));
}

TEST(LoaderTransforms, WorkersShardsAndResumeChangeNoBit) {
  const auto dataset = colored(50);
  const std::vector<std::string> texts = {"crop:2", "flip", "cutout:4", "erase:0.5",
                                          "jitter:0.3:0.3:0.3"};
  const auto alone = loader_with(dataset, texts, 0);
  std::vector<std::vector<float>> expected;
  for (std::int64_t step = 0; step < 12; ++step) {
    expected.push_back(alone->get(step, {0, 10})->inputs.to_vector<float>());
  }
  for (const int workers : {0, 1, 2, 5}) {
    const auto loader = loader_with(dataset, texts, workers);
    for (std::int64_t step = 3; step < 12; ++step) {  // a run that resumes at step 3
      const auto batch = loader->get(step, {0, 10});
      ASSERT_TRUE(batch.ok());
      ASSERT_EQ(batch->inputs.to_vector<float>(), expected[static_cast<std::size_t>(step)])
          << workers << " workers, step " << step;
    }
    const auto part = loader->get(4, {6, 9});
    const std::vector<float> rows(expected[4].begin() + 6 * 432, expected[4].begin() + 9 * 432);
    EXPECT_EQ(part->inputs.to_vector<float>(), rows);
  }
}

TEST(LoaderTransforms, AnEpochSeesOtherCropsOfTheSameImage) {
  auto one = std::make_shared<Dataset>(*colored(50));
  one->keep_first(1);
  BatchLoaderOptions options{.seed = 6, .batch_size = 1, .workers = 0};
  options.transforms = std::make_shared<const Transforms>(parse({"crop:4"}));
  const auto loader =
      std::move(BatchLoader::make(std::shared_ptr<const Dataset>(one), options)).value();
  std::set<std::vector<float>> seen;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    seen.insert(loader->get(epoch, {0, 1})->inputs.to_vector<float>());
  }
  EXPECT_GT(seen.size(), 12U);
}

TEST(LoaderTransforms, EachChannelHasItsOwnMeanAndDeviation) {
  const auto dataset = colored(20);
  const BatchOptions options{
      .normalization = {.mean = {0.1, 0.2, 0.3}, .deviation = {0.5, 0.25, 2}}};
  const auto batch = make_batch(*dataset, 3, 4, options);
  ASSERT_TRUE(batch.ok());
  const ByteSpan pixels = dataset->image(3);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t c = i / 144;
    const double expected =
        (pixels[i] / 255.0 - options.normalization.mean[c]) / options.normalization.deviation[c];
    ASSERT_NEAR(batch->inputs.flat<float>()[i], expected, 1e-6);
  }
  EXPECT_FALSE(make_batch(*dataset, 0, 1, {.normalization = {{0, 0}, {1}}}).ok());
  EXPECT_FALSE(make_batch(*dataset, 0, 1, {.normalization = {{0}, {1, 1, 0}}}).ok());
}

}  // namespace
}  // namespace weft::transform_test
