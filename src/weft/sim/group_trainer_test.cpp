// The oracle: as many Trainers as there are members, each with a memory of its own.
#include "weft/sim/group_trainer.h"

#include <functional>

#include <gtest/gtest.h>

#include "weft/net/sim_network.h"
#include "weft/train/exchange/collecting_exchange.h"
#include "weft/train/recipe/test_recipe.h"

namespace weft::sim::group_trainer_test {
namespace {

constexpr int kMembers = 3;

Turn turn_of(TurnKind kind, std::uint64_t round, int rank) {
  Turn turn;
  turn.kind = kind;
  turn.round = Round(round);
  turn.rank = Rank(rank);
  turn.members = kMembers;
  return turn;
}

std::vector<float> sum_of(const std::vector<std::vector<float>>& parts) {
  std::vector<float> sums(parts.front().size());
  for (const std::vector<float>& part : parts) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  return sums;
}

// All rounds but the evaluation, by Trainers of their own; the hash after each.
std::vector<Hash128> with_own_trainers(const Recipe& recipe) {
  const SystemClock clock;
  std::vector<std::unique_ptr<Trainer>> trainers;
  trainers.reserve(kMembers);
  for (int i = 0; i < kMembers; ++i) {
    trainers.push_back(std::move(Trainer::make(recipe, {}, clock)).value());
  }
  std::vector<Hash128> hashes;
  for (std::uint64_t round = 1; round <= trainers[0]->training_rounds().value(); ++round) {
    std::vector<std::vector<float>> parts;
    std::vector<Bytes> reports;
    for (int rank = 0; rank < kMembers; ++rank) {
      CollectingExchange collector;
      const auto ended = trainers[static_cast<std::size_t>(rank)]->run_round(
          turn_of(TurnKind::kTrain, round, rank), collector);
      EXPECT_EQ(ended.status().code(), Code::kAborted);
      parts.push_back(collector.values());
      reports.push_back(collector.reported());
    }
    const std::vector<float> sums = sum_of(parts);
    Turn apply = turn_of(TurnKind::kApply, round, 0);
    apply.reduced = sums;
    apply.reports = reports;
    for (const auto& trainer : trainers) EXPECT_TRUE(trainer->apply_round(apply).ok());
    hashes.push_back(trainers[0]->hash().total);
  }
  return hashes;
}

// The same by one for all. `again`: the members' parts are computed twice, as of an aborted round.
std::vector<Hash128> with_one_trainer(const Recipe& recipe, bool again) {
  const SystemClock clock;
  const auto group = std::move(GroupTrainer::make(recipe, {}, clock)).value();
  std::vector<MemberState> members(kMembers, group->first_state());
  std::vector<Hash128> hashes;
  for (std::uint64_t round = 1; round <= group->trainer().training_rounds().value(); ++round) {
    std::vector<std::vector<float>> parts;
    std::vector<Bytes> reports;
    for (int rank = 0; rank < kMembers; ++rank) {
      MemberState& member = members[static_cast<std::size_t>(rank)];
      const Turn turn = turn_of(TurnKind::kTrain, round, rank);
      if (again) {
        EXPECT_TRUE(group->compute(member, turn).ok());
      }
      const auto part = group->compute(member, turn);
      EXPECT_TRUE(part.ok());
      parts.push_back(part->values);
      reports.push_back(part->report.encode());
    }
    const std::vector<float> sums = sum_of(parts);
    Turn apply = turn_of(TurnKind::kApply, round, 0);
    apply.reduced = sums;
    apply.reports = reports;
    for (MemberState& member : members) EXPECT_TRUE(group->apply(member, apply).ok());
    EXPECT_EQ(members[0].shared, members[2].shared) << "computed twice";
    hashes.push_back(members[1].shared->hash.total);
  }
  return hashes;
}

Recipe local_steps() {
  Recipe recipe = small_recipe();
  recipe.optimizer.name = "adam";
  recipe.run.steps = 12;
  recipe.local.steps = 3;
  return recipe;
}

}  // namespace

TEST(GroupTrainer, PlaysMembersOfExchangedSteps) {
  EXPECT_EQ(with_one_trainer(small_recipe(), false), with_own_trainers(small_recipe()));
}

TEST(GroupTrainer, KeepsEachMembersInnerOptimizerApart) {
  EXPECT_EQ(with_one_trainer(local_steps(), false), with_own_trainers(local_steps()));
}

TEST(GroupTrainer, TakesInnerStepsOnceThoughARoundIsRunAgain) {
  EXPECT_EQ(with_one_trainer(local_steps(), true), with_own_trainers(local_steps()));
}

TEST(GroupTrainer, ANewcomerTakesTheStateAsBytes) {
  const SystemClock clock;
  const auto group = std::move(GroupTrainer::make(small_recipe(), {}, clock)).value();
  MemberState first = group->first_state();
  const auto part = group->compute(first, turn_of(TurnKind::kTrain, 1, 0));
  ASSERT_TRUE(part.ok());
  Turn apply = turn_of(TurnKind::kApply, 1, 0);
  apply.reduced = part->values;
  apply.reports = {part->report.encode()};
  ASSERT_TRUE(group->apply(first, apply).ok());
  const Bytes state = group->encode(first, "run");
  MemberState newcomer = group->first_state();
  EXPECT_NE(newcomer.shared->hash.total, first.shared->hash.total);
  ASSERT_TRUE(group->adopt(newcomer, state).ok());
  EXPECT_EQ(newcomer.shared->hash.total, first.shared->hash.total);
  EXPECT_EQ(group->rounds_done(newcomer), Round(1));
  EXPECT_FALSE(group->adopt(newcomer, ByteSpan(state).first(state.size() / 2)).ok());
  EXPECT_EQ(newcomer.shared->hash.total, first.shared->hash.total);
}

TEST(GroupTrainer, SaysWhatItCannotPlay) {
  const SystemClock clock;
  const auto message = [&](const std::function<void(Recipe&)>& change) {
    Recipe recipe = local_steps();
    change(recipe);
    return GroupTrainer::make(recipe, {}, clock).status().message();
  };
  EXPECT_TRUE(message([](Recipe& r) {
                r.local.steps = 1;
                r.group.exchange = "gossip";
              }).starts_with("group.exchange: only exact"));
  EXPECT_TRUE(message([](Recipe& r) { r.group.shares = "speed"; }).starts_with("group.shares: "));
  EXPECT_TRUE(message([](Recipe& r) { r.group.wait = "deadline"; }).starts_with("group.wait: "));
  EXPECT_TRUE(message([](Recipe& r) { r.local.overlap = true; }).starts_with("local.overlap: "));
}

}  // namespace weft::sim::group_trainer_test
