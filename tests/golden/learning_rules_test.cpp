// Optimizers and schedules against PyTorch's and against the papers' formulas in NumPy: see
// README.md and make_optimizers.py.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/file.h"
#include "weft/io/safetensors.h"
#include "weft/optim/clip.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"

namespace weft::learning_rules_test {
namespace {

constexpr int kSteps = 5;

std::map<std::string, Array> golden() {
  Result<Bytes> bytes =
      read_file(std::string(WEFT_GOLDEN_DIR) + "/learning_rules.safetensors", 1 << 20);
  WEFT_CHECK(bytes.ok());
  const Result<SafetensorsView> view = parse_safetensors(*bytes);
  WEFT_CHECK(view.ok());
  std::map<std::string, Array> arrays;
  for (const SafetensorsEntry& entry : view->entries) {
    Result<Array> array = to_array(entry);
    WEFT_CHECK(array.ok());
    arrays[entry.name] = array->to(DType::kF64).clone();
  }
  return arrays;
}

std::map<std::string, OptimizerOptions> cases() {
  return {
      {"adagrad", {.name = "adagrad", .learning_rate = 0.1}},
      {"adagrad_decay", {.name = "adagrad", .learning_rate = 0.1, .weight_decay = 0.1}},
      {"rmsprop", {.name = "rmsprop", .learning_rate = 0.01}},
      {"rmsprop_centered",
       {.name = "rmsprop",
        .learning_rate = 0.01,
        .epsilon = 1e-4,
        .smoothing = 0.9,
        .centered = true}},
      {"rmsprop_all",
       {.name = "rmsprop",
        .learning_rate = 0.01,
        .weight_decay = 0.1,
        .momentum = 0.8,
        .epsilon = 1e-4,
        .smoothing = 0.9,
        .centered = true}},
      {"adadelta", {.name = "adadelta", .learning_rate = 1.0, .epsilon = 1e-6, .smoothing = 0.9}},
      {"adadelta_decay",
       {.name = "adadelta",
        .learning_rate = 0.5,
        .weight_decay = 0.1,
        .epsilon = 1e-6,
        .smoothing = 0.95}},
      {"adam_amsgrad",
       {.name = "adam", .learning_rate = 0.01, .weight_decay = 0.1, .beta2 = 0.5, .amsgrad = true}},
      {"adamw_amsgrad",
       {.name = "adamw",
        .learning_rate = 0.01,
        .weight_decay = 0.1,
        .beta2 = 0.5,
        .amsgrad = true}},
      {"sgd_clip_norm", {.name = "sgd", .learning_rate = 0.1, .momentum = 0.9}},
      {"sgd_clip_value", {.name = "sgd", .learning_rate = 0.1, .momentum = 0.9}},
      {"adafactor", {.name = "adafactor", .learning_rate = 0.05}},
      {"adafactor_plain",
       {.name = "adafactor",
        .learning_rate = 0.01,
        .weight_decay = 0.1,
        .relative_step = false,
        .scale_parameter = false,
        .clip_threshold = 0.5}},
      {"lion", {.name = "lion", .learning_rate = 0.01, .beta2 = 0.99}},
      {"lion_decay",
       {.name = "lion", .learning_rate = 0.01, .weight_decay = 0.5, .beta1 = 0.8, .beta2 = 0.95}},
      {"muon",
       {.name = "muon",
        .learning_rate = 0.02,
        .momentum = 0.95,
        .nesterov = true,
        .rest_rate_factor = 0.1}},
      {"muon_decay",
       {.name = "muon",
        .learning_rate = 0.05,
        .weight_decay = 0.1,
        .momentum = 0.9,
        .rest_rate_factor = 0.5}},
      {"groups", {.name = "adamw", .learning_rate = 0.01, .weight_decay = 0.1}},
  };
}

// In the order of the dump.
constexpr const char* kNames[] = {"embed.weight", "hidden.weight", "tall.weight",
                                  "hidden.bias",  "conv.weight",   "head.weight"};

Layout golden_layout(const std::map<std::string, Array>& file) {
  Layout layout;
  for (const std::string name : kNames) {
    const bool bias = name.ends_with("bias");
    layout.add(name, file.at("start/" + name).shape(),
               bias ? ParameterKind::kBias : ParameterKind::kWeight);
  }
  return layout;
}

void clip(const std::string& name, ParameterArena& arena) {
  if (name == "sgd_clip_norm") clip_by_global_norm(arena.gradients(), 2.0);
  if (name == "sgd_clip_value") clip_by_value(arena.gradients(), 0.25);
}

void expect_parameters(const ParameterArena& arena, const Array& want) {
  const std::vector<double> expected = want.to_vector<double>();
  std::size_t at = 0;
  for (int i = 0; i < arena.size(); ++i) {
    for (const float value : arena.parameter(i).to_vector<float>()) {
      ASSERT_NEAR(value, expected[at], 2e-6) << kNames[i] << " of value " << at;
      ++at;
    }
  }
  EXPECT_EQ(at, expected.size());
}

TEST(LearningRules, OptimizersAgreeOverFiveSteps) {
  const std::map<std::string, Array> file = golden();
  int compared = 0;
  for (auto [name, options] : cases()) {
    SCOPED_TRACE(name);
    if (name == "groups") {
      auto groups =
          parse_parameter_groups("embed* rate=0.5 decay=0.3; kind:bias decay=0; conv.* frozen");
      ASSERT_TRUE(groups.ok());
      options.groups = *groups;
    }
    ParameterArena arena(golden_layout(file));
    Result<std::unique_ptr<Optimizer>> optimizer = make_optimizer(options, arena);
    ASSERT_TRUE(optimizer.ok()) << optimizer.status().message();
    for (int i = 0; i < arena.size(); ++i) {
      arena.parameter(i).copy_from(file.at("start/" + std::string(kNames[i])).to(DType::kF32));
    }
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      for (int i = 0; i < arena.size(); ++i) {
        const Array gradients = file.at("gradients/" + std::string(kNames[i]));
        arena.gradient(i).copy_from(gradients.select(0, step).to(DType::kF32));
      }
      clip(name, arena);
      optimizer.value()->step();
      expect_parameters(arena, file.at("steps/" + name).select(0, step));
    }
    ++compared;
  }
  const auto dumped = std::count_if(file.begin(), file.end(), [](const auto& entry) {
    return entry.first.starts_with("steps/");
  });
  EXPECT_EQ(compared, dumped);
}

// Cases of their own for steps in which some parameters have no gradient.
std::map<std::string, OptimizerOptions> absent_cases() {
  std::map<std::string, OptimizerOptions> all = cases();
  for (const char* other : {"groups", "sgd_clip_norm", "sgd_clip_value"}) all.erase(other);
  all["sgd"] = {.name = "sgd", .learning_rate = 0.1, .weight_decay = 0.1};
  all["sgd_momentum"] = {
      .name = "sgd", .learning_rate = 0.1, .weight_decay = 0.1, .momentum = 0.9, .dampening = 0.5};
  all["sgd_nesterov"] = {.name = "sgd", .learning_rate = 0.1, .momentum = 0.9, .nesterov = true};
  all["adam"] = {.name = "adam", .learning_rate = 0.01, .weight_decay = 0.1};
  all["adamw"] = {.name = "adamw", .learning_rate = 0.01, .weight_decay = 0.1};
  return all;
}

// In which steps the parameters have a gradient; the first is frozen.
const std::vector<std::vector<int>>& present_steps() {
  static const std::vector<std::vector<int>> kPresent = {{},        {0, 1, 2, 3, 4}, {1, 3},
                                                         {2, 3, 4}, {0, 4},          {0, 1, 3, 4}};
  return kPresent;
}

TEST(LearningRules, AParameterWithoutAGradientIsSkippedByEveryOptimizer) {
  const std::map<std::string, Array> file = golden();
  int compared = 0;
  for (const auto& [name, options] : absent_cases()) {
    SCOPED_TRACE(name);
    ParameterArena arena(golden_layout(file));
    Result<std::unique_ptr<Optimizer>> optimizer = make_optimizer(options, arena);
    ASSERT_TRUE(optimizer.ok()) << optimizer.status().message();
    for (int i = 0; i < arena.size(); ++i) {
      arena.parameter(i).copy_from(file.at("start/" + std::string(kNames[i])).to(DType::kF32));
      arena.use(i)->watched = true;
    }
    arena.use(0)->trained = false;
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      arena.zero_gradients();
      for (int i = 0; i < arena.size(); ++i) {
        const std::vector<int>& steps = present_steps()[static_cast<std::size_t>(i)];
        const bool here = std::find(steps.begin(), steps.end(), step) != steps.end();
        if (!here && i != 0) continue;
        const Array gradients = file.at("gradients/" + std::string(kNames[i]));
        arena.gradient(i).copy_from(gradients.select(0, step).to(DType::kF32));
      }
      optimizer.value()->step();
      expect_parameters(arena, file.at("absent/" + name).select(0, step));
    }
    ++compared;
  }
  const auto dumped = std::count_if(file.begin(), file.end(), [](const auto& entry) {
    return entry.first.starts_with("absent/");
  });
  EXPECT_EQ(compared, dumped);
}

