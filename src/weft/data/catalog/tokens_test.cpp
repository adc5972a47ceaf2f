// Token datasets, the loader's orders and workers, and data with a known best result.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/data/batch_loader.h"
#include "weft/data/catalog.h"
#include "weft/data/synthetic.h"
#include "weft/data/text_file.h"

namespace weft::tokens_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Tokens 0, 1, 2, ..., so that a token says where it stands.
std::shared_ptr<const Dataset> counting(std::int64_t size, std::int64_t context) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i);
  Result<Dataset> made = make_token_dataset("counting", pack_tokens(tokens, size), size, context);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::make_shared<const Dataset>(std::move(*made));
}

std::unique_ptr<BatchLoader> loader_of(std::shared_ptr<const Dataset> dataset,
                                       const BatchLoaderOptions& options) {
  auto made = BatchLoader::make(std::move(dataset), options);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::move(made).value();
}

std::vector<std::int64_t> values(const Array& array) { return array.to_vector<std::int64_t>(); }

TEST(TokenSpan, AllWidthsHoldTheirTokens) {
  for (const std::int64_t vocabulary : {256, 257, 65536, 65537, 1 << 22}) {
    const std::vector<std::int32_t> tokens = {0, 1, static_cast<std::int32_t>(vocabulary - 1), 7};
    const TokenSpan span = pack_tokens(tokens, vocabulary);
    EXPECT_EQ(span.token_bytes, vocabulary <= 256 ? 1 : vocabulary <= 65536 ? 2 : 4);
    EXPECT_EQ(span.size(), 4);
    std::vector<std::int64_t> back(3);
    span.copy(1, back);
    EXPECT_THAT(back, ElementsAre(1, vocabulary - 1, 7));
  }
}

TEST(TokenDataset, LabelsAreTheNextTokensAndEachTokenIsALabelOnce) {
  const auto dataset = counting(31, 5);
  EXPECT_EQ(dataset->size, 6);
  std::set<std::int64_t> labels;
  for (std::int64_t i = 0; i < dataset->size; ++i) {
    const auto batch = make_batch(*dataset, i, i + 1, {});
    ASSERT_TRUE(batch.ok());
    EXPECT_EQ(batch->inputs.shape(), (Shape{1, 5}));
    for (std::size_t t = 0; t < 5; ++t) {
      EXPECT_EQ(values(batch->labels)[t], values(batch->inputs)[t] + 1);
      EXPECT_TRUE(labels.insert(values(batch->labels)[t]).second);
    }
  }
  EXPECT_EQ(labels.size(), 30U);
  EXPECT_FALSE(make_token_dataset("x", TokenSpan{}, 5, 1).ok());
  Dataset other = *dataset;
  EXPECT_FALSE(other.set_context(31).ok());
  EXPECT_FALSE(other.set_context(0).ok());
  ASSERT_TRUE(other.set_context(30).ok());
  EXPECT_EQ(other.size, 1);
}

TEST(TokenDataset, ATokenOutsideTheVocabularyIsNamedByTheBatchThatReadsIt) {
  const std::vector<std::int32_t> tokens = {1, 2, 3, 4, 99, 1, 2};
  Result<Dataset> dataset = make_token_dataset("bad", pack_tokens(tokens, 100), 50, 2);
  ASSERT_TRUE(dataset.ok());
  EXPECT_TRUE(make_batch(*dataset, 0, 1, {}).ok());
  EXPECT_EQ(make_batch(*dataset, 1, 2, {}).status().message(),
            "bad: token 4: expected a value below 50, got 99");
  const auto loader =
      loader_of(std::make_shared<const Dataset>(*dataset), {.batch_size = 3, .workers = 2});
  EXPECT_EQ(loader->get(0, {0, 3}).status().code(), Code::kCorrupt);
  EXPECT_EQ(loader->get(1, {0, 3}).status().code(), Code::kCorrupt);
}

