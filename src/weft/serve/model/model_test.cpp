// Checkpoints that are served: inputs as in training, and batches.
#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/nn/zoo.h"
#include "weft/op/shape.h"
#include "weft/serve/model/model_thread.h"
#include "weft/serve/model/test_checkpoint.h"
#include "weft/train/run/wiring.h"

namespace weft::model_test {
namespace {

using testing::ElementsAre;

PredictRows rows_of(const std::vector<float>& values, std::int64_t features) {
  return {static_cast<std::int64_t>(values.size()) / features, values, ""};
}

TEST(ServedModel, ImagesBecomeWhatTheyWereInTraining) {
  TestFolder folder;
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
  TestFolder folder;
  std::string table = "a,b,c,class\n";
  for (int i = 0; i < 40; ++i) {
    table += std::to_string(i * 3) + "," + std::to_string(100 - i * i) + ",5," +
             std::to_string(i % 2) + "\n";
  }
  const std::string path = folder.put("rows.csv", table);
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

// Words, missing values and values in their own units, with the table gone.
TEST(ServedModel, ATableIsAskedInItsOwnWords) {
  TestFolder folder;
  std::string table = "a,kind,price\n";
  for (int i = 0; i < 40; ++i) {
    table += std::to_string(i) + (i % 2 == 0 ? ",ash," : ",elm,") + std::to_string(1000 + i) + "\n";
  }
  const std::string path = folder.put("rows.csv", table);
  const auto checkpoint = make_test_checkpoint(
      folder,
      "[model]\nname = \"mlp\"\nhidden_units = 8\n[data]\nname = \"rows\"\nclassify = "
      "false\npath = \"" +
          path + "\"\n[run]\nglobal_batch = 4\n");
  std::filesystem::remove(path);
  const auto model = load_served(checkpoint->path);
  ASSERT_NE(model, nullptr);
  EXPECT_FALSE(model->has_classes());
  const RowRule rule = model->row_rule();
  EXPECT_EQ(rule.features, 2);
  const auto rows =
      parse_predict("{\"inputs\": [[17.5, \"elm\"], [null, \"ash\"], [3, \"oak\"]]}", rule);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  const auto inputs = model->prepare(*rows);
  ASSERT_TRUE(inputs.ok());
  const std::vector<float> values = inputs->to_vector<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 6),
            (std::vector<float>{0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(values[7] + values[8], 0) << "a word that training did not have is none";
  const auto outputs = model->predict(*inputs);
  ASSERT_TRUE(outputs.ok());
  for (const float value : outputs->values) EXPECT_NEAR(value, 1018, 100) << "not of deviation 1";
  const auto refusal = [&](const std::string& body) {
    return parse_predict(body, rule).status().message();
  };
  EXPECT_EQ(refusal("{\"inputs\": [[\"elm\", \"elm\"]]}"),
            "inputs[0][0]: expected a number, got a text");
  EXPECT_EQ(refusal("{\"inputs\": [[1, 2]]}"),
            "inputs[0][1]: expected a text, one of the column's words, got 2");
  EXPECT_EQ(refusal("{\"inputs\": [null]}"), "inputs: expected rows of numbers, got null");
}

TEST(ServedModel, SaysWhatIsWrongWithAFile) {
  TestFolder folder;
  EXPECT_EQ(ServedModel::load(folder.path("none"), {}).status().code(), Code::kUnavailable);
  EXPECT_EQ(ServedModel::load(folder.put("bad", "no checkpoint"), {}).status().code(),
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

}  // namespace
}  // namespace weft::model_test
