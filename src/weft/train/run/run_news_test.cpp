// What a run tells at once: waits while the training thread is busy, losses that are no numbers;
// and what it says of its speed after a pause.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/thread.h"
#include "weft/io/checkpoint.h"
#include "weft/train/exchange/scripted_exchange.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/run_loop.h"
#include "weft/train/run/wiring.h"

namespace weft::run_news_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Its first round ends once somebody has told that it waits.
class WaitingExchange final : public ScriptedExchange {
 public:
  using ScriptedExchange::ScriptedExchange;

  Result<RoundResult> finish() override {
    if (!waited_) {
      waited_ = true;
      SwarmEvent wait;
      wait.kind = SwarmEventKind::kWaiting;
      wait.round = Round(1);
      wait.peers = {PeerId{}};
      wait.text = "round 1 waits";
      events_.with([&](auto& events) { events.push_back(wait); });
      told_in_time = told.wait_until(SystemClock().now() + seconds(30), [](bool is) { return is; });
    }
    return ScriptedExchange::finish();
  }
  Result<SwarmStatus> status() override { return timed_out("the network thread is busy"); }
  std::vector<SwarmEvent> take_events() override {
    return events_.with([](auto& events) { return std::exchange(events, {}); });
  }

  Guarded<bool> told{false};
  bool told_in_time = false;

 private:
  Guarded<std::vector<SwarmEvent>> events_;
  bool waited_ = false;
};

RunLoopOptions loop_options(const Clock& clock) {
  RunLoopOptions options;
  options.run_id = "r";
  options.started = clock.now();
  options.stop_asked = [] { return false; };
  return options;
}

TEST(RunNews, AWaitIsToldWhileTheTrainingThreadSitsInIt) {
  const SystemClock clock;
  const Recipe recipe = small_recipe();
  const auto trainer = Trainer::make(recipe, {}, clock).value();
  WaitingExchange exchange(last_round(recipe));
  std::vector<Event> heard;
  const auto log = EventLog::open("", clock, [&](const Event& event) {
                     heard.push_back(event);
                     if (event.kind == "waiting") exchange.told.with([](bool& is) { is = true; });
                   }).value();
  RunLoopOptions options = loop_options(clock);
  options.report_interval = milliseconds(20);
  RunLoop loop(*trainer, {exchange, exchange}, *log, nullptr, clock, options);
  const RunResult result = loop.run();
  EXPECT_TRUE(exchange.told_in_time);
  EXPECT_EQ(result.summary.end, RunEnd::kFinished) << "without its status as well";
}

struct NotFinite {
  const char* policy;
  RunEnd end;
};

class RuinedRun : public testing::TestWithParam<NotFinite> {};