// A recurrent model keeps its state only if each row goes on where it ended.
TEST(TokenOrders, StreamsGoOnFromStepToStep) {
  const auto loader =
      loader_of(counting(101, 5), {.batch_size = 4, .order = SampleOrder::kStreams, .workers = 2});
  EXPECT_EQ(loader->steps_per_epoch(), 5);
  std::vector<std::int64_t> last;
  for (std::int64_t step = 0; step < 12; ++step) {
    const auto batch = loader->get(step, {0, 4});
    ASSERT_TRUE(batch.ok());
    EXPECT_EQ(batch->continues, step % 5 != 0) << step;
    for (std::int64_t row = 0; row < 4; ++row) {
      const std::int64_t first = values(batch->inputs)[static_cast<std::size_t>(row * 5)];
      if (batch->continues) {
        EXPECT_EQ(first, last[static_cast<std::size_t>(row)]);
      }
      if (step == 0) {
        EXPECT_EQ(first, row * 25);
      }
    }
    last.clear();
    for (std::int64_t row = 0; row < 4; ++row) {
      last.push_back(values(batch->labels)[static_cast<std::size_t>(row * 5 + 4)]);
    }
  }
}

TEST(TokenOrders, RandomWindowsBeginAnywhereAndAreTheSameAgain) {
  const BatchLoaderOptions options{.seed = 5, .batch_size = 8, .order = SampleOrder::kRandom};
  const auto loader = loader_of(counting(100, 5), options);
  std::map<std::int64_t, int> starts;
  for (std::int64_t step = 0; step < 500; ++step) {
    const auto batch = loader->get(step, {0, 8});
    ASSERT_TRUE(batch.ok());
    for (std::size_t row = 0; row < 8; ++row) ++starts[values(batch->inputs)[row * 5]];
  }
  EXPECT_EQ(starts.size(), 95U);  // 0 to 94: a window needs six tokens
  EXPECT_EQ(starts.rbegin()->first, 94);
  double chi_squared = 0;  // 94 degrees of freedom: below 144 with probability 0.999
  for (const auto& [start, count] : starts) {
    const double mean = 4000.0 / 95;
    chi_squared += (count - mean) * (count - mean) / mean;
  }
  EXPECT_LT(chi_squared, 144);
  const auto again = loader_of(counting(100, 5), options);
  EXPECT_EQ(values(again->get(321, {2, 5})->inputs),
            values(loader->get(321, {0, 8})->inputs.slice(0, 2, 5)));
}

TEST(TokenOrders, NamesComeBack) {
  for (const SampleOrder order : {SampleOrder::kShuffled, SampleOrder::kSequential,
                                  SampleOrder::kRandom, SampleOrder::kStreams}) {
    EXPECT_EQ(*sample_order_from(to_string(order)), order);
  }
  EXPECT_FALSE(sample_order_from("sorted").ok());
}

// A maker that takes long for some batches, so that workers overtake each other.
BatchMaker slow_maker(std::shared_ptr<Atomic<int>> calls) {
  return [calls = std::move(calls)](std::span<const std::int64_t> indexes,
                                    std::int64_t epoch) -> Result<Batch> {
    ++*calls;
    Batch batch;
    batch.inputs = Array::from(std::vector<std::int64_t>(indexes.begin(), indexes.end()),
                               {static_cast<std::int64_t>(indexes.size())});
    batch.labels = Array::full({1}, static_cast<double>(epoch), DType::kI64);
    double waste = 0;
    for (std::int64_t i = 0; i < (indexes[0] % 3) * 100000; ++i) waste += std::sqrt(waste + 1);
    if (waste < 0) return internal_error("never");
    return batch;
  };
}

