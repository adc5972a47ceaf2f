#include "weft/data/catalog.h"

#include <array>
#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>
#include <unistd.h>

#include "weft/base/file.h"

namespace weft::catalog_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CatalogTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        (std::filesystem::temp_directory_path() / ("weft_catalog_" + std::to_string(::getpid())))
            .string();
    std::filesystem::create_directories(folder_ + "/mnist");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, Bytes header, std::size_t values) {
    header.resize(header.size() + values, 3);
    ASSERT_TRUE(write_file_atomically(folder_ + "/mnist/" + name, header).ok());
  }
  void write_all() {
    write("train-images-idx3-ubyte", {0, 0, 8, 3, 0, 0, 0xEA, 0x60, 0, 0, 0, 28, 0, 0, 0, 28},
          60000 * 784);
    write("train-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0xEA, 0x60}, 60000);
    write("t10k-images-idx3-ubyte", {0, 0, 8, 3, 0, 0, 0x27, 0x10, 0, 0, 0, 28, 0, 0, 0, 28},
          10000 * 784);
    write("t10k-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0x27, 0x10}, 10000);
  }
  DataPlaces places() const { return {.data_dir = folder_, .home = ""}; }

  std::string folder_;
};

TEST_F(CatalogTest, UnknownNamesListTheKnownOnes) {
  const auto opened = open_dataset("fashon", Split::kTrain, {});
  EXPECT_EQ(opened.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(opened.status().message(),
            "dataset: expected one of cifar10, cifar100, devil, fashion-mnist, gaussian, jargon, "
            "kjv, markov, mnist, synthetic, got \"fashon\"");
  EXPECT_THAT(open_dataset("mnits", Split::kTrain, {}).status().message(),
              HasSubstr("got \"mnits\"; did you mean \"mnist\"?"));
  EXPECT_FALSE(find_dataset("", {}).ok());
  EXPECT_FALSE(check_dataset("x", {}).ok());
}

TEST_F(CatalogTest, MissingFilesAreExplainedWithTheRemedy) {
  const auto opened = open_dataset("mnist", Split::kTrain, places());
  EXPECT_EQ(opened.status().code(), Code::kUnavailable);
  EXPECT_THAT(opened.status().message(), HasSubstr("put train-images-idx3-ubyte"));
  EXPECT_THAT(opened.status().message(), HasSubstr("`weft data get mnist` shows where"));
  EXPECT_THAT(opened.status().message(), HasSubstr("into " + folder_ + "/mnist"));
  const auto report = find_dataset("mnist", places());
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->found);
  EXPECT_THAT(data_get_text(*report), HasSubstr("mnist: not found; put "));
  EXPECT_THAT(data_get_text(*report), HasSubstr("  9912422 bytes, SHA-256 440fcabf73cc546f"));
  EXPECT_THAT(data_get_text(*report), HasSubstr("put them into " + folder_ + "/mnist"));
}

TEST(Catalog, SaysWhereMissingFilesAreOfferedAndWhatToDoWithThem) {
  const DataPlaces nowhere = {.data_dir = "/nowhere", .home = ""};
  const std::string cifar = data_get_text(*find_dataset("cifar10", nowhere));
  EXPECT_THAT(cifar,
              HasSubstr("its makers describe it at https://www.cs.toronto.edu/~kriz/cifar.html\n"));
  EXPECT_THAT(cifar, HasSubstr("  https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz\n"));
  EXPECT_THAT(cifar, HasSubstr("tar -xzf cifar-10-binary.tar.gz -C /nowhere/cifar10\n"));
  for (const DatasetReport& report : list_datasets(nowhere)) {
    if (report.found) continue;
    EXPECT_THAT(data_get_text(report), HasSubstr("weft data check " + report.name)) << report.name;
  }
}

TEST_F(CatalogTest, FilesInTheGivenFolderAreOpenedAndChecked) {
  write_all();
  const auto opened = open_dataset("mnist", Split::kTest, places());
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_EQ(opened->size, 10000);
  EXPECT_EQ(opened->label(9999), 3);
  EXPECT_EQ(opened->image(0).size(), 784U);
  const auto files = check_dataset("mnist", places());
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 4U);
  for (const FileReport& file : *files) EXPECT_TRUE(file.status.ok()) << file.status.to_string();
  EXPECT_THAT(data_check_text("mnist", *files), HasSubstr("no checksum known"));
  EXPECT_THAT(data_list_text(list_datasets(places())), HasSubstr("found in " + folder_ + "/mnist"));
}

TEST_F(CatalogTest, OneFolderIsOpenedByItsPath) {
  const std::string folder = folder_ + "/mnist";
  const auto nothing = open_dataset_in("mnist", Split::kTest, folder);
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->has_value());
  write_all();
  const auto opened = open_dataset_in("mnist", Split::kTest, folder);
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  ASSERT_TRUE(opened->has_value());
  EXPECT_EQ((*opened)->size, 10000);
  EXPECT_EQ(open_dataset_in("synthetic", Split::kTest, folder).status().code(),
            Code::kInvalidArgument);
  write("t10k-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0x27, 0x0F}, 9999);
  EXPECT_EQ(open_dataset_in("mnist", Split::kTest, folder).status().code(), Code::kCorrupt);
}

