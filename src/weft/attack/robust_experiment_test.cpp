// A few cells of bench/robust_grid.cpp, after fewer steps.
#include "weft/attack/robust_experiment.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace weft::robust_experiment_test {
namespace {

double accuracy(const std::string& rule, const std::string& attack, bool same_data) {
  // Where data differ it takes longer to learn.
  const int steps = same_data ? 150 : 300;
  return robust_accuracy({.rule = rule, .attack = attack, .same_data = same_data, .steps = steps})
      .value();
}

TEST(RobustExperiment, AMedianHoldsAgainstWhatBreaksTheMean) {
  EXPECT_GT(accuracy("mean", "", true), 0.85);
  EXPECT_LT(accuracy("mean", "ipm:scale=10", true), 0.3);
  EXPECT_GT(accuracy("median", "ipm:scale=10", true), 0.8);
}

TEST(RobustExperiment, MixedNeighboursHoldWhereDataDiffer) {
  EXPECT_LT(accuracy("median", "sign_flip", false), 0.4);
  EXPECT_GT(accuracy("nnm trimmed_mean", "sign_flip", false), 0.6);
}

TEST(RobustExperiment, MomentumHelpsARule) {
  const auto with_momentum = [](double momentum) {
    return robust_accuracy({.rule = "geometric_median",
                            .attack = "ipm",
                            .honest = 12,
                            .liars = 8,
                            .batch = 4,
                            .steps = 200,
                            .momentum = momentum})
        .value();
  };
  EXPECT_GT(with_momentum(0.99) - with_momentum(0), 0.2);
}

TEST(RobustExperiment, TheSameOptionsGiveTheSameAccuracy) {
  RobustOptions options{.rule = "krum", .attack = "gaussian", .steps = 20};
  const double first = robust_accuracy(options).value();
  EXPECT_EQ(robust_accuracy(options).value(), first);
  options.seed = 2;
  EXPECT_NE(robust_accuracy(options).value(), first);
}

TEST(RobustExperiment, ARuleThatNeedsMoreMembersGivesNothing) {
  EXPECT_EQ(robust_accuracy({.rule = "bulyan", .steps = 1}), std::nullopt) << "16 members, not 19";
  EXPECT_THROW(robust_accuracy({.rule = "medain"}), std::runtime_error);
  EXPECT_THROW(robust_accuracy({.attack = "sign_flop"}), std::runtime_error);
}

}  // namespace
}  // namespace weft::robust_experiment_test