TEST(LoaderWorkers, AnyNumberGivesTheSameBatchesInTheSameOrder) {
  const auto calls = std::make_shared<Atomic<int>>(0);
  std::vector<std::vector<std::int64_t>> expected;
  for (const int workers : {0, 1, 2, 5}) {
    for (const int ahead : {1, 7}) {
      auto loader = BatchLoader::make(
          slow_maker(calls), 64, {.seed = 3, .batch_size = 4, .workers = workers, .ahead = ahead});
      ASSERT_TRUE(loader.ok());
      for (std::int64_t step = 0; step < 40; ++step) {
        const auto batch = (*loader)->get(step, {0, 4});
        ASSERT_TRUE(batch.ok());
        EXPECT_EQ(values(batch->labels)[0], step / 16);
        if (workers == 0 && ahead == 1) {
          expected.push_back(values(batch->inputs));
        } else {
          ASSERT_EQ(values(batch->inputs), expected[static_cast<std::size_t>(step)]);
        }
      }
    }
  }
}

TEST(LoaderWorkers, NoMoreIsMadeAheadThanAskedFor) {
  const auto calls = std::make_shared<Atomic<int>>(0);
  auto loader =
      BatchLoader::make(slow_maker(calls), 64, {.batch_size = 4, .workers = 2, .ahead = 3});
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->get(0, {0, 4}).ok());
  loader->reset();  // joins the workers
  EXPECT_LE(calls->load(), 4);
}

// Two readers of one loader do not disturb each other: there is no iterator that they share.
TEST(LoaderWorkers, TwoReadersOfOneLoaderSeeWhatTheyAskFor) {
  const auto calls = std::make_shared<Atomic<int>>(0);
  auto shared = BatchLoader::make(slow_maker(calls), 64, {.batch_size = 4, .workers = 2});
  auto alone = BatchLoader::make(slow_maker(calls), 64, {.batch_size = 4, .workers = 0});
  ASSERT_TRUE(shared.ok() && alone.ok());
  for (std::int64_t step = 0; step < 10; ++step) {
    for (const std::int64_t asked : {step, 2 * step, step}) {
      EXPECT_EQ(values((*shared)->get(asked, {0, 4})->inputs),
                values((*alone)->get(asked, {0, 4})->inputs));
    }
  }
}

TEST(LoaderWorkers, WhatGoesWrongReachesTheCallerAndOnlyForThatBatch) {
  for (const int workers : {0, 1, 3}) {
    const BatchMaker maker = [](std::span<const std::int64_t> indexes,
                                std::int64_t /*epoch*/) -> Result<Batch> {
      const std::int64_t step = indexes[0] / 2;
      if (step == 2) return corrupt("file: expected good bytes, got bad ones");
      if (step == 4) throw std::runtime_error("a fault");
      if (step == 6) throw 7;
      return Batch{};
    };
    auto loader = BatchLoader::make(
        maker, 20, {.batch_size = 2, .order = SampleOrder::kSequential, .workers = workers});
    ASSERT_TRUE(loader.ok());
    for (std::int64_t step = 0; step < 10; ++step) {
      const Status status = (*loader)->get(step, {0, 2}).status();
      if (step == 2) {
        EXPECT_EQ(status.code(), Code::kCorrupt);
      } else if (step == 4) {
        EXPECT_EQ(status.message(), "loader: step 4: a fault");
      } else if (step == 6) {
        EXPECT_EQ(status.code(), Code::kInternal);
      } else {
        EXPECT_TRUE(status.ok()) << status.to_string();
      }
    }
  }
}

TEST(LoaderWorkers, AnUnusedOrBusyLoaderEndsCleanly) {
  const auto calls = std::make_shared<Atomic<int>>(0);
  for (int i = 0; i < 50; ++i) {
    auto loader = BatchLoader::make(slow_maker(calls), 64, {.batch_size = 4, .workers = 4});
    ASSERT_TRUE(loader.ok());
    if (i % 2 == 0) {
      EXPECT_TRUE((*loader)->get(i, {0, 4}).ok());
    }
  }
  EXPECT_FALSE(BatchLoader::make(slow_maker(calls), 64, {.batch_size = 4, .workers = -1}).ok());
  EXPECT_FALSE(BatchLoader::make(slow_maker(calls), 64, {.batch_size = 4, .workers = 257}).ok());
}