TEST(Catalog, SaysWhereItLooksAndWhatIsOffered) {
  const DataPlaces places = {.data_dir = "/a", .home = "/b"};
  EXPECT_THAT(*dataset_folders("cifar10", places),
              ElementsAre("/a/cifar10", "/a/cifar10/cifar-10-batches-bin", "/b/.cache/weft/cifar10",
                          "/b/.cache/weft/cifar10/cifar-10-batches-bin"));
  EXPECT_THAT(*dataset_folders("synthetic", places), IsEmpty());
  EXPECT_EQ(dataset_folders("x", places).status().code(), Code::kInvalidArgument);
  const auto offered = dataset_downloads("mnist");
  ASSERT_TRUE(offered.ok());
  ASSERT_EQ(offered->size(), 4U);
  EXPECT_EQ(offered->front().bytes, 9912422);
  EXPECT_EQ(offered->front().sha256.size(), 64U);
  EXPECT_THAT(*dataset_downloads("jargon"), IsEmpty());
  EXPECT_THAT(*dataset_downloads("markov"), IsEmpty());
  EXPECT_FALSE(dataset_downloads("x").ok());
}

TEST_F(CatalogTest, DamagedFilesAreNamed) {
  write_all();
  write("t10k-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0x27, 0x0F}, 9999);
  auto opened = open_dataset("mnist", Split::kTest, places());
  EXPECT_EQ(opened.status().code(), Code::kCorrupt);
  EXPECT_THAT(opened.status().message(),
              HasSubstr("t10k-labels-idx1-ubyte: labels: expected [10000], got [9999]"));
  write("t10k-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0x27, 0x10, 10}, 9999);
  opened = open_dataset("mnist", Split::kTest, places());
  EXPECT_THAT(opened.status().message(), HasSubstr("expected values below 10, got 10"));
  write("t10k-images-idx3-ubyte", {0, 0, 8, 3, 0, 0, 0x27, 0x10, 0, 0, 0, 28, 0, 0, 0, 27},
        10000 * 28 * 27);
  opened = open_dataset("mnist", Split::kTest, places());
  EXPECT_THAT(opened.status().message(),
              HasSubstr("images: expected [10000, 28, 28], got [10000, 28, 27]"));
  const auto files = check_dataset("mnist", places());
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(data_check_text("mnist", *files), HasSubstr("BAD  corrupt: " + folder_));
}

// `bytes` as a gzip file.
Bytes gzipped(ByteSpan bytes) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(1);
  Bytes packed(libdeflate_gzip_compress_bound(compressor, bytes.size()));
  packed.resize(libdeflate_gzip_compress(compressor, bytes.data(), bytes.size(), packed.data(),
                                         packed.size()));
  libdeflate_free_compressor(compressor);
  return packed;
}

TEST_F(CatalogTest, Cifar10IsReadFromItsSixBatches) {
  const auto message = open_dataset("cifar10", Split::kTest, places()).status().message();
  EXPECT_THAT(message, HasSubstr("expected its 7 files in one of " + folder_ + "/cifar10, "));
  EXPECT_THAT(message, HasSubstr("test_batch.bin and batches.meta.txt (plain or .gz) into"));
  const std::string inner = folder_ + "/cifar10/cifar-10-batches-bin/";
  std::filesystem::create_directories(inner);
  Bytes batch;
  for (std::size_t i = 0; i < 10000; ++i) {
    batch.push_back(static_cast<std::uint8_t>(i % 10));
    batch.insert(batch.end(), 3072, static_cast<std::uint8_t>(i % 251));
  }
  const Bytes packed = gzipped(batch);
  for (const char* name : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                           "data_batch_5", "test_batch"}) {
    ASSERT_TRUE(write_file_atomically(inner + name + ".bin.gz", packed).ok());
  }
  const std::string_view names =
      "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";
  ASSERT_TRUE(write_file_atomically(inner + "batches.meta.txt", as_bytes(names)).ok());
  const auto train = open_dataset("cifar10", Split::kTrain, places());
  ASSERT_TRUE(train.ok()) << train.status().to_string();
  EXPECT_EQ(train->size, 50000);
  EXPECT_EQ(train->channels, 3);
  EXPECT_EQ(train->mean.size(), 3U);
  EXPECT_EQ(train->class_names[9], "truck");
  EXPECT_EQ(train->label(10003), 3);
  EXPECT_EQ(train->image(10003)[3071], 3);
  batch[3073] = 10;
  ASSERT_TRUE(write_file_atomically(inner + "test_batch.bin.gz", gzipped(batch)).ok());
  EXPECT_THAT(open_dataset("cifar10", Split::kTest, places()).status().message(),
              HasSubstr("test_batch.bin.gz: record 1: expected a label below 10, got 10"));
}

