// Rounds of several exchanges in teams: at one member event by event, and at all members of a view
// over queues whose order is drawn from a seed, with links that break and views that change.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/reduce/collective_form.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/round/test_round_mesh.h"
#include "weft/wire/frame_type.h"

namespace weft::round_teams_test {
namespace {

PeerId peer_id(std::size_t number) { return mesh_peer_id(number); }
View make_view(std::uint64_t number, const std::vector<std::size_t>& members, Round base) {
  return mesh_view(number, members, base);
}

// --- One member.

struct Recorder final : StateSink {
  void send(const PeerId& to, Lane /*lane*/, Frame frame) override {
    sent.emplace_back(to, std::move(frame));
  }
  std::size_t queued_bytes(const PeerId& /*to*/) const override { return 0; }
  int count(std::uint8_t type) const {
    return static_cast<int>(
        std::ranges::count_if(sent, [&](const auto& each) { return each.second.type == type; }));
  }
  std::vector<std::pair<PeerId, Frame>> sent;
};

const RoundPlan kTwoTeams({{"even ranks", 4}, {"odd ranks", 2}});

// Rank 0 of a view of three: with rank 2 in the first exchange, a receiver of the second, to which
// rank 1 alone gives.
struct OneOfTwoTeams : testing::Test {
  OneOfTwoTeams() {
    EXPECT_TRUE(core.on_view(view, now).ok());
    core.begin(id, kTwoTeams, now);
  }
  static RoundCoreOptions options() {
    RoundCoreOptions made;
    made.self = peer_id(0);
    return made;
  }
  ReadyMessage ready() const {
    ReadyMessage message{id, {}};
    for (const ExchangePlan& each : kTwoTeams.exchanges) {
      message.exchanges.push_back({Team::derive(view.id, 3, each.purpose)->id(),
                                   static_cast<std::uint64_t>(each.elements),
                                   {}});
    }
    return message;
  }
  Status give(std::size_t from, std::uint8_t type, const Bytes& head,
              const std::vector<float>& body = {}) {
    return core.on_frame(peer_id(from), {type, head, as_bytes(std::span<const float>(body))}, now);
  }
  // Both exchanges are small: the first is a direct one, the second has a single member.
  Status direct(std::size_t from, std::uint8_t exchange = 0) {
    const SegmentHead head{{view.id, Round(1), exchange},
                           CollectiveOp::kDirect,
                           form_of({}, Algorithm::kDirect),
                           4,
                           0};
    return give(from, frame_type::kSegment, head.encode(), {10, 20, 30, 40});
  }
  Status delivery(std::size_t from, std::uint8_t exchange = 1) {
    const SegmentHead head{{view.id, Round(1), exchange},
                           CollectiveOp::kDelivery,
                           form_of({}, Algorithm::kRing),
                           2,
                           0};
    return give(from, frame_type::kSegment, head.encode(), {7, 8});
  }

