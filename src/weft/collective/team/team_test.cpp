// The contract of teams: what is derived from a view, what is refused, and what an id covers.
#include "weft/collective/team/team.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/team/round_plan.h"

namespace weft::team_test {
namespace {

using testing::ElementsAre;

ViewId view_id(std::uint64_t number) {
  ViewId id;
  id.number = ViewNumber(number);
  id.hash[3] = static_cast<std::uint8_t>(number);
  return id;
}

std::vector<int> ranks(const Result<Team>& team) {
  std::vector<int> all;
  for (const Rank rank : team->members()) all.push_back(rank.value());
  return all;
}
std::vector<int> derived(int size, std::string_view purpose) {
  return ranks(Team::derive(view_id(4), size, purpose));
}
std::vector<Rank> as_ranks(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}

TEST(Team, IsWhatItsPurposeSays) {
  EXPECT_THAT(derived(5, "all"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(derived(5, "even ranks"), ElementsAre(0, 2, 4));
  EXPECT_THAT(derived(5, "odd ranks"), ElementsAre(1, 3));
  EXPECT_THAT(derived(8, "column 1 of 3"), ElementsAre(1, 4, 7));
  EXPECT_THAT(derived(7, "stage 0 of 3"), ElementsAre(0, 1));
  EXPECT_THAT(derived(7, "stage 1 of 3"), ElementsAre(2, 3));
  EXPECT_THAT(derived(7, "stage 2 of 3"), ElementsAre(4, 5, 6));
}

TEST(Team, StagesAndColumnsShareAViewOutAmongThem) {
  for (const std::string kind : {"stage", "column"}) {
    for (int size = 1; size <= 9; ++size) {
      for (int parts = 1; parts <= 9; ++parts) {
        std::multiset<int> all;
        for (int part = 0; part < parts; ++part) {
          const auto team =
              derived(size, kind + " " + std::to_string(part) + " of " + std::to_string(parts));
          ASSERT_FALSE(team.empty()) << "a round always has all of its exchanges";
          all.insert(team.begin(), team.end());
        }
        for (int rank = 0; rank < size; ++rank) {
          EXPECT_GE(all.count(rank), 1U) << kind << " " << size << " " << parts;
          if (parts <= size) {
            EXPECT_EQ(all.count(rank), 1U);
          }
        }
      }
    }
  }
}

TEST(Team, InAViewThatIsTooSmallOneMemberStandsIn) {
  EXPECT_THAT(derived(1, "odd ranks"), ElementsAre(0));
  EXPECT_THAT(derived(2, "column 5 of 8"), ElementsAre(1));
  EXPECT_THAT(derived(2, "stage 0 of 4"), ElementsAre(0));
  EXPECT_THAT(derived(2, "stage 1 of 4"), ElementsAre(0));
  EXPECT_THAT(derived(2, "stage 2 of 4"), ElementsAre(1));
}

TEST(Team, MapsItsRanksToThoseOfTheViewAndBack) {
  const Result<Team> team = Team::make(view_id(1), 6, "neighbours", as_ranks({4, 0, 5}));
  ASSERT_TRUE(team.ok());
  EXPECT_EQ(team->size(), 3);
  EXPECT_EQ(team->view_size(), 6);
  EXPECT_EQ(team->member(TeamRank(0)), Rank(4)) << "its order is its own";
  EXPECT_EQ(team->rank_of(Rank(5)), TeamRank(2));
  EXPECT_EQ(team->rank_of(Rank(1)), TeamRank(-1));
  EXPECT_EQ(team->rank_of(Rank(-1)), TeamRank(-1));
  EXPECT_EQ(team->rank_of(Rank(6)), TeamRank(-1));
  EXPECT_FALSE(team->contains(Rank(3)));
  for (int i = 0; i < team->size(); ++i) {
    EXPECT_EQ(team->rank_of(team->member(TeamRank(i))), TeamRank(i));
  }
}

TEST(Team, RefusesWhatIsNoneOfTheView) {
  const auto code = [](const std::vector<int>& members, std::string_view purpose = "p") {
    return Team::make(view_id(1), 3, purpose, as_ranks(members)).status().code();
  };
  EXPECT_EQ(code({0, 2}), Code::kOk);
  EXPECT_EQ(code({}), Code::kInvalidArgument);
  EXPECT_EQ(code({0, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({3}), Code::kInvalidArgument);
  EXPECT_EQ(code({-1}), Code::kInvalidArgument);
  EXPECT_EQ(code({1}, ""), Code::kInvalidArgument);
  EXPECT_EQ(code({1}, std::string(kPurposeBytesMax + 1, 'p')), Code::kInvalidArgument);
}

TEST(Team, RefusesPurposesThatMeanNothing) {
  for (const char* purpose :
       {"", "All", "odd", "ranks", "stage", "stage 1", "stage 1 of", "stage 1 of 1",
        "stage -1 of 3", "stage 01 of 3", "stage 1 of 3 ", "stage 1  of 3", "column 0 of 0",
        "column 0 of 4097", "column 0 of 99999999999999999999", "column x of 2",
        "column 00 of 2"}) {
    EXPECT_EQ(Team::derive(view_id(1), 3, purpose).status().code(), Code::kInvalidArgument)
        << purpose;
  }
}

TEST(Team, ItsIdCoversTheViewThePurposeAndTheMembers) {
  const auto id = [](std::uint64_t view, std::string_view purpose,
                     const std::vector<int>& members) {
    return Team::make(view_id(view), 5, purpose, as_ranks(members))->id();
  };
  const TeamId one = id(1, "p", {0, 1});
  EXPECT_EQ(id(1, "p", {0, 1}), one);
  EXPECT_NE(id(2, "p", {0, 1}), one);
  EXPECT_NE(id(1, "q", {0, 1}), one);
  EXPECT_NE(id(1, "p", {1, 0}), one);
  EXPECT_NE(id(1, "p", {0}), one);
  EXPECT_EQ(Team::derive(view_id(1), 5, "odd ranks")->id(), id(1, "odd ranks", {1, 3}));
}

TEST(RoundPlan, LaysTheResultsOfItsExchangesOneAfterTheOther) {
  const RoundPlan plan({{"even ranks", 3}, {"odd ranks", 0}, {"all", 2}});
  ASSERT_TRUE(plan.check(5).ok());
  EXPECT_EQ(plan.elements(), 5);
  EXPECT_EQ(plan.offset(2), 3);
  const std::vector<float> round = {1, 2, 3, 4, 5};
  EXPECT_THAT(plan.result(round, 0), ElementsAre(1, 2, 3));
  EXPECT_TRUE(plan.result(round, 1).empty());
  EXPECT_THAT(plan.result(round, 2), ElementsAre(4, 5));
}

TEST(RoundPlan, RefusesWhatNoRoundCanBe) {
  const auto code = [](const RoundPlan& plan) { return plan.check(10).code(); };
  EXPECT_EQ(code(RoundPlan(10)), Code::kOk);
  EXPECT_EQ(code(RoundPlan(11)), Code::kInvalidArgument);
  EXPECT_EQ(code(RoundPlan(-1)), Code::kInvalidArgument);
  EXPECT_EQ(code(RoundPlan()), Code::kInvalidArgument);
  EXPECT_EQ(code(RoundPlan({{"all", 6}, {"all", 5}})), Code::kInvalidArgument);
  EXPECT_EQ(code(RoundPlan({{"all", 6}, {"all", INT64_MAX}})), Code::kInvalidArgument);
  EXPECT_EQ(code(RoundPlan({{"some", 1}})), Code::kInvalidArgument);
  EXPECT_EQ(code(RoundPlan(std::vector<ExchangePlan>(kExchangesMax, {"all", 0}))), Code::kOk);
  EXPECT_EQ(code(RoundPlan(std::vector<ExchangePlan>(kExchangesMax + 1, {"all", 0}))),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft::team_test