TEST(Catalog, ComputedSetsSayWhatIsBest) {
  EXPECT_THAT(find_dataset("gaussian", {})->description, HasSubstr("the best accuracy is 0."));
  EXPECT_THAT(find_dataset("markov", {})->description, HasSubstr("the least loss is "));
  const auto markov = open_dataset("markov", Split::kTest, {}, {.context = 32});
  ASSERT_TRUE(markov.ok());
  EXPECT_EQ(markov->context, 32);
  EXPECT_EQ(markov->vocabulary, 16);
}

TEST(Catalog, FashionMnistOfThePackageIsWhole) {
  const auto report = find_dataset("fashion-mnist", {});
  ASSERT_TRUE(report.ok());
  if (!report->found) GTEST_SKIP() << data_get_text(*report);
  const auto files = check_dataset("fashion-mnist", {});
  ASSERT_TRUE(files.ok());
  for (const FileReport& file : *files) EXPECT_TRUE(file.status.ok()) << file.status.to_string();
  const auto train = open_dataset("fashion-mnist", Split::kTrain, {});
  ASSERT_TRUE(train.ok());
  std::array<int, 10> counts{};
  for (std::int64_t i = 0; i < train->size; ++i)
    ++counts[static_cast<std::size_t>(train->label(i))];
  EXPECT_THAT(counts, testing::Each(6000));
  double sum = 0;
  double squares = 0;
  for (const std::uint8_t pixel : train->images.span()) {
    sum += pixel / 255.0;
    squares += (pixel / 255.0) * (pixel / 255.0);
  }
  const auto pixels = static_cast<double>(train->images.size());
  EXPECT_NEAR(sum / pixels, train->mean[0], 5e-5);
  EXPECT_NEAR(std::sqrt(squares / pixels - sum / pixels * sum / pixels), train->deviation[0], 5e-5);
}

TEST(Synthetic, SplitsShareThePatternsAndNotTheNoise) {
  const auto train = make_synthetic_dataset({.seed = 5, .size = 500}, Split::kTrain);
  const auto again = make_synthetic_dataset({.seed = 5, .size = 500}, Split::kTrain);
  const auto test = make_synthetic_dataset({.seed = 5, .size = 500}, Split::kTest);
  ASSERT_TRUE(train.ok() && again.ok() && test.ok());
  EXPECT_TRUE(std::ranges::equal(train->images.span(), again->images.span()));
  EXPECT_FALSE(std::ranges::equal(train->images.span(), test->images.span()));
  // The nearest class mean of the training images labels the test images.
  std::vector<std::vector<double>> means(10, std::vector<double>(784));
  std::vector<double> counts(10);
  for (std::int64_t i = 0; i < train->size; ++i) {
    const auto label = static_cast<std::size_t>(train->label(i));
    ++counts[label];
    for (std::size_t p = 0; p < 784; ++p) means[label][p] += train->image(i)[p];
  }
  int right = 0;
  for (std::int64_t i = 0; i < test->size; ++i) {
    std::size_t best = 0;
    double best_distance = 1e300;
    for (std::size_t label = 0; label < 10; ++label) {
      double distance = 0;
      for (std::size_t p = 0; p < 784; ++p) {
        const double difference = means[label][p] / counts[label] - test->image(i)[p];
        distance += difference * difference;
      }
      if (distance < best_distance) {
        best_distance = distance;
        best = label;
      }
    }
    right += static_cast<std::int64_t>(best) == test->label(i) ? 1 : 0;
  }
  EXPECT_EQ(right, 500);
}

TEST(Catalog, KnowsImagesWithoutTheirFiles) {
  const std::optional<Dataset> known = known_images("fashion-mnist");
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->image_bytes(), 784);
  EXPECT_EQ(known->classes, 10);
  EXPECT_EQ(known->size, 0);
  EXPECT_NEAR(known->mean[0], 0.286, 1e-3);
  EXPECT_EQ(known_images("cifar10")->mean.size(), 3U);
  EXPECT_FALSE(known_images("jargon").has_value());
  EXPECT_FALSE(known_images("synthetic").has_value());
}

TEST(Synthetic, StatisticsAreAsDeclaredAndBadSizesAreRefused) {
  const auto data = make_synthetic_dataset({.seed = 1, .size = 1000}, Split::kTrain);
  ASSERT_TRUE(data.ok());
  double sum = 0;
  double squares = 0;
  for (const std::uint8_t pixel : data->images.span()) {
    sum += pixel / 255.0;
    squares += (pixel / 255.0) * (pixel / 255.0);
  }
  const auto pixels = static_cast<double>(data->images.size());
  EXPECT_NEAR(sum / pixels, data->mean[0], 0.02);
  EXPECT_NEAR(std::sqrt(squares / pixels - sum / pixels * sum / pixels), data->deviation[0], 0.01);
  EXPECT_EQ(make_synthetic_dataset({.size = 0}, Split::kTrain).status().code(),
            Code::kInvalidArgument);
  EXPECT_FALSE(make_synthetic_dataset({.size = 1 << 30}, Split::kTrain).ok());
  EXPECT_FALSE(make_synthetic_dataset({.classes = 257}, Split::kTrain).ok());
}

}  // namespace
}  // namespace weft::catalog_test
