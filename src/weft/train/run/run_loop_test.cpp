#include "weft/train/run/run_loop.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/train/exchange/scripted_exchange.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/wiring.h"

namespace weft::run_loop_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A run loop around a scripted group, with everything it told.
class RunLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    trainer_ = std::move(Trainer::make(recipe_, {}, clock_)).value();
    exchange_ = std::make_unique<ScriptedExchange>(last_round(recipe_));
  }

  RunResult run(bool founder = true, Checkpoints* checkpoints = nullptr) {
    auto log = EventLog::open("", clock_, [&](const Event& event) { told_.push_back(event); });
    RunLoopOptions options;
    options.run_id = "r";
    options.started = clock_.now();
    options.founder = founder;
    options.stop_asked = [&] { return exchange_->rounds_applied() >= stop_after_; };
    RunLoop loop(*trainer_, {*exchange_, *exchange_}, **log, checkpoints, clock_, options);
    return loop.run();
  }

  std::vector<std::int64_t> rounds_told() const {
    std::vector<std::int64_t> rounds;
    for (const Event& event : told_) {
      if (event.kind == "round") rounds.push_back(event.integer("round"));
    }
    return rounds;
  }
  const Event* told(std::string_view kind) const {
    for (const Event& event : told_) {
      if (event.kind == kind) return &event;
    }
    return nullptr;
  }

  SystemClock clock_;
  Recipe recipe_ = small_recipe();
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<ScriptedExchange> exchange_;
  std::vector<Event> told_;
  std::uint64_t stop_after_ = 1000;
};

TEST_F(RunLoopTest, AloneTrainsEvaluatesAndFinishes) {
  const RunResult result = run();
  EXPECT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.summary.end, RunEnd::kFinished);
  EXPECT_EQ(result.summary.steps, 6);
  EXPECT_EQ(result.summary.state_hash.size(), 64U);
  EXPECT_THAT(rounds_told(), ElementsAre(1, 2, 3, 4, 5, 6));
  ASSERT_NE(told("evaluation"), nullptr);
  EXPECT_EQ(told("evaluation")->integer("samples"), 64);
  EXPECT_EQ(*result.summary.test_accuracy, told("evaluation")->number("accuracy"));
}

// On which every look costs some time.
class SlowClock final : public Clock {
 public:
  TimePoint now() const override { return now_ += std::chrono::milliseconds(200); }
  std::int64_t unix_time_s() const override { return 0; }

 private:
  mutable TimePoint now_{std::chrono::hours(1)};
};

TEST_F(RunLoopTest, ALongMeasurementIsToldWhileItLasts) {
  const SlowClock slow;
  recipe_.data.synthetic_samples = 8192;
  trainer_ = std::move(Trainer::make(recipe_, {}, slow)).value();
  auto log = EventLog::open("", clock_, [&](const Event& event) { told_.push_back(event); });
  RunLoopOptions options;
  options.stop_asked = [] { return false; };
  RunLoop loop(*trainer_, {*exchange_, *exchange_}, **log, nullptr, slow, options);
  const RunResult result = loop.run();
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  const Event* const measuring = told("measuring");
  ASSERT_NE(measuring, nullptr);
  EXPECT_EQ(measuring->integer("of"), told("evaluation")->integer("samples"));
  EXPECT_GT(measuring->integer("samples"), 0);
  EXPECT_LT(measuring->integer("samples"), measuring->integer("of"));
  EXPECT_GE(measuring->number("seconds"), 0.5);
  EXPECT_LT(measuring, told("evaluation"));
}

TEST_F(RunLoopTest, AShortMeasurementIsNot) {
  run();
  EXPECT_EQ(told("measuring"), nullptr);
}

TEST_F(RunLoopTest, StepsThatCannotBeReplayedAreToldOnce) {
  ASSERT_TRUE(recipe_.run.capture);
  const auto eager_notes = [this] {
    return std::count_if(told_.begin(), told_.end(), [](const Event& event) {
      return event.text("text").find("steps run eagerly") != std::string::npos;
    });
  };
  run();
  EXPECT_EQ(eager_notes(), 0);
  SetUp();
  told_.clear();
  int calls = 0;
  const HookHandle hook = trainer_->model().parameters()[0].register_post_accumulate_hook(
      [&](const Array&) { ++calls; });
  run();
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(eager_notes(), 1);
}

