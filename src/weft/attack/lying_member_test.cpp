// A lying member before an exchange that writes down what it is given.
#include "weft/attack/lying_member.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::lying_member_test {
namespace {

using testing::ElementsAre;

class Recorder final : public RoundExchange {
 public:
  Result<Turn> next() override { return unavailable("no turn"); }
  Status stand_in(const StandIn& /*stand_in*/) override { return {}; }
  Status begin(std::int64_t elements) override {
    begun = elements;
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    offsets.push_back(offset);
    sent.assign(values.begin(), values.end());
  }
  Status report(Bytes bytes) override {
    reported = std::move(bytes);
    return {};
  }
  Result<RoundResult> finish() override { return aborted("run it again"); }
  void applied(Round /*round*/, const StateHash& /*hash*/) override {}
  StateLender* state_lender() override { return nullptr; }
  Result<ResidualState> residual_state() override { return ResidualState{}; }

  std::int64_t begun = 0;
  std::vector<std::int64_t> offsets;
  std::vector<float> sent;
  Bytes reported;
};

struct Pair {
  explicit Pair(const std::string& attack)
      : liar(make_lying_member(recorder, *Attack::parse(attack))) {}
  // In two pieces, the last one first.
  void send(const std::vector<float>& values) {
    EXPECT_TRUE(liar->begin(static_cast<std::int64_t>(values.size())).ok());
    liar->contribute(2, std::span(values).subspan(2));
    liar->contribute(0, std::span(values).first(2));
  }

  Recorder recorder;
  std::unique_ptr<RoundExchange> liar;
};

TEST(LyingMember, SendsLiesOnceAllIsReady) {
  Pair pair("sign_flip:scale=4");
  pair.send({1, 2, 3, -4});
  EXPECT_EQ(pair.recorder.begun, 4);
  EXPECT_THAT(pair.recorder.offsets, ElementsAre(0));
  EXPECT_THAT(pair.recorder.sent, ElementsAre(-4, -8, -12, 16));
  pair.send({1, 1, 1, 1});
  EXPECT_THAT(pair.recorder.sent, ElementsAre(-4, -4, -4, -4));
}

TEST(LyingMember, TakesItselfForTheHonestMembers) {
  Pair pair("ipm:scale=2");
  pair.send({1, 2, 3, -4});
  EXPECT_THAT(pair.recorder.sent, ElementsAre(-2, -4, -6, 8));
}

TEST(LyingMember, RemembersFromRoundToRound) {
  Pair pair("stale");
  pair.send({1, 2, 3, 4});
  pair.send({5, 6, 7, 8});
  EXPECT_THAT(pair.recorder.sent, ElementsAre(1, 2, 3, 4));
  pair.send({0, 0, 0, 0});
  EXPECT_THAT(pair.recorder.sent, ElementsAre(5, 6, 7, 8));
}

TEST(LyingMember, DrawsAnewInEachRound) {
  Pair pair("gaussian:sigma=1");
  pair.send({1, 2, 3, 4});
  const std::vector<float> first = pair.recorder.sent;
  pair.send({1, 2, 3, 4});
  EXPECT_NE(pair.recorder.sent, first);
}

TEST(LyingMember, IsHonestInAllElse) {
  Pair pair("zero");
  EXPECT_TRUE(pair.liar->report(Bytes{7}).ok());
  EXPECT_EQ(pair.recorder.reported, Bytes{7});
  EXPECT_EQ(pair.liar->finish().status().code(), Code::kAborted);
}

}  // namespace
}  // namespace weft::lying_member_test
