#include "weft/train/exchange/engine_exchange.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/wire/collective_message.h"

namespace weft::engine_exchange_test {
namespace {

// Two members in one: the other gives what a test says. Only what the exchange uses.
class PairEngine final : public Engine {
 public:
  std::string_view name() const override { return "pair"; }
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::unique_ptr<Work> all_reduce(std::span<const float> input, std::span<float> output,
                                   const CallOptions& /*options*/) override {
    std::ranges::transform(input, output.begin(), [](float x) { return 2 * x; });
    return ended_work({});
  }
  std::unique_ptr<Work> all_gather(std::span<const float> input, std::span<float> output,
                                   const CallOptions& /*options*/) override {
    std::ranges::copy(input, output.begin());
    std::ranges::copy(input, output.begin() + static_cast<std::ptrdiff_t>(input.size()));
    if (change) change(output.subspan(input.size()));
    return ended_work({});
  }
  std::unique_ptr<Work> reduce_scatter(std::span<const float> /*input*/,
                                       std::span<float> /*output*/,
                                       const CallOptions& /*options*/) override {
    return ended_work({});
  }
  std::unique_ptr<Work> broadcast(std::span<float> /*values*/, int /*root*/,
                                  const CallOptions& /*options*/) override {
    return ended_work({});
  }
  std::unique_ptr<Work> barrier(const CallOptions& /*options*/) override { return ended_work({}); }
  std::unique_ptr<Work> send(std::span<const float> /*values*/, int /*to*/,
                             const CallOptions& /*options*/) override {
    return ended_work({});
  }
  std::unique_ptr<Work> receive(std::span<float> /*values*/, int /*from*/,
                                const CallOptions& /*options*/) override {
    return ended_work({});
  }

  // What the other says instead of the same.
  std::function<void(std::span<float> stand)> change;
};

struct Pair {
  Pair() {
    auto made = std::make_unique<PairEngine>();
    engine = made.get();
    EngineExchangeOptions options;
    options.last_round = Round(2);
    exchange = make_engine_exchange(std::move(made), options);
  }
  PairEngine* engine;
  std::unique_ptr<GroupExchange> exchange;
};

TEST(EngineExchange, TrainsEveryRoundAndFinishes) {
  Pair pair;
  const std::vector<float> values = {1, 2, 3};
  for (std::uint64_t round = 1; round <= 2; ++round) {
    const Result<Turn> turn = pair.exchange->next();
    ASSERT_TRUE(turn.ok());
    EXPECT_EQ(turn->kind, TurnKind::kTrain);
    EXPECT_EQ(turn->round, Round(round));
    EXPECT_EQ(turn->members, 2);
    ASSERT_TRUE(pair.exchange->begin(3).ok());
    pair.exchange->contribute(1, std::span<const float>(values).subspan(1));
    pair.exchange->contribute(0, std::span<const float>(values).first(1));
    EXPECT_EQ(pair.exchange->report(Bytes(kReportBytesMax + 1)).code(), Code::kInvalidArgument);
    EXPECT_EQ(pair.exchange->finish().status().code(), Code::kInvalidArgument)
        << "without its report";
    const Bytes report(round == 1 ? 5 : kReportBytesMax, 7);
    ASSERT_TRUE(pair.exchange->report(report).ok());
    const auto result = pair.exchange->finish();
    ASSERT_TRUE(result.ok());
    EXPECT_THAT(result->sums, testing::ElementsAre(2, 4, 6));
    EXPECT_THAT(result->reports, testing::ElementsAre(report, report));
    pair.exchange->applied(Round(round), {});
  }
  const Result<Turn> turn = pair.exchange->next();
  ASSERT_TRUE(turn.ok());
  EXPECT_EQ(turn->kind, TurnKind::kFinished);
}

TEST(EngineExchange, AReportThatIsTooLongEndsTheRun) {
  Pair pair;
  ASSERT_TRUE(pair.exchange->next().ok());
  ASSERT_TRUE(pair.exchange->begin(1).ok());
  ASSERT_TRUE(pair.exchange->report({1, 2}).ok());
  pair.engine->change = [](std::span<float> slot) {
    const auto long_one = static_cast<std::uint32_t>(kReportBytesMax + 1);
    std::memcpy(slot.data(), &long_one, sizeof long_one);
  };
  EXPECT_EQ(pair.exchange->finish().status().code(), Code::kCorrupt);
}

TEST(EngineExchange, WhatFixedMembersCannotDoIsRefusedWithTheReason) {
  Pair pair;
  EXPECT_EQ(pair.exchange->stand_in({}).code(), Code::kUnavailable);
  EXPECT_EQ(pair.exchange->state_lender(), nullptr);
  const Status refusals[] = {pair.exchange->ticket(std::chrono::hours(1)).status(),
                             pair.exchange->join_code("weft2-any").status(),
                             pair.exchange->revoke(InvitationId{}),
                             pair.exchange->expel(PeerId{}, "it lies").status()};
  for (const Status& refusal : refusals) {
    EXPECT_EQ(refusal.code(), Code::kUnavailable);
    EXPECT_THAT(refusal.message(), testing::HasSubstr("the members of this run are fixed"));
  }
}

TEST(EngineExchange, StatesThatDifferEndTheRun) {
  Pair pair;
  pair.engine->change = [](std::span<float> stand) { stand[1] = 3.0F; };
  const Result<Turn> turn = pair.exchange->next();
  EXPECT_EQ(turn.status().code(), Code::kCorrupt);
  EXPECT_THAT(turn.status().message(), testing::HasSubstr("rank 1"));
}

TEST(EngineExchange, WhoIsAskedToStopStopsAll) {
  Pair pair;
  EXPECT_TRUE(pair.exchange->leave(std::chrono::seconds(1)).ok());
  Pair other;
  // The word behind the hash and the round.
  other.engine->change = [](std::span<float> stand) {
    const std::uint32_t one = 1;
    std::memcpy(&stand[6], &one, sizeof one);
  };
  const Result<Turn> turn = other.exchange->next();
  EXPECT_EQ(turn.status().code(), Code::kUnavailable);
  EXPECT_THAT(turn.status().message(), testing::HasSubstr("rank 1"));
}

}  // namespace
}  // namespace weft::engine_exchange_test