TEST_P(RuinedRun, TheLossIsToldOnceAndTheLastGoodCheckpointStays) {
  const SystemClock clock;
  Recipe recipe = small_recipe();
  recipe.run.on_not_finite = GetParam().policy;
  recipe.checkpoint.every_steps = 1;
  recipe.checkpoint.keep = 1;
  recipe.run.steps = 60;
  recipe.optimizer.learning_rate = 1000;
  const auto trainer = Trainer::make(recipe, {}, clock).value();
  ScriptedExchange exchange(last_round(recipe));
  std::vector<Event> heard;
  const auto log =
      EventLog::open("", clock, [&](const Event& event) { heard.push_back(event); }).value();
  const std::string folder = testing::TempDir() + "weft_ruined_" + std::to_string(::getpid());
  Checkpoints checkpoints(folder, recipe.checkpoint.keep, "r");
  RunLoop loop(*trainer, {exchange, exchange}, *log, &checkpoints, clock, loop_options(clock));
  const RunResult result = loop.run();
  const bool stops = GetParam().end == RunEnd::kStopped;
  EXPECT_EQ(result.summary.end, GetParam().end);
  EXPECT_EQ(exchange.left(), stops) << "the others are told";
  EXPECT_FALSE(std::isfinite(result.summary.final_loss));
  std::int64_t first = 0;
  int told = 0;
  for (const Event& event : heard) {
    const bool ruined = event.kind == "round" && !std::isfinite(event.number("loss"));
    if (ruined && first == 0) first = event.integer("round");
    if (event.kind != "not_finite") continue;
    ++told;
    EXPECT_TRUE(event.flag("own"));
    EXPECT_THAT(event.text("text"), HasSubstr("is not a number"));
  }
  EXPECT_EQ(told, 1);
  EXPECT_GT(first, 0);
  EXPECT_EQ(result.summary.not_finite_round, first);
  EXPECT_EQ(result.summary.steps, stops ? first : 60);
  const std::vector<std::string> kept = list_checkpoints(folder);
  for (const std::string& path : kept) {
    const auto again = Trainer::make(recipe, {}, clock).value();
    ASSERT_TRUE(load_checkpoint_into(path, *again).ok());
    for (const float value : std::as_const(again->arena()).parameters()) {
      ASSERT_TRUE(std::isfinite(value));
    }
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Policies, RuinedRun,
                         testing::Values(NotFinite{"stop", RunEnd::kStopped},
                                         NotFinite{"go_on", RunEnd::kFinished}));

// What was computed by others counts as well: all members stop at the same round.
TEST(RunNews, AMemberThatOnlyAppliedTheRoundStopsToo) {
  const SystemClock clock;
  const Recipe recipe = small_recipe();
  const auto trainer = Trainer::make(recipe, {}, clock).value();
  const std::vector<float> sums(static_cast<std::size_t>(trainer->layout().num_elements()), 0.0F);
  RoundReport ruined;
  ruined.loss = std::numeric_limits<double>::quiet_NaN();
  ruined.samples = 4;
  ruined.compute_seconds = 0.1;
  ScriptedExchange exchange(last_round(recipe));
  exchange.give_result(Round(1), sums, {ruined.encode()});
  std::vector<Event> heard;
  const auto log =
      EventLog::open("", clock, [&](const Event& event) { heard.push_back(event); }).value();
  RunLoop loop(*trainer, {exchange, exchange}, *log, nullptr, clock, loop_options(clock));
  const RunResult result = loop.run();
  EXPECT_EQ(result.summary.end, RunEnd::kStopped);
  EXPECT_EQ(result.summary.not_finite_round, 1);
  EXPECT_FALSE(result.summary.took_part);
  EXPECT_TRUE(std::isnan(result.summary.samples_per_second)) << "it was in no round";
}

TEST(RunNews, ACheckpointThatCannotBeWrittenIsSaidOnceAndTriedAgain) {
  const SystemClock clock;
  Recipe recipe = small_recipe();
  recipe.checkpoint.every_steps = 1;
  const auto trainer = Trainer::make(recipe, {}, clock).value();
  ScriptedExchange exchange(last_round(recipe));
  const std::string folder = testing::TempDir() + "weft_unsaved_" + std::to_string(::getpid());
  std::ofstream(folder) << "in the way";
  std::vector<std::string> heard;
  const auto log = EventLog::open("", clock, [&](const Event& event) {
                     if (event.kind == "round" && event.integer("round") == 3) {
                       std::filesystem::remove(folder);
                     }
                     const bool about = event.kind.starts_with("checkpoint");
                     if (about) heard.push_back(event.kind);
                   }).value();
  Checkpoints checkpoints(folder, recipe.checkpoint.keep, "r");
  RunLoop loop(*trainer, {exchange, exchange}, *log, &checkpoints, clock, loop_options(clock));
  const RunResult result = loop.run();
  EXPECT_TRUE(result.checkpoint.ok()) << "the last state is on the disk";
  ASSERT_GE(heard.size(), 2U);
  EXPECT_EQ(heard[0], "checkpoint_failed");
  EXPECT_EQ(heard[1], "checkpoint") << "not said again";
  std::filesystem::remove_all(folder);
}

TEST(RoundMeter, APauseSaysNothingOfTheSpeed) {
  RoundMeter meter;
  EXPECT_EQ(meter.seconds_per_round(), 0.0);
  const auto round = [](double time) {
    RoundTiming timing;
    timing.seconds = time;
    timing.samples = 100;
    return timing;
  };
  for (int i = 0; i < 10; ++i) meter.add(round(0.1));
  meter.add(round(400));
  EXPECT_NEAR(meter.seconds_per_round(), 0.1, 1e-9);
  EXPECT_NEAR(meter.samples_per_second(), 1000, 1e-6);
  EXPECT_NEAR(meter.mean_samples_per_second(), 1100 / 401.0, 1e-9) << "the run's mean has it";
  // Rounds that are longer for good are no pauses.
  for (int i = 0; i < 32; ++i) meter.add(round(2));
  EXPECT_NEAR(meter.seconds_per_round(), 2, 1e-9);
}

}  // namespace
}  // namespace weft::run_news_test
