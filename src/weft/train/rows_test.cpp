// Recipes on tables of numbers: classes and values, from CSV files and arrays.
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/rng.h"
#include "weft/data/npy.h"
#include "weft/train/exchange/scripted_exchange.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"

namespace weft::rows_test {
namespace {

using ::testing::HasSubstr;

constexpr double kNoise = 0.5;
constexpr int kRows = 1200;

std::string path_of(const std::string& name) {
  return testing::TempDir() + "/rows_test_" + std::to_string(getpid()) + "_" + name;
}

// Three clouds far apart, in units that differ by a million, with the class in the middle.
std::string write_classes() {
  std::string path = path_of("classes.csv");
  std::ofstream file(path);
  file << "small,kind,large,same\n";
  Rng rng(4, 0);
  for (int row = 0; row < kRows; ++row) {
    const auto cloud = static_cast<int>(rng.below(3));
    file << 0.001 * (4.0 * cloud + rng.normal()) << ","
         << (cloud == 0   ? "ash"
             : cloud == 1 ? "elm"
                          : "oak")
         << "," << 1e6 + 1e3 * ((cloud == 1 ? 6.0 : 0.0) + rng.normal()) << ",7\n";
  }
  return path;
}

// y = 2 a - 3 b + 1 with noise of a known variance: the best possible loss.
std::string write_values() {
  std::string path = path_of("values.csv");
  std::ofstream file(path);
  Rng rng(5, 0);
  for (int row = 0; row < kRows; ++row) {
    const double a = 10.0 + rng.normal();
    const double b = 100.0 * rng.normal();
    file << a << "," << b << "," << 2 * (a - 10) - 3 * b / 100 + 1 + kNoise * rng.normal() << "\n";
  }
  return path;
}

Recipe rows_recipe(const std::string& path) {
  Recipe recipe;
  recipe.model.name = "mlp";
  recipe.model.hidden_units = 16;
  recipe.data.name = "rows";
  recipe.data.path = path;
  recipe.run.steps = 300;
  recipe.run.global_batch = 32;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.learning_rate = 0.02;
  return recipe;
}

std::unique_ptr<Trainer> train(const Recipe& recipe) {
  static const SystemClock clock;
  Result<std::unique_ptr<Trainer>> made = Trainer::make(recipe, {}, clock);
  EXPECT_TRUE(made.ok()) << made.status().message();
  ScriptedExchange exchange(last_round(recipe));
  for (std::int64_t round = 1; round <= recipe.run.steps; ++round) {
    const Turn turn = *exchange.next();
    EXPECT_TRUE((*made)->run_round(turn, exchange).ok());
    exchange.applied(turn.round, (*made)->hash());
  }
  return std::move(made).value();
}

TEST(Rows, ClassesAreLearnedFromAColumnOfWords) {
  Recipe recipe = rows_recipe(write_classes());
  recipe.data.target = "kind";
  const auto trainer = train(recipe);
  EXPECT_EQ(trainer->train_samples(), kRows - kRows / 10);
  const Result<RoundReport> measured = trainer->evaluate_alone();
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_EQ(measured->samples, kRows / 10);
  EXPECT_GT(measured->accuracy(), 0.95);
  EXPECT_LT(measured->loss, 0.2);
}

TEST(Rows, ValuesAreLearnedByLeastSquares) {
  Recipe recipe = rows_recipe(write_values());
  recipe.data.header = false;
  recipe.data.classify = false;
  for (const bool capture : {true, false}) {
    recipe.run.capture = capture;
    const Result<RoundReport> measured = train(recipe)->evaluate_alone();
    ASSERT_TRUE(measured.ok()) << measured.status().message();
    EXPECT_TRUE(std::isnan(measured->accuracy()));
    ASSERT_TRUE(measured->errors.has_value());
    // The mean absolute value of normal noise is sqrt(2 / pi) of its deviation.
    const double off = measured->errors->mean_absolute(measured->labels);
    EXPECT_NEAR(off, 0.8 * kNoise, 0.25 * kNoise);
    EXPECT_GT(measured->errors->r2(measured->labels), 0.95);
    EXPECT_LT(measured->loss, 0.05) << "of values with the deviation 1";
  }
}

// 300 rows, the settings of recipes/rows_mlp.toml, a target far from 0.
TEST(Rows, AnExactlyLinearTableIsLearned) {
  const std::string path = path_of("linear.csv");
  std::ofstream file(path);
  file << "a,b,price\n";
  Rng rng(9, 0);
  for (int row = 0; row < 300; ++row) {
    const double a = rng.normal();
    const double b = rng.normal();
    file << a << "," << b << "," << 100 + 3 * a - b << "\n";
  }
  file.close();
  Recipe recipe = rows_recipe(path);
  recipe.model.hidden_units = 64;
  recipe.data.classify = false;
  recipe.optimizer.learning_rate = 0.005;
  recipe.optimizer.weight_decay = 0.01;
  recipe.schedule.warmup_steps = 20;
  recipe.run.steps = 500;
  recipe.run.global_batch = 64;
  const Result<RoundReport> measured = train(recipe)->evaluate_alone();
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_GT(measured->errors->r2(measured->labels), 0.95);
  EXPECT_LT(measured->errors->mean_absolute(measured->labels), 0.5);
}

// Each member measures a part, and reports its sums as it does those of the loss.
TEST(Rows, ErrorsOfTwoMembersAddUp) {
  RoundReport first;
  first.labels = 2;
  first.errors = {.absolute = 30, .squared = 0.5, .values = 1, .value_squares = 1};  // 1, 0
  RoundReport second;
  second.labels = 1;
  second.errors = {.absolute = 6, .squared = 0.1, .values = 2, .value_squares = 4};  // 2
  const RoundMetrics both = fold_reports(std::vector<Bytes>{first.encode(), second.encode()});
  ASSERT_TRUE(both.errors.has_value());
  EXPECT_NEAR(both.errors->mean_absolute(both.labels), 12, 1e-5);
  EXPECT_NEAR(both.errors->r2(both.labels), 1 - 0.6 / 2, 1e-5) << "0, 1 and 2 have the mean 1";
  EXPECT_FALSE(fold_reports(std::vector<Bytes>{RoundReport().encode()}).errors.has_value());
  EXPECT_TRUE(std::isnan(ValueErrors().r2(0)));
}

TEST(Rows, TheTestSplitIsNormalizedAsTheTrainingSplit) {
  Recipe recipe = rows_recipe(write_classes());
  recipe.data.target = "kind";
  const Dataset training = *open_recipe_dataset(recipe, Split::kTrain, {});
  const Dataset test = *open_recipe_dataset(recipe, Split::kTest, {});
  ASSERT_EQ(training.rows.dim(1), 3);
  ASSERT_EQ(test.rows.dim(1), 3);
  EXPECT_EQ(training.class_names.size(), 3U);
  for (std::int64_t column = 0; column < 3; ++column) {
    double mean = 0;
    double square = 0;
    for (std::int64_t row = 0; row < training.size; ++row) {
      const double value = training.rows.select(0, row).select(0, column).item();
      mean += value / static_cast<double>(training.size);
      square += value * value / static_cast<double>(training.size);
    }
    EXPECT_NEAR(mean, 0.0, 1e-5) << column;
    EXPECT_NEAR(square, column < 2 ? 1.0 : 0.0, 1e-4) << column;
    double test_mean = 0;
    for (std::int64_t row = 0; row < test.size; ++row) {
      test_mean +=
          test.rows.select(0, row).select(0, column).item() / static_cast<double>(test.size);
    }
    EXPECT_LT(std::abs(test_mean), 0.5) << column;
    if (column < 2) {
      EXPECT_NE(test_mean, 0.0) << column;
    }
  }
}

TEST(Rows, ArraysOfAFolderAreLearnedToo) {
  const std::string folder = path_of("arrays");
  std::filesystem::create_directories(folder);
  Rng rng(6, 0);
  Array x = Array::empty({400, 3});
  Array y = Array::empty({400, 2});
  for (std::int64_t row = 0; row < 400; ++row) {
    for (std::int64_t column = 0; column < 3; ++column) {
      x.data<float>()[row * 3 + column] = static_cast<float>(rng.normal());
    }
    y.data<float>()[row * 2] = x.data<float>()[row * 3];
    y.data<float>()[row * 2 + 1] = x.data<float>()[row * 3 + 1] - x.data<float>()[row * 3 + 2];
  }
  ASSERT_TRUE(write_npy(folder + "/x.npy", x).ok());
  ASSERT_TRUE(write_npy(folder + "/y.npy", y).ok());
  const Result<RoundReport> measured = train(rows_recipe(folder))->evaluate_alone();
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_EQ(measured->labels, 80);
  EXPECT_LT(measured->loss, 0.1);
}

TEST(Rows, WhatDoesNotFitIsRefusedWithTheRemedy) {
  static const SystemClock clock;
  const auto refusal = [](const Recipe& recipe) {
    return Trainer::make(recipe, {}, clock).status().message();
  };
  Recipe recipe = rows_recipe(write_classes());
  recipe.data.target = "tree";
  EXPECT_THAT(refusal(recipe), HasSubstr("tree"));
  recipe.data.target = "kind";
  recipe.model.name = "cnn";
  EXPECT_THAT(refusal(recipe), HasSubstr("expected mlp"));
  recipe = rows_recipe("");
  EXPECT_THAT(refusal(recipe), HasSubstr("data.path"));
  const std::string text = path_of("words.txt");
  std::ofstream(text) << std::string(1000, 'a');
  EXPECT_THAT(refusal(rows_recipe(text)), HasSubstr("expected rows"));
}

}  // namespace
}  // namespace weft::rows_test