  const View view = make_view(5, {0, 1, 2}, Round(0));
  const CollectiveId id{view.id, Round(1)};
  const std::vector<float> mine = {1, 2, 3, 4};
  const std::vector<float> result = {11, 22, 33, 44, 7, 8};
  TimePoint now;
  Recorder sink;
  RoundCore core{options(), sink};
};

TEST_F(OneOfTwoTeams, IsDoneWhenAllExchangesAreComplete) {
  core.contribute(0, 0, mine, now);
  ASSERT_TRUE(give(1, frame_type::kReady, ready().encode()).ok());
  ASSERT_TRUE(give(2, frame_type::kReady, ready().encode()).ok());
  ASSERT_TRUE(direct(2).ok());
  EXPECT_EQ(sink.count(frame_type::kDone), 0) << "the other team's result is not here";
  EXPECT_EQ(core.status({}).done, Round(0));
  ASSERT_TRUE(delivery(1).ok());
  EXPECT_EQ(sink.count(frame_type::kDone), 2);
  EXPECT_EQ(core.status({}).result_hash, result_hash(result, {}));
  for (const std::size_t other : {1U, 2U}) {
    EXPECT_FALSE(core.take_outcome().has_value());
    ASSERT_TRUE(
        give(other, frame_type::kDone, DoneMessage{id, result_hash(result, {})}.encode()).ok());
  }
  const auto outcome = core.take_outcome();
  ASSERT_TRUE(outcome && outcome->status.ok());
  EXPECT_THAT(outcome->values->span(), testing::ElementsAreArray(result));
}

TEST_F(OneOfTwoTeams, TheResultOfOneTeamAloneCommitsNothing) {
  core.contribute(0, 0, mine, now);
  ASSERT_TRUE(direct(2).ok());
  core.on_freeze();
  EXPECT_EQ(core.status({}).done, Round(0)) << "a promise does not count half a round";
  ASSERT_TRUE(core.on_view(make_view(6, {0, 2}, Round(0)), now).ok());
  EXPECT_EQ(core.take_outcome()->status.code(), Code::kAborted);
}

TEST_F(OneOfTwoTeams, FramesOfAnExchangeComeFromWhoHasAPartInIt) {
  core.contribute(0, 0, mine, now);
  EXPECT_EQ(direct(1).code(), Code::kCorrupt) << "rank 1 is not among the even ranks";
  EXPECT_EQ(delivery(2).code(), Code::kCorrupt) << "rank 2 is not among the odd ones";
  EXPECT_EQ(direct(2, 1).code(), Code::kCorrupt) << "another exchange, of another form";
  EXPECT_EQ(direct(2, 2).code(), Code::kCorrupt) << "the round has two";
  EXPECT_EQ(direct(2, kExchangesMax).code(), Code::kCorrupt);
  EXPECT_TRUE(core.open());
  EXPECT_TRUE(direct(2).ok());
}

TEST_F(OneOfTwoTeams, AnotherTeamOrOtherExchangesAreFound) {
  ReadyMessage other = ready();
  std::swap(other.exchanges[0].team, other.exchanges[1].team);
  EXPECT_EQ(give(1, frame_type::kReady, other.encode()).code(), Code::kCorrupt);
  other = ready();
  other.exchanges.pop_back();
  other.id = id;
  EXPECT_EQ(give(2, frame_type::kReady, other.encode()).code(), Code::kCorrupt);
  EXPECT_TRUE(core.open());
}

TEST_F(OneOfTwoTeams, WaitsForThoseOfBothTeams) {
  core.contribute(0, 0, mine, now);
  now += std::chrono::seconds(3);
  ASSERT_TRUE(core.waiting(now));
  EXPECT_THAT(core.waiting(now)->owing, testing::ElementsAre(peer_id(2)));
  EXPECT_EQ(core.waiting(now)->elements, 6);
  ASSERT_TRUE(direct(2).ok());
  now += std::chrono::seconds(3);
  EXPECT_THAT(core.waiting(now)->owing, testing::ElementsAre(peer_id(1)));
}

TEST(RoundOfTeams, WithoutReportsEachMemberIsInSomeTeam) {
  Recorder sink;
  RoundCoreOptions options;
  options.self = peer_id(0);
  for (const bool reports : {false, true}) {
    options.reports = reports;
    RoundCore core(options, sink);
    const View view = make_view(5, {0, 1, 2}, Round(0));
    ASSERT_TRUE(core.on_view(view, TimePoint()).ok());
    core.begin({view.id, Round(1)}, RoundPlan({{"even ranks", 4}}), TimePoint());
    EXPECT_EQ(core.open(), reports);
    if (!reports) {
      EXPECT_EQ(core.take_outcome()->status.code(), Code::kInvalidArgument);
    }
  }
}

TEST(RoundOfTeams, AnUnknownPurposeEndsTheRoundInWords) {
  Recorder sink;
  RoundCoreOptions options;
  options.self = peer_id(0);
  RoundCore core(options, sink);
  const View view = make_view(5, {0, 1}, Round(0));
  ASSERT_TRUE(core.on_view(view, TimePoint()).ok());
  core.begin({view.id, Round(1)}, RoundPlan({{"some", 4}}), TimePoint());
  EXPECT_EQ(core.take_outcome()->status.code(), Code::kInvalidArgument);
  core.begin({view.id, Round(1)}, 4, TimePoint());
  EXPECT_TRUE(core.open());
}

// A rule in place of the sum needs its members in each team.
TEST(RoundOfTeams, ATeamThatIsTooSmallForTheRuleWaitsForAnotherView) {
  Recorder sink;
  RoundCoreOptions options;
  options.self = peer_id(0);
  options.all_reduce.aggregator = *Aggregator::parse("median");
  options.all_reduce.aggregate_round.liars = 1;
  RoundCore core(options, sink);
  const View small = make_view(5, {0, 1, 2, 3, 4}, Round(0));
  ASSERT_TRUE(core.on_view(small, TimePoint()).ok());
  EXPECT_TRUE(core.can_aggregate().ok()) << "no round of teams was begun yet";
  core.begin({small.id, Round(1)}, kTwoTeams, TimePoint());
  EXPECT_EQ(core.take_outcome()->status.code(), Code::kAborted);
  EXPECT_EQ(core.can_aggregate().code(), Code::kInvalidArgument);
  ASSERT_TRUE(core.on_view(make_view(6, {0, 1, 2, 3, 4, 5}, Round(0)), TimePoint()).ok());
  EXPECT_TRUE(core.can_aggregate().ok());
}

// --- All members of a view.

class TeamsOfAMesh : public testing::TestWithParam<MeshKind> {
 protected:
  // Large, small and empty vectors; teams that overlap, and one of a single member.
  const RoundPlan plan_ = RoundPlan({{"odd ranks", 1500},
                                     {"even ranks", 700},
                                     {"all", 40},
                                     {"stage 1 of 2", 0},
                                     {"column 0 of 7", 300}});
};

TEST_P(TeamsOfAMesh, AllMembersGetTheResultsOfAllTeamsOverLinksThatBreak) {
  const Codec codec = *Codec::parse(GetParam().codec);
  const bool exact = GetParam().precision == WirePrecision::kF32;
  for (const std::uint64_t seed : TestSeeds(1, 25)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RoundMesh mesh(GetParam(), 5, seed);
    MeshInOnePlace one_place(codec);
    mesh.install(Round(0));
    for (std::uint64_t round = 1; round <= 2; ++round) {
      mesh.begin(round, plan_);
      for (int fault = 0; fault < 6; ++fault) {
        for (std::uint64_t steps = mesh.below(120); steps > 0; --steps) mesh.step();
        const std::size_t a = mesh.alive()[mesh.below(5)];
        const std::size_t b = mesh.other_than(a);
        mesh.break_link(a, b);
        for (std::uint64_t steps = mesh.below(30); steps > 0; --steps) mesh.step();
        mesh.restore_link(a, b);
      }
      mesh.run();
      const std::vector<float> expected = one_place.round(mesh, round, plan_);
      std::optional<Hash128> hash;
      for (const std::size_t member : mesh.alive()) {
        const auto outcome = mesh.core(member).take_outcome();
        ASSERT_TRUE(outcome.has_value()) << "member " << member << ", round " << round;
        ASSERT_TRUE(outcome->status.ok()) << outcome->status.to_string();
        EXPECT_EQ(hash.value_or(outcome->hash), outcome->hash);
        hash = outcome->hash;
        const auto got = std::as_const(*outcome->values).span();
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_NEAR(got[i], expected[i], exact ? 0.0 : 20.0) << "element " << i;
        }
      }
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

// What a member holds once a round is committed: the results that one place computes.
void expect_committed(const std::optional<RoundOutcome>& outcome,
                      const std::vector<float>& expected, double tolerance) {
  ASSERT_TRUE(outcome.has_value());
  ASSERT_TRUE(outcome->status.ok()) << outcome->status.to_string();
  const auto got = std::as_const(*outcome->values).span();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], tolerance) << "element " << i;
  }
}

void expect_residuals(RoundMesh& mesh, const MeshInOnePlace& oracle, Round round,
                      std::size_t exchanges) {
  for (const std::size_t member : mesh.alive()) {
    const ResidualState state = mesh.core(member).residual_state();
    EXPECT_EQ(state.round, round);
    for (std::size_t i = 0; i < exchanges; ++i) {
      const ResidualValues want = oracle.residual(member, i);
      ASSERT_EQ(state.of(i) != nullptr, want != nullptr) << "member " << member << ", " << i;
      if (want) {
        EXPECT_EQ(*state.of(i), *want);
      }
    }
  }
}

// Kills one member and installs the view of the others, with the base that their promises give.
Round survive(RoundMesh& mesh, std::map<std::size_t, RoundOutcome>& ended) {
  mesh.kill(mesh.alive()[mesh.below(mesh.alive().size())]);
  Round base(UINT64_MAX);
  for (const std::size_t member : mesh.alive()) mesh.core(member).on_freeze();
  for (const std::size_t member : mesh.alive()) {
    RoundCore& core = mesh.core(member);
    base = std::min(base, std::max(core.status({}).done, core.committed()));
    if (auto outcome = core.take_outcome()) ended[member] = std::move(*outcome);
  }
  mesh.install(base);
  for (const std::size_t member : mesh.alive()) {
    if (auto outcome = mesh.core(member).take_outcome()) ended[member] = std::move(*outcome);
  }
  return base;
}

// A member dies at any moment of a round: the survivors' view commits all teams' results or none,
// by the rule of the promises, and what is run again is run by the teams of the new view.
TEST_P(TeamsOfAMesh, AViewChangeCommitsAllTeamsOrNone) {
  const Codec codec = *Codec::parse(GetParam().codec);
  const double tolerance = GetParam().precision == WirePrecision::kF32 ? 0 : 20;
  int kept = 0;
  int again = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RoundMesh mesh(GetParam(), 5, seed);
    mesh.install(Round(0));
    mesh.begin(1, plan_);
    // Any moment, some of them late, where members are done or have committed.
    std::uint64_t steps = seed % 2 == 0 ? mesh.below(400) : 300 + mesh.below(900);
    while (steps-- > 0 && mesh.step()) {
    }
    MeshInOnePlace committed(codec);
    MeshInOnePlace rolled_back(codec);
    const std::vector<float> first = committed.round(mesh, 1, plan_);
    std::map<std::size_t, RoundOutcome> ended;
    const Round base = survive(mesh, ended);
    const bool commits = base == Round(1);
    ++(commits ? kept : again);
    for (const std::size_t member : mesh.alive()) {
      if (commits) {
        ASSERT_EQ(ended.count(member), 1U);
        expect_committed(ended[member], first, tolerance);
      } else if (ended.count(member) > 0) {
        EXPECT_EQ(ended[member].status.code(), Code::kAborted);
      }
    }
    MeshInOnePlace& oracle = commits ? committed : rolled_back;
    const Round next = base.next();
    mesh.begin(next.value(), plan_);
    mesh.run();
    const std::vector<float> expected = oracle.round(mesh, next.value(), plan_);
    for (const std::size_t member : mesh.alive()) {
      expect_committed(mesh.core(member).take_outcome(), expected, tolerance);
    }
    if (!codec.is_exact()) expect_residuals(mesh, oracle, next, plan_.exchanges.size());
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(again, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, TeamsOfAMesh,
    testing::Values(MeshKind{"auto"}, MeshKind{"tree", Algorithm::kTree},
                    MeshKind{"ring", Algorithm::kRing},
                    MeshKind{"butterfly", Algorithm::kButterfly},
                    MeshKind{"int8", Algorithm::kButterfly, WirePrecision::kInt8},
                    MeshKind{"topk", Algorithm::kAuto, WirePrecision::kF32, "topk:ratio=0.1"},
                    MeshKind{"hosts", Algorithm::kAuto, WirePrecision::kF32, "f32", true}),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace weft::round_teams_test