TEST_F(RunLoopTest, AnAbortedRoundIsRunAgainWithTheSameResult) {
  const std::string undisturbed = run().summary.state_hash;
  SetUp();
  told_.clear();
  exchange_->abort_next(Round(3), 2);
  EXPECT_EQ(run().summary.state_hash, undisturbed);
  EXPECT_THAT(rounds_told(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(RunLoopTest, ANewcomerLoadsTheStateCatchesUpAndAgrees) {
  exchange_->record_snapshot_after(Round(2));
  const std::string expected = run().summary.state_hash;
  const auto results = exchange_->results();
  const auto third = exchange_->reports(Round(3));
  const auto fourth = exchange_->reports(Round(4));
  const Bytes state = exchange_->snapshot();
  ASSERT_FALSE(state.empty());

  SetUp();
  told_.clear();
  exchange_->give(exchange_->wait_turn());
  exchange_->give_state(Round(2), state);
  exchange_->give_result(Round(3), results.at(3), third);
  exchange_->give_result(Round(4), results.at(4), fourth);
  const RunResult late = run(false);
  EXPECT_TRUE(late.status.ok()) << late.status.message();
  EXPECT_EQ(late.summary.state_hash, expected);
  EXPECT_THAT(rounds_told(), ElementsAre(5, 6));
  ASSERT_NE(told("state_loaded"), nullptr);
  EXPECT_EQ(told("state_loaded")->integer("round"), 2);
  EXPECT_EQ(told("ticket")->text("ticket"), "weft2-scripted");
}

TEST_F(RunLoopTest, AStateIsLentWhileARoundIsComputedWithIt) {
  exchange_->record_snapshot_after(Round(2));
  EXPECT_TRUE(run().status.ok());
  EXPECT_EQ(exchange_->loans(), 6) << "not for the evaluation";
  EXPECT_FALSE(exchange_->has_loan());
  ASSERT_EQ(exchange_->lent_in_rounds().size(), 6U);
  EXPECT_EQ(exchange_->lent_in_rounds()[2], exchange_->snapshot());
}

TEST_F(RunLoopTest, AStateThatComputingMovesIsLentUntilThenOnly) {
  recipe_.local.steps = 2;
  trainer_ = std::move(Trainer::make(recipe_, {}, clock_)).value();
  exchange_ = std::make_unique<ScriptedExchange>(last_round(recipe_));
  EXPECT_TRUE(run().status.ok());
  EXPECT_EQ(exchange_->loans(), 3);
  EXPECT_FALSE(exchange_->has_loan());
  EXPECT_TRUE(exchange_->lent_in_rounds().empty());
}

TEST_F(RunLoopTest, AStateRestsWhereNothingIsWrittenBeforeTheSumsAreHere) {
  EXPECT_TRUE(trainer_->rests_in_rounds());
  recipe_.model.name = "resnet9";
  const auto normed = Trainer::make(recipe_, {}, clock_);
  ASSERT_TRUE(normed.ok()) << normed.status().message();
  EXPECT_FALSE((*normed)->rests_in_rounds()) << "a forward pass writes the running statistics";
}

// Another branch's state is averaged in by its weight; what is of no use is left out, and told.
TEST_F(RunLoopTest, AMergeMovesTheParametersToTheWeightedMean) {
  const std::unique_ptr<Trainer> other = std::move(Trainer::make(recipe_, {}, clock_)).value();
  const auto start = std::as_const(trainer_->arena()).parameters();
  const std::vector<float> own(start.begin(), start.end());
  const std::vector<LayoutEntry>& entries = trainer_->layout().entries();
  const auto moved = static_cast<std::size_t>(entries[0].shape.num_elements());
  for (std::size_t i = 0; i < moved; ++i) other->arena().parameters()[i] += 4.0F;
  ASSERT_TRUE(trainer_->merge(other->encode("r"), 0.25).ok());
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (i < moved) {
      ASSERT_NEAR(start[i], own[i] + 1.0F, 1e-5) << i;
    } else {
      ASSERT_EQ(start[i], own[i]) << "equal values stay as they are, bit by bit";
    }
  }
  other->arena().parameters()[1] = std::numeric_limits<float>::quiet_NaN();
  for (const Bytes& useless : {Bytes(), other->encode("r"), Bytes(100, 7)}) {
    Turn turn;
    turn.kind = TurnKind::kMerge;
    turn.state = SharedBytes(useless);
    turn.weight = 0.5;
    SetUp();
    const std::string undisturbed = trainer_->digest();
    EXPECT_FALSE(trainer_->merge(useless, 0.5).ok());
    EXPECT_EQ(trainer_->digest(), undisturbed);
    told_.clear();
    exchange_->give(turn);
    EXPECT_TRUE(run().status.ok());
    ASSERT_NE(told("note"), nullptr);
    EXPECT_THAT(told("note")->text("text"), HasSubstr("left out of the mean"));
  }
}

TEST_F(RunLoopTest, AStateOfAnotherModelIsRefused) {
  exchange_->give_state(Round(2), Bytes(100, 7));
  const RunResult result = run(false);
  EXPECT_EQ(result.summary.end, RunEnd::kFailed);
  EXPECT_EQ(result.status.code(), Code::kCorrupt);
  EXPECT_NE(told("failed"), nullptr);
}

TEST_F(RunLoopTest, AskedToStopItLeavesPolitelyAfterTheRound) {
  stop_after_ = 3;
  const RunResult result = run();
  EXPECT_EQ(result.summary.end, RunEnd::kLeft);
  EXPECT_EQ(result.summary.steps, 3);
  EXPECT_TRUE(exchange_->left());
  EXPECT_NE(told("interrupted"), nullptr);
}

TEST_F(RunLoopTest, ALostQuorumEndsTheRunOrWaitsAsTheRecipeSays) {
  SwarmEvent lost;
  lost.kind = SwarmEventKind::kQuorumLost;
  lost.peers = {PeerId{}, PeerId{}};
  lost.text = "two of three are gone";
  exchange_->tell(Round(3), lost);
  const RunResult result = run();
  EXPECT_EQ(result.summary.end, RunEnd::kQuorumLost);
  EXPECT_EQ(result.summary.steps, 2);
  ASSERT_NE(told("quorum_lost"), nullptr);
  EXPECT_EQ(told("quorum_lost")->list("missing").size(), 2U);
  EXPECT_THAT(told("failed")->text("action"), HasSubstr("--resume"));

  recipe_.group.on_quorum_lost = "wait";
  SetUp();
  exchange_->tell(Round(3), lost);
  EXPECT_EQ(run().summary.end, RunEnd::kFinished);
}

// Rounds 1 to 6 train, 7 is the evaluation.
TEST_F(RunLoopTest, WhoHasAllStepsIsFinishedWhateverEndsTheEvaluation) {
  const std::string whole = run().summary.state_hash;
  const auto expect_finished = [&](const RunResult& result, const std::string& why) {
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_EQ(result.summary.end, RunEnd::kFinished);
    EXPECT_EQ(result.summary.steps, 6);
    EXPECT_EQ(result.summary.state_hash, whole);
    EXPECT_FALSE(result.summary.test_accuracy.has_value());
    ASSERT_NE(told("note"), nullptr);
    EXPECT_THAT(told("note")->text("text"), HasSubstr("the model is final"));
    EXPECT_THAT(told("note")->text("text"), HasSubstr(why));
    EXPECT_EQ(told("failed"), nullptr);
  };
  SetUp();
  told_.clear();
  stop_after_ = 6;
  expect_finished(run(), "asked to end");
  EXPECT_TRUE(exchange_->left());

  SwarmEvent lost;
  lost.kind = SwarmEventKind::kQuorumLost;
  SetUp();
  told_.clear();
  stop_after_ = 1000;
  exchange_->tell(Round(7), lost);
  expect_finished(run(), "quorum");

  SetUp();
  told_.clear();
  exchange_->fail_next(Round(7), unavailable("removed by the others"));
  expect_finished(run(), "removed by the others");

  SetUp();
  exchange_->fail_next(Round(7), corrupt("the state differs"));
  EXPECT_EQ(run().summary.end, RunEnd::kFailed);
}

TEST_F(RunLoopTest, ANewcomerOfTheEndHasTheFinalStateOrMissesTheRun) {
  exchange_->record_snapshot_after(Round(6));
  const RunResult whole = run();
  const Bytes state = exchange_->snapshot();
  ASSERT_FALSE(state.empty());

  SetUp();
  exchange_->give_state(Round(7), state);
  const RunResult late = run(false);
  EXPECT_EQ(late.summary.end, RunEnd::kFinished);
  EXPECT_EQ(late.summary.state_hash, whole.summary.state_hash);
  EXPECT_EQ(late.summary.steps, 6);
  EXPECT_FALSE(late.summary.took_part);
  EXPECT_TRUE(whole.summary.took_part);

  SwarmEvent missed;
  missed.kind = SwarmEventKind::kRunMissed;
  SetUp();
  told_.clear();
  exchange_->tell(Round(1), missed);
  exchange_->fail_next(Round(1), unavailable("the run ended at round 7"));
  const RunResult gone = run(false);
  EXPECT_EQ(gone.summary.end, RunEnd::kMissed);
  EXPECT_EQ(gone.status.message(), "the run ended at round 7");
  ASSERT_NE(told("failed"), nullptr);
  EXPECT_THAT(told("failed")->text("action"), HasSubstr("ask a member"));
}

TEST_F(RunLoopTest, AFailedExchangeEndsTheRunWithItsReason) {
  exchange_->fail_next(Round(4), unavailable("removed by the others"));
  const RunResult result = run();
  EXPECT_EQ(result.summary.end, RunEnd::kFailed);
  EXPECT_EQ(result.status.message(), "removed by the others");
  EXPECT_EQ(result.summary.steps, 3);
}

TEST_F(RunLoopTest, CheckpointsResumeToTheSameBits) {
  const std::string whole = run().summary.state_hash;
  const std::string folder = testing::TempDir() + "weft_checkpoints_" + std::to_string(::getpid());
  Checkpoints checkpoints(folder, 2, "r");
  SetUp();
  stop_after_ = 4;
  EXPECT_EQ(run(true, &checkpoints).summary.steps, 4);
  ASSERT_NE(told("checkpoint"), nullptr);

  SetUp();
  stop_after_ = 1000;
  const auto loaded = checkpoints.load_newest(*trainer_);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->step, 4);
  exchange_->start_after(Round(4));
  EXPECT_EQ(run(true, &checkpoints).summary.state_hash, whole);

  recipe_.run.seed = 77;
  SetUp();
  EXPECT_THAT(checkpoints.load_newest(*trainer_).status().message(), HasSubstr("run.seed"));
  std::filesystem::remove_all(folder);
}

TEST_F(RunLoopTest, AStateThatCouldNotBeWrittenAtTheEndIsTold) {
  const std::string file = testing::TempDir() + "weft_no_folder_" + std::to_string(::getpid());
  std::ofstream(file) << "in the way";
  Checkpoints nowhere(file + "/checkpoints", 2, "r");
  RunResult result = run(true, &nowhere);
  EXPECT_EQ(result.summary.end, RunEnd::kFinished);
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.checkpoint.code(), Code::kUnavailable);
  EXPECT_THAT(result.checkpoint.message(), HasSubstr(file));
  // With room again it is there.
  std::filesystem::remove_all(file);
  SetUp();
  result = run(true, &nowhere);
  EXPECT_TRUE(result.checkpoint.ok()) << result.checkpoint.message();
  std::filesystem::remove_all(file);
}

