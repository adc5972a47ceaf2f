// Checkpoints that are served: inputs as in training, batches, texts side by side.
#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/nn/zoo.h"
#include "weft/op/shape.h"
#include "weft/serve/model_thread.h"
#include "weft/serve/test_checkpoint.h"
#include "weft/serve/text_generator.h"
#include "weft/train/wiring.h"

namespace weft::model_test {
namespace {

using testing::ElementsAre;

PredictRows rows_of(const std::vector<float>& values, std::int64_t features) {
  return {static_cast<std::int64_t>(values.size()) / features, values, ""};
}

TEST(ServedModel, ImagesBecomeWhatTheyWereInTraining) {
  const TestFolder folder;
  const auto checkpoint = make_test_checkpoint(folder, kImageRecipe);
  const auto model = load_served(checkpoint->path);
  EXPECT_EQ(model->name(), "images");
  EXPECT_THAT(model->input_sizes(), ElementsAre(1, 28, 28));
  EXPECT_TRUE(model->row_rule().pixels);
  EXPECT_EQ(model->row_rule().features, 784);

  const Trainer& trainer = *checkpoint->trainer;
  const auto data = open_recipe_dataset(trainer.recipe(), Split::kTest, {});
  ASSERT_TRUE(data.ok());
  std::vector<float> pixels;
  for (std::int64_t i = 0; i < 3; ++i) {
    pixels.insert(pixels.end(), data->image(i).begin(), data->image(i).end());
  }
  const auto inputs = model->prepare(rows_of(pixels, 784));
  ASSERT_TRUE(inputs.ok());
  const auto batch = make_batch(*data, 0, 3, {.normalization = {data->mean, data->deviation}});
  EXPECT_EQ(inputs->to_vector<float>(), batch->inputs.to_vector<float>());

  const auto outputs = model->predict(*inputs);
  ASSERT_TRUE(outputs.ok());
  checkpoint->trainer->model().train(false);
  const NoGrad no_grad;
  EXPECT_EQ(outputs->values,
            checkpoint->trainer->model().forward(Tensor(batch->inputs)).array().to_vector<float>());
}

TEST(ServedModel, RowsAreNormalisedAsTheTrainingRowsWere) {
  const TestFolder folder;
  std::string table = "a,b,c,class\n";
  for (int i = 0; i < 40; ++i) {
    table += std::to_string(i * 3) + "," + std::to_string(100 - i * i) + ",5," +
             std::to_string(i % 2) + "\n";
  }
  const std::string path = folder.write("rows.csv", table);
  const auto checkpoint = make_test_checkpoint(folder,
                                               "[model]\nname = \"mlp\"\nhidden_units = 8\n[data]\n"
                                               "name = \"rows\"\npath = \"" +
                                                   path + "\"\n[run]\nglobal_batch = 4\n");
  const auto model = load_served(checkpoint->path);
  EXPECT_FALSE(model->row_rule().pixels);
  const auto data = open_recipe_dataset(checkpoint->trainer->recipe(), Split::kTrain, {});
  ASSERT_TRUE(data.ok());
  const auto inputs = model->prepare(rows_of({0, 100, 5, 21, 51, 5}, 3));
  ASSERT_TRUE(inputs.ok());
  const std::vector<float> all = data->rows.contiguous().to_vector<float>();
  const std::vector<float> wanted = {all[0], all[1], all[2], all[21], all[22], all[23]};
  EXPECT_EQ(inputs->to_vector<float>(), wanted);
  // The closed form of the first column: 0, 3, ..., 105 of the 36 training rows.
  EXPECT_NEAR(inputs->to_vector<float>()[0], -52.5 / (3 * std::sqrt((36.0 * 36.0 - 1) / 12)), 1e-5);
  EXPECT_EQ(inputs->to_vector<float>()[2], 0.0F);
}

TEST(ServedModel, SaysWhatIsWrongWithAFile) {
  const TestFolder folder;
  EXPECT_EQ(ServedModel::load(folder.path("none"), {}).status().code(), Code::kUnavailable);
  EXPECT_EQ(ServedModel::load(folder.write("bad", "no checkpoint"), {}).status().code(),
            Code::kCorrupt);
}

// Answers of a model thread by job, once there are `count`.
std::map<std::uint64_t, std::vector<JobAnswer>> collect(ModelThread& thread, Guarded<int>& woken,
                                                        std::size_t count) {
  const SystemClock clock;
  const TimePoint deadline = clock.now() + std::chrono::seconds(60);
  std::map<std::uint64_t, std::vector<JobAnswer>> answers;
  for (std::size_t got = 0; got < count;) {
    while (auto answer = thread.take()) {
      answers[answer->id.value()].push_back(std::move(*answer));
      ++got;
    }
    if (got == count) break;
    const bool more = woken.wait_until(deadline, [](int& times) { return times > 0; });
    EXPECT_TRUE(more) << "no more answers behind " << got;
    if (!more) break;
    woken.with([](int& times) { times = 0; });
  }
  return answers;
}

class BatchTest : public testing::Test {
 protected:
  Array inputs(std::int64_t rows, float first) {
    std::vector<float> values(static_cast<std::size_t>(rows) * 784);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::fmod(first + static_cast<float>(i % 97) * 3, 256.0F);
    }
    return *model_->prepare({rows, values, ""});
  }