TEST(PadSequences, RowsArePaddedAndLabelsIgnoreThePadding) {
  const std::vector<std::vector<std::int32_t>> sequences = {{5, 6, 7}, {8}, {1, 2}, {}};
  const Batch batch = pad_sequences(sequences, 0);
  EXPECT_EQ(batch.inputs.shape(), (Shape{4, 2}));
  EXPECT_THAT(values(batch.inputs), ElementsAre(5, 6, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(values(batch.labels), ElementsAre(6, 7, -100, -100, 2, -100, -100, -100));
  EXPECT_THAT(values(batch.lengths), ElementsAre(2, 0, 1, 0));
  EXPECT_EQ(pad_sequences({}, 0).inputs.shape(), (Shape{0, 0}));
}

class TokenFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             ("weft_tokens_" + std::to_string(::getpid()) + ".bin"))
                .string();
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(TokenFileTest, WrittenTokensAreMapped) {
  const std::vector<std::int32_t> tokens = {1, 70, 200, 3, 4, 5, 6};
  for (const std::int64_t width : {1, 2, 4}) {
    ASSERT_TRUE(write_token_file(path_, tokens, width).ok());
    EXPECT_EQ(std::filesystem::file_size(path_), 7U * static_cast<std::size_t>(width));
    const auto dataset =
        open_token_file(path_, {.token_bytes = width, .vocabulary = 201, .context = 3});
    ASSERT_TRUE(dataset.ok()) << dataset.status().to_string();
    EXPECT_EQ(dataset->size, 2);
    EXPECT_THAT(values(make_batch(*dataset, 0, 1, {})->inputs), ElementsAre(1, 70, 200));
  }
  const auto skipped = open_token_file(
      path_, {.token_bytes = 4, .vocabulary = 201, .context = 3, .header_bytes = 8});
  ASSERT_TRUE(skipped.ok());
  EXPECT_THAT(values(make_batch(*skipped, 0, 1, {})->inputs), ElementsAre(200, 3, 4));
}

TEST_F(TokenFileTest, WhatDoesNotFitIsRefused) {
  EXPECT_FALSE(write_token_file(path_, std::vector<std::int32_t>{256}, 1).ok());
  EXPECT_FALSE(write_token_file(path_, std::vector<std::int32_t>{-1}, 4).ok());
  EXPECT_FALSE(write_token_file(path_, std::vector<std::int32_t>{1}, 3).ok());
  EXPECT_EQ(open_token_file(path_, {}).status().code(), Code::kUnavailable);
  ASSERT_TRUE(write_file_atomically(path_, Bytes(7)).ok());
  EXPECT_EQ(open_token_file(path_, {}).status().message(),
            path_ + ": expected 0 bytes of header and then 2 bytes a token, got 7 bytes");
  EXPECT_FALSE(open_token_file(path_, {.header_bytes = 9}).ok());
  EXPECT_FALSE(open_token_file(path_, {.context = 3, .header_bytes = 7}).ok());
  ASSERT_TRUE(write_file_atomically(path_, Bytes()).ok());
  EXPECT_EQ(open_token_file(path_, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(open_token_file(std::filesystem::temp_directory_path().string(), {}).status().code(),
            Code::kUnavailable);
}

TEST(TextDataset, SplitsCutBetweenCharactersAndCoverTheText) {
  const std::string text =
      "ab\xC3\xA9"
      "cd\xC3\xA9"
      "e\xC3\xA9";  // 11 bytes, 8 characters
  const TextOptions options{.tokenizer = "character", .context = 1};
  const auto train = make_text_dataset("t", text, Split::kTrain, options);
  const auto rest = make_text_dataset("t", text, Split::kTest, options);
  ASSERT_TRUE(train.ok()) << train.status().to_string();
  EXPECT_EQ(train->vocabulary, 6);
  EXPECT_EQ(train->tokens.size(), 7);
  EXPECT_FALSE(rest.ok());  // one character is no window
  EXPECT_EQ(*train->tokenizer->decode(std::vector<std::int32_t>{5, 0}),
            "\xC3\xA9"
            "a");
  EXPECT_DOUBLE_EQ(train->characters_per_token, 1.0);
  const auto bytes =
      make_text_dataset("t", text, Split::kTrain, {.tokenizer = "byte", .context = 1});
  ASSERT_TRUE(bytes.ok());
  EXPECT_DOUBLE_EQ(bytes->characters_per_token, 7.0 / 9.0);
  EXPECT_THAT(make_text_dataset("t", "a\xFF", Split::kTrain, options).status().message(),
              HasSubstr("t: expected UTF-8, got byte ff at offset 1"));
  EXPECT_FALSE(make_text_dataset("t", text, Split::kTrain, {.tokenizer = "words"}).ok());
  EXPECT_FALSE(make_text_dataset("t", text, Split::kTrain, {.tokenizer = "./none.json"}).ok());
}

TEST(TextDataset, BpeIsTrainedOnTheText) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "the cat sat on the mat. ";
  const auto train =
      make_text_dataset("t", text, Split::kTrain, {.tokenizer = "bpe:270", .context = 4});
  ASSERT_TRUE(train.ok()) << train.status().to_string();
  EXPECT_LE(train->vocabulary, 270);
  EXPECT_GT(train->vocabulary, 256);
  EXPECT_GT(train->characters_per_token, 2.0);
  EXPECT_LT(train->tokens.size(), 1000);
  for (const char* name : {"bpe:", "bpe:12", "bpe:9999999999", "bpe:300x"}) {
    EXPECT_EQ(make_text_dataset("t", text, Split::kTrain, {.tokenizer = name}).status().code(),
              Code::kInvalidArgument)
        << name;
  }
}

TEST(TextDataset, TextsOfPackagesAreWhole) {
  for (const char* name : {"jargon", "devil"}) {
    const auto report = find_dataset(name, {});
    ASSERT_TRUE(report.ok());
    if (!report->found) GTEST_SKIP() << data_get_text(*report);
    const auto files = check_dataset(name, {});
    ASSERT_TRUE(files.ok());
    for (const FileReport& file : *files) EXPECT_TRUE(file.status.ok()) << file.status.to_string();
    const auto train = open_dataset(name, Split::kTrain, {}, {.context = 64});
    ASSERT_TRUE(train.ok()) << train.status().to_string();
    EXPECT_GT(train->vocabulary, 60);
    const auto batch = make_batch(*train, 0, 1, {});
    ASSERT_TRUE(batch.ok());
    std::vector<std::int32_t> tokens;
    for (const std::int64_t token : values(batch->inputs)) {
      tokens.push_back(static_cast<std::int32_t>(token));
    }
    EXPECT_THAT(*train->tokenizer->decode(tokens), HasSubstr("00-database"));
  }
}

// The cosines of the ten classes for 3x16x20 images, each of length 1.
std::vector<std::vector<double>> unit_cosines() {
  constexpr int kFrequencies[10][2] = {{1, 1}, {1, 2}, {2, 1}, {1, 3}, {2, 2},
                                       {3, 1}, {1, 4}, {2, 3}, {3, 2}, {4, 1}};
  std::vector<std::vector<double>> all;
  for (const auto& [u, v] : kFrequencies) {
    std::vector<double> waves;
    double squares = 0;
    for (int p = 0; p < 960; ++p) {
      const int y = p / 20 % 16;
      const int x = p % 20;
      waves.push_back(std::cos(M_PI * (y + 0.5) * u / 16) * std::cos(M_PI * (x + 0.5) * v / 20));
      squares += waves.back() * waves.back();
    }
    for (double& wave : waves) wave /= std::sqrt(squares);
    all.push_back(std::move(waves));
  }
  return all;
}

// The classifier that the formula speaks of, applied to the data.
TEST(GaussianImages, TheBestClassifierIsAsGoodAsTheFormulaSays) {
  const auto cosines = unit_cosines();
  for (const double noise : {0.0, 0.2}) {
    const GaussianImageOptions options{.seed = 3,
                                       .size = 4000,
                                       .channels = 3,
                                       .height = 16,
                                       .width = 20,
                                       .classes = 10,
                                       .separation = 3.0,
                                       .label_noise = noise};
    const auto data = make_gaussian_images(options, Split::kTest);
    ASSERT_TRUE(data.ok());
    int right = 0;
    for (std::int64_t i = 0; i < data->size; ++i) {
      std::size_t best = 0;
      double best_product = -1e300;
      for (std::size_t k = 0; k < 10; ++k) {
        double product = 0;
        for (std::size_t p = 0; p < 960; ++p) product += data->image(i)[p] * cosines[k][p];
        if (product > best_product) {
          best_product = product;
          best = k;
        }
      }
      right += static_cast<std::int64_t>(best) == data->label(i) ? 1 : 0;
    }
    const double accuracy = right / 4000.0;
    const double bound = bayes_accuracy(10, 3.0, noise);
    EXPECT_NEAR(accuracy, bound, 0.025);  // three deviations of 4,000 samples
  }
}

TEST(GaussianImages, TheFormulaHasItsKnownValues) {
  EXPECT_NEAR(bayes_accuracy(10, 0.0, 0.0), 0.1, 1e-9);
  // Two classes: Phi(d / sqrt(2)).
  EXPECT_NEAR(bayes_accuracy(2, 2.0, 0.0), 0.5 * std::erfc(-1.0), 1e-9);
  EXPECT_NEAR(bayes_accuracy(10, 16.0, 0.3), 0.7 + 0.03, 1e-9);
  EXPECT_FALSE(make_gaussian_images({.classes = 1}, Split::kTrain).ok());
  EXPECT_FALSE(make_gaussian_images({.height = 8}, Split::kTrain).ok());
  EXPECT_FALSE(make_gaussian_images({.size = 1 << 30}, Split::kTrain).ok());
}

TEST(MarkovText, CountedEntropyIsTheOneThatIsStated) {
  const MarkovOptions options{.seed = 9, .size = 2000000, .vocabulary = 8, .order = 2};
  const auto train = make_markov_text(options, Split::kTrain);
  ASSERT_TRUE(train.ok());
  std::map<std::vector<std::int64_t>, std::map<std::int64_t, double>> counts;
  std::vector<std::int64_t> tokens(2000000);
  train->dataset.tokens.copy(0, tokens);
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    ++counts[{tokens[i - 2], tokens[i - 1]}][tokens[i]];
  }
  double bits = 0;
  double all = 0;
  for (const auto& [state, next] : counts) {
    double sum = 0;
    for (const auto& [token, count] : next) sum += count;
    for (const auto& [token, count] : next) bits -= count * std::log2(count / sum);
    all += sum;
  }
  EXPECT_EQ(counts.size(), 64U);
  EXPECT_NEAR(bits / all, train->entropy_bits, 0.002);
  EXPECT_LT(train->entropy_bits, 2.95);
  const auto plain = make_markov_text(
      {.size = 100, .vocabulary = 4, .order = 1, .sharpness = 0, .context = 8}, Split::kTest);
  ASSERT_TRUE(plain.ok());
  EXPECT_NEAR(plain->entropy_bits, 2.0, 1e-12);
  EXPECT_FALSE(make_markov_text({.vocabulary = 256, .order = 3}, Split::kTrain).ok());
}

}  // namespace
}  // namespace weft::tokens_test