// 6 steps, 4 a round: two rounds of 4 and 2, then the evaluation.
TEST_F(RunLoopTest, LocalStepsAreCountedBesideTheRounds) {
  recipe_.local.steps = 4;
  recipe_.checkpoint.every_steps = 4;
  SetUp();
  const std::string folder = testing::TempDir() + "weft_local_" + std::to_string(::getpid());
  Checkpoints checkpoints(folder, 2, "r");
  const RunResult whole = run(true, &checkpoints);
  EXPECT_EQ(whole.summary.end, RunEnd::kFinished);
  EXPECT_EQ(whole.summary.steps, 6);
  EXPECT_EQ(whole.summary.rounds, 2);
  EXPECT_THAT(rounds_told(), ElementsAre(1, 2));
  EXPECT_EQ(told("round")->integer("step"), 4);
  EXPECT_EQ(told("round")->integer("steps"), 6);
  EXPECT_EQ(told("round")->integer("rounds"), 2);
  EXPECT_EQ(told("checkpoint")->integer("step"), 4);
  ASSERT_NE(told("evaluation"), nullptr);

  SetUp();
  exchange_->abort_next(Round(2), 2);
  EXPECT_EQ(run().summary.state_hash, whole.summary.state_hash);

  SetUp();
  stop_after_ = 1;
  const std::string other = folder + "_2";
  Checkpoints first(other, 2, "r");
  EXPECT_EQ(run(true, &first).summary.steps, 4);
  SetUp();
  stop_after_ = 1000;
  ASSERT_TRUE(first.load_newest(*trainer_).ok());
  exchange_->start_after(trainer_->rounds_done());
  EXPECT_EQ(run(true, &first).summary.state_hash, whole.summary.state_hash);
  std::filesystem::remove_all(folder);
  std::filesystem::remove_all(other);
}

TEST_F(RunLoopTest, ARoundTakesAtLeastWhatTheRecipeSays) {
  recipe_.run.round_seconds_min = 0.03;
  SetUp();
  const TimePoint begun = clock_.now();
  EXPECT_EQ(run().summary.end, RunEnd::kFinished);
  EXPECT_GE(clock_.now() - begun, from_seconds(5 * 0.03));
}

}  // namespace
}  // namespace weft::run_loop_test