  TestFolder folder_;
  std::unique_ptr<TestCheckpoint> checkpoint_ = make_test_checkpoint(folder_, kImageRecipe);
  std::unique_ptr<ServedModel> model_ = load_served(checkpoint_->path);
  std::unique_ptr<ServedModel> alone_ = load_served(checkpoint_->path);
};

TEST_F(BatchTest, RequestsShareABatchInOrderAndGetTheirOwnRows) {
  const std::vector<std::int64_t> sizes = {1, 3, 2, 1, 5, 9, 1, 20, 1};
  Guarded<int> woken;
  ModelThread thread(*model_, {.batch_max = 8, .batch_wait = std::chrono::milliseconds(50)},
                     [&] { woken.with([](int& times) { ++times; }); });
  std::vector<Array> all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    all.push_back(inputs(sizes[i], static_cast<float>(i * 11)));
    ASSERT_TRUE(thread.submit({JobId(i), all.back()}));
  }
  const auto answers = collect(thread, woken, sizes.size());
  std::vector<std::int64_t> batches;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(answers.at(i).size(), 1U);
    const auto& outputs = std::get<PredictOutputs>(answers.at(i)[0].result);
    const auto wanted = alone_->predict(all[i]);
    ASSERT_EQ(outputs.rows, sizes[i]);
    ASSERT_EQ(outputs.columns, 10);
    for (std::size_t k = 0; k < outputs.values.size(); ++k) {
      ASSERT_NEAR(outputs.values[k], wanted->values[k], 1e-4) << i;
    }
    if (answers.at(i)[0].batch_rows > 0) batches.push_back(answers.at(i)[0].batch_rows);
  }
  // 1+3+2+1 (5 do not fit), 5, 9, 1, 20, 1: none is larger than asked but of one request alone.
  EXPECT_THAT(batches, ElementsAre(7, 5, 9, 1, 20, 1));
}

TEST_F(BatchTest, AFullQueueRefusesAndACancelledJobGetsNoAnswer) {
  const SystemClock clock;
  const TimePoint deadline = clock.now() + std::chrono::seconds(60);
  Guarded<int> woken;
  Guarded<bool> released(false);
  // The model's thread stands still where it tells its first answer, until released.
  ModelThread thread(*model_, {.batch_max = 4, .queue_max = 2}, [&] {
    woken.with([](int& times) { ++times; });
    released.wait_until(deadline, [](bool& on) { return on; });
  });
  ASSERT_TRUE(thread.submit({JobId(0), inputs(1, 0)}));
  ASSERT_TRUE(woken.wait_until(deadline, [](int& times) { return times > 0; }));
  Job cancelled{JobId(1), inputs(3, 0)};
  cancelled.cancelled->store(true);
  EXPECT_TRUE(thread.submit(std::move(cancelled)));
  EXPECT_TRUE(thread.submit({JobId(2), inputs(3, 0)}));
  EXPECT_EQ(thread.waiting(), 2U);
  EXPECT_FALSE(thread.submit({JobId(3), inputs(3, 0)}));
  released.with([](bool& on) { on = true; });
  const auto answers = collect(thread, woken, 2);
  EXPECT_TRUE(answers.contains(0));
  EXPECT_TRUE(answers.contains(2));
  EXPECT_FALSE(answers.contains(1));
}

