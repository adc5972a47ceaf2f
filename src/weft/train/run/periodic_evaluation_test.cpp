// Measurements on the test set in the midst of a run: what they say, keep and end.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/train/exchange/scripted_exchange.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/run_loop.h"
#include "weft/train/run/wiring.h"

namespace weft::periodic_evaluation_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PeriodicEvaluation : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "weft_measured_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
    recipe_.run.steps = 12;
    recipe_.run.evaluate_every_steps = 3;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  RunResult run() {
    told_.clear();
    trainer_ = std::move(Trainer::make(recipe_, {}, clock_)).value();
    exchange_ = std::make_unique<ScriptedExchange>(last_round(recipe_));
    return take_part();
  }
  RunResult take_part() {
    const auto log =
        EventLog::open("", clock_, [&](const Event& event) { told_.push_back(event); }).value();
    RunLoopOptions options;
    options.run_id = "r";
    options.started = clock_.now();
    options.stop_asked = [] { return false; };
    Checkpoints checkpoints(folder_, 100, "r");
    RunLoop loop(*trainer_, {*exchange_, *exchange_}, *log, &checkpoints, clock_, options);
    return loop.run();
  }
  std::vector<Event> measured() const {
    std::vector<Event> found;
    for (const Event& event : told_) {
      if (event.kind == "validation") found.push_back(event);
    }
    return found;
  }
  double loss_of(const std::string& path) {
    const auto trainer = std::move(Trainer::make(recipe_, {}, clock_)).value();
    EXPECT_TRUE(load_checkpoint_into(path, *trainer).ok()) << path;
    return trainer->evaluate_alone()->loss;
  }

  SystemClock clock_;
  Recipe recipe_ = small_recipe();
  std::string folder_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<ScriptedExchange> exchange_;
  std::vector<Event> told_;
};

TEST_F(PeriodicEvaluation, ChangesNoBitOfTheTraining) {
  for (const bool capture : {true, false}) {
    for (const std::int64_t local : {1, 2}) {
      recipe_.run.capture = capture;
      recipe_.local.steps = local;
      recipe_.run.evaluate_every_steps = 0;
      const std::string undisturbed = run().summary.state_hash;
      EXPECT_TRUE(measured().empty());
      recipe_.run.evaluate_every_steps = 3;
      EXPECT_EQ(run().summary.state_hash, undisturbed) << capture << " " << local;
      EXPECT_FALSE(measured().empty());
    }
  }
}

TEST_F(PeriodicEvaluation, SaysWhatTheStateOfThatStepIsWorth) {
  recipe_.checkpoint.every_steps = 1;
  const RunResult result = run();
  std::vector<std::int64_t> steps;
  double best = std::numeric_limits<double>::infinity();
  std::int64_t best_step = 0;
  for (const Event& event : measured()) {
    const std::int64_t step = event.integer("step");
    steps.push_back(step);
    EXPECT_NEAR(event.number("loss"), loss_of(checkpoint_path(folder_, step)), 1e-6) << step;
    EXPECT_EQ(event.integer("samples"), 64);
    EXPECT_EQ(event.flag("best"), event.number("loss") < best);
    if (event.number("loss") < best) best_step = step;
    best = std::min(best, event.number("loss"));
    EXPECT_EQ(event.integer("best_step"), best_step);
  }
  EXPECT_THAT(steps, ElementsAre(3, 6, 9)) << "the last state is measured at the end";
  ASSERT_TRUE(result.summary.test_loss.has_value());
  EXPECT_EQ(result.summary.best_loss, std::min(best, *result.summary.test_loss));
}

TEST_F(PeriodicEvaluation, KeepsTheBestStateAndNoOther) {
  recipe_.checkpoint.keep_best = true;
  // It gets worse and worse.
  recipe_.optimizer.learning_rate = 2;
  const RunResult result = run();
  EXPECT_LT(result.summary.best_step, result.summary.steps);
  const std::string path = folder_ + "/best.safetensors";
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".candidate"));
  const auto trainer = std::move(Trainer::make(recipe_, {}, clock_)).value();
  ASSERT_TRUE(load_checkpoint_into(path, *trainer).ok());
  EXPECT_EQ(trainer->steps_done(), result.summary.best_step);
  EXPECT_NEAR(loss_of(path) / result.summary.best_loss, 1.0, 1e-5);
}

TEST_F(PeriodicEvaluation, StopsWhenNothingGetsBetter) {
  recipe_.run.early_stop_patience = 2;
  recipe_.run.evaluate_every_steps = 1;
  recipe_.run.steps = 50;
  recipe_.optimizer.learning_rate = 1e-30;
  const RunResult result = run();
  EXPECT_EQ(result.summary.end, RunEnd::kStopped);
  EXPECT_TRUE(result.status.ok());
  EXPECT_TRUE(exchange_->left()) << "the others are told";
  // The states of steps 1, 2 and 3 are alike, and the third is measured in round 4.
  EXPECT_EQ(result.summary.steps, 4);
  EXPECT_EQ(result.summary.best_step, 1);
  const auto stopped = std::find_if(told_.begin(), told_.end(),
                                    [](const Event& event) { return event.kind == "stopped"; });
  ASSERT_NE(stopped, told_.end());
  EXPECT_THAT(stopped->text("text"), HasSubstr("2 measurements in a row"));
}

// By a member's state, or by the sums alone: everybody decides from the same numbers.
TEST_F(PeriodicEvaluation, WhoComesLaterKnowsWhatTheOthersKnow) {
  run();
  const Validation known = trainer_->validation();
  EXPECT_GT(known.best_step(), 0);
  const auto newcomer = std::move(Trainer::make(recipe_, {}, clock_)).value();
  ASSERT_TRUE(newcomer->adopt(trainer_->encode("r")).ok());
  EXPECT_EQ(newcomer->validation(), known);

  const std::map<std::uint64_t, std::vector<float>> results = exchange_->results();
  const std::unique_ptr<ScriptedExchange> heard = std::move(exchange_);
  trainer_ = std::move(Trainer::make(recipe_, {}, clock_)).value();
  exchange_ = std::make_unique<ScriptedExchange>(last_round(recipe_));
  for (const auto& [round, sums] : results) {
    exchange_->give_result(Round(round), sums, heard->reports(Round(round)));
  }
  take_part();
  EXPECT_EQ(trainer_->validation(), known);
}

}  // namespace
}  // namespace weft::periodic_evaluation_test