std::map<std::string, ScheduleOptions> schedules() {
  constexpr std::int64_t kTotal = 40;
  return {
      {"step", {.name = "step", .drop_every_steps = 7, .drop_factor = 0.3}},
      {"multistep", {.name = "multistep", .drop_factor = 0.2, .milestones = {5, 9, 30}}},
      {"exponential", {.name = "exponential", .drop_every_steps = 1, .drop_factor = 0.93}},
      {"cosine", {.name = "cosine", .total_steps = kTotal, .final_fraction = 0.1}},
      {"cosine_restarts",
       {.name = "cosine_restarts", .final_fraction = 0.1, .cycle_steps = 5, .cycle_growth = 2}},
      {"linear", {.name = "linear", .total_steps = kTotal, .final_fraction = 0.2}},
      {"polynomial", {.name = "polynomial", .total_steps = kTotal, .power = 2.5}},
      {"one_cycle",
       {.name = "one_cycle",
        .total_steps = kTotal,
        .final_fraction = 0.05 / 50,
        .rise_fraction = 0.25,
        .start_fraction = 0.05}},
  };
}

TEST(LearningRules, SchedulesAgreeOverFortySteps) {
  const std::map<std::string, Array> file = golden();
  for (const auto& [name, options] : schedules()) {
    ASSERT_TRUE(check_schedule(options).ok()) << name;
    const std::vector<double> want = file.at("schedule/" + name).to_vector<double>();
    for (std::size_t step = 0; step < want.size(); ++step) {
      EXPECT_NEAR(schedule_factor(options, static_cast<std::int64_t>(step)), want[step], 1e-6)
          << name << " step " << step;
    }
  }
}

}  // namespace
}  // namespace weft::learning_rules_test