TEST(DrawToken, FollowsTheSoftmaxOfTheLogits) {
  const std::vector<float> logits = {0.0F, 1.0F, 3.0F, 3.0F};
  Rng rng(5);
  EXPECT_EQ(*draw_token(logits, 0, rng), 2);
  for (const double temperature : {0.5, 1.0, 2.0}) {
    std::vector<double> counts(4);
    constexpr int kDraws = 40000;
    for (int i = 0; i < kDraws; ++i) {
      counts[static_cast<std::size_t>(*draw_token(logits, temperature, rng))] += 1.0 / kDraws;
    }
    double sum = 0;
    for (const float value : logits) sum += std::exp(value / temperature);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(counts[i], std::exp(logits[i] / temperature) / sum, 0.012);
    }
  }
  EXPECT_EQ(*draw_token(logits, 1e-9, rng) / 2, 1);
  const std::vector<float> broken = {0.0F, std::nanf("")};
  EXPECT_EQ(draw_token(broken, 1, rng).status().code(), Code::kInternal);
}

// What forward() of the whole text so far says each time, without a cache.
std::vector<std::int32_t> greedy(Module& model, std::vector<std::int64_t> text, int count) {
  const NoGrad no_grad;
  std::vector<std::int32_t> made;
  for (int i = 0; i < count; ++i) {
    const auto length = static_cast<std::int64_t>(text.size());
    const Array logits = model.forward(Tensor(Array::from(text, {1, length}))).array().contiguous();
    const std::int64_t vocabulary = logits.dim(2);
    const float* last = logits.data<float>() + (length - 1) * vocabulary;
    made.push_back(static_cast<std::int32_t>(std::max_element(last, last + vocabulary) - last));
    text.push_back(made.back());
  }
  return made;
}

class TextTest : public testing::TestWithParam<const char*> {
 protected:
  using Texts = std::map<std::uint64_t, std::vector<std::int32_t>>;

  static CompletionRequest request(const std::string& prompt, std::int64_t tokens,
                                   double temperature, std::uint64_t seed) {
    CompletionRequest made;
    made.prompt.assign(prompt.begin(), prompt.end());
    made.max_tokens = tokens;
    made.temperature = temperature;
    made.seed = seed;
    return made;
  }

  // Generates the requests, each added before step starts[i].
  Texts generate(const std::vector<CompletionRequest>& requests, const std::vector<int>& starts) {
    TextGenerator generator(model_->language_model());
    Texts texts;
    for (int step = 0; step < 80; ++step) {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (starts[i] == step) {
          generator.add(JobId(i), requests[i], std::make_shared<Atomic<bool>>(false));
        }
      }
      generator.step([&](const JobAnswer& answer) {
        texts[answer.id.value()].push_back(std::get<NextToken>(answer.result).token);
      });
    }
    EXPECT_EQ(generator.active(), 0U);
    return texts;
  }

  TestFolder folder_;
  std::unique_ptr<TestCheckpoint> checkpoint_ = make_test_checkpoint(
      folder_, text_recipe(folder_.write("text.txt", test_text()), GetParam()));
  std::unique_ptr<ServedModel> model_ = load_served(checkpoint_->path);
};

TEST_P(TextTest, TheLikeliestTokensAreThoseOfTheWholeText) {
  const auto texts = generate({request("the quick", 20, 0, 0)}, {0});
  std::vector<std::int64_t> prompt;
  for (const char byte : std::string("the quick")) prompt.push_back(byte);
  EXPECT_EQ(texts.at(0), greedy(model_->language_model(), prompt, 20));
}

TEST_P(TextTest, ATextIsTheSameWhateverIsGeneratedBesideIt) {
  const std::vector<CompletionRequest> all = {
      request("the", 30, 1, 1), request("a longer prompt than the other", 10, 0.7, 2),
      request("x", 40, 1.5, 3), request("the", 30, 1, 1), request("the", 30, 1, 4)};
  const Texts together = generate(all, {0, 0, 3, 7, 7});
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(together.at(i), generate({all[i]}, {0}).at(0)) << i;
    EXPECT_EQ(static_cast<std::int64_t>(together.at(i).size()), all[i].max_tokens);
  }
  EXPECT_EQ(together.at(0), together.at(3));
  EXPECT_NE(together.at(0), together.at(4));
}

TEST_P(TextTest, ACancelledTextStops) {
  TextGenerator generator(model_->language_model());
  const auto cancelled = std::make_shared<Atomic<bool>>(false);
  generator.add(JobId(1), request("a", 30, 1, 1), cancelled);
  int tokens = 0;
  const auto count = [&](const JobAnswer& /*answer*/) { ++tokens; };
  generator.step(count);
  generator.step(count);
  cancelled->store(true);
  generator.step(count);
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(generator.active(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Models, TextTest, testing::Values("char_gpt", "llama", "lstm_lm"));

}  // namespace
}  // namespace weft::model_test
