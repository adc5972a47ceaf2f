#include "weft/gossip/gossip_core.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/gossip/test_gossip_network.h"
#include "weft/wire/frame_type.h"

namespace weft::gossip_core_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TestGossipOptions of_members(std::size_t members, int degree = 4) {
  TestGossipOptions options;
  options.seed = 5;
  options.gossip.topology = random_regular(degree, 9);
  options.gossip.start_members = members;
  options.gossip.deadline = milliseconds(500);
  options.gossip.last_round = Round(1000);
  options.gossip.doubt_for = seconds(20);
  return options;
}

void gather(TestGossipNetwork& network, std::size_t members, std::size_t elements = 4) {
  for (std::size_t i = 0; i < members; ++i) {
    network.add(std::vector<float>(elements, static_cast<float>(i)), false,
                i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0});
  }
}

TEST(GossipCore, OneMemberAloneGoesOnWithItsOwnParameters) {
  TestGossipNetwork network(of_members(1), {});
  gather(network, 1);
  ASSERT_TRUE(network.run_rounds(Round(5), minutes(1)));
  EXPECT_EQ(network.member(0).values, std::vector<float>(4, 0.0F));
  EXPECT_EQ(network.member(0).mixes[0].own_weight, 1);
}

TEST(GossipCore, TwoMembersMeetInTheMiddle) {
  TestGossipNetwork network(of_members(2), {});
  gather(network, 2);
  ASSERT_TRUE(network.run_rounds(Round(1), minutes(1)));
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(network.member(i).values[0], 0.5F);
}

// So that runs of the same members have the same bits.
TEST(GossipCore, AllBeginWithOneTopology) {
  constexpr std::size_t kMembers = 16;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestGossipOptions options = of_members(kMembers);
    options.seed = seed;
    TestGossipNetwork network(options, {});
    gather(network, kMembers);
    std::vector<PeerId> all;
    for (std::size_t i = 0; i < kMembers; ++i) all.push_back(network.id(i));
    ASSERT_TRUE(network.run_rounds(Round(1), minutes(1)));
    for (std::size_t i = 0; i < kMembers; ++i) {
      const GossipMix& mix = network.member(i).mixes.at(0);
      EXPECT_EQ(mix.round, Round(1));
      EXPECT_EQ(mix.members, kMembers);
      EXPECT_EQ(mix.mixed, options.gossip.topology.neighbours(network.id(i), all).peers.size())
          << "member " << i << " of seed " << seed;
    }
  }
}

// A run whose members have all ended goes on from what one of them has kept.
TEST(GossipCore, AFounderThatGoesOnGivesItsParametersToAllBeforeTheFirstRound) {
  TestGossipOptions options = of_members(3, 2);
  TestGossipNetwork network(options, {});
  const std::vector<float> kept = {1, 2, 3, 4};
  const auto shared = std::make_shared<const std::vector<float>>(kept);
  network.add(kept, false, {}, [&](GossipOptions& own) {
    own.first_round = Round(41);
    own.first_parameters = SharedBytes(shared, as_bytes(std::span<const float>(*shared)));
  });
  for (int i = 0; i < 2; ++i) network.add(std::vector<float>(4, 99.0F), true, {0});
  ASSERT_TRUE(network.run_rounds(Round(45), minutes(1)));
  for (std::size_t i = 0; i < 3; ++i) {
    const TestGossipNetwork::Member& member = network.member(i);
    EXPECT_EQ(member.mixes.at(0).round, Round(41));
    EXPECT_EQ(member.mixes.at(0).mixed, 2U) << "member " << i << " began before the others";
    for (std::size_t k = 0; k < 4; ++k) EXPECT_FLOAT_EQ(member.values[k], kept[k]);
  }
}

// Whoever finishes first may not end its links yet: its parameters may still be on their way.
TEST(GossipCore, ALinkIsNeededUntilBothEndsHaveFinishedTheLastRound) {
  TestGossipOptions options = of_members(2);
  options.gossip.last_round = Round(3);
  TestGossipNetwork network(options, {});
  gather(network, 2);
  network.stall(1, seconds(1));
  const auto over = [&](std::size_t i) {
    return network.member(i).core->phase() == GossipPhase::kOver;
  };
  bool waited = false;
  ASSERT_TRUE(network.run_until(
      [&] {
        if (over(0) != over(1)) waited = waited || !network.member(over(0) ? 0 : 1).core->parted();
        return over(0) && over(1);
      },
      minutes(1)));
  EXPECT_TRUE(waited);
  EXPECT_TRUE(network.run_until(
      [&] { return network.member(0).core->parted() && network.member(1).core->parted(); },
      seconds(1)));
  // One that is gone is not waited for.
  TestGossipNetwork other(options, {});
  gather(other, 2);
  ASSERT_TRUE(other.run_rounds(Round(3), minutes(1)));
  other.member(0).core->link_down(other.id(1), other.now());
  EXPECT_TRUE(other.member(0).core->parted());
}

TEST(GossipCore, ARunThatIsOverAtItsStartHasNoRound) {
  TestGossipOptions options = of_members(1);
  options.gossip.last_round = Round(40);
  TestGossipNetwork network(options, {});
  network.add({1, 2, 3, 4}, false, {}, [](GossipOptions& own) { own.first_round = Round(41); });
  EXPECT_EQ(network.member(0).core->phase(), GossipPhase::kOver);
}

// A vector of several pieces is as one.
TEST(GossipCore, LongVectorsTravelInPieces) {
  constexpr std::size_t kElements = 2 * kGossipPieceElements + 3;
  TestGossipNetwork network(of_members(2), {});
  for (std::size_t i : {0U, 1U}) {
    std::vector<float> values(kElements);
    for (std::size_t k = 0; k < kElements; ++k) values[k] = static_cast<float>((k + i) % 1024);
    network.add(std::move(values), false, i == 0 ? std::vector<std::size_t>{} : std::vector{0UL});
  }
  const std::vector<float> a = network.member(0).values;
  const std::vector<float> b = network.member(1).values;
  ASSERT_TRUE(network.run_rounds(Round(1), minutes(1)));
  for (std::size_t k = 0; k < kElements; ++k) {
    ASSERT_EQ(network.member(0).values[k], 0.5F * a[k] + 0.5F * b[k]);
    ASSERT_EQ(network.member(1).values[k], 0.5F * a[k] + 0.5F * b[k]);
  }
}

TEST(GossipCore, AMemberThatSendsNothingCostsItsNeighboursAFewDeadlines) {
  TestGossipOptions options = of_members(12);
  TestGossipNetwork network(options, {});
  gather(network, 12);
  ASSERT_TRUE(network.run_rounds(Round(5), minutes(1)));
  // Its machine is gone, and nobody's system says so.
  network.crash(3, false);
  const TimePoint begun = network.now();
  ASSERT_TRUE(network.run_rounds(Round(25), minutes(1)));
  std::size_t missed = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    if (i == 3) continue;
    std::size_t waits = 0;
    for (const GossipMix& mix : network.member(i).mixes) missed += mix.missing;
    for (const GossipMix& mix : network.member(i).mixes) waits += mix.missing > 0 ? 1 : 0;
    // For the silent one itself, and for those who waited for it.
    EXPECT_LE(waits, 2 * static_cast<std::size_t>(options.gossip.missed_max));
    // What others wait for is waited for, too, but not longer than the deadline.
    EXPECT_LE(network.member(i).longest_pause, options.gossip.deadline + milliseconds(1));
    EXPECT_FALSE(network.member(i).core->neighbours().contains(network.id(3)));
  }
  EXPECT_GE(missed, 2U);
  EXPECT_LT(network.now() - begun, seconds(4));
}

TEST(GossipCore, ANewcomerTakesParametersAndRoundOfAMember) {
  TestGossipNetwork network(of_members(6), [](std::size_t, Round, auto, std::span<float> mixed) {
    for (float& value : mixed) value += 1;  // so that values tell rounds
  });
  gather(network, 6);
  ASSERT_TRUE(network.run_rounds(Round(30), minutes(1)));
  const std::size_t late = network.add(std::vector<float>(4, -1e6F), true, {2});
  ASSERT_TRUE(network.run_rounds(Round(60), minutes(1)));
  const TestGossipNetwork::Member& newcomer = network.member(late);
  EXPECT_GE(newcomer.mixes.front().round, Round(30));
  EXPECT_GT(newcomer.values[0], 0.0F);
  EXPECT_GT(newcomer.mixes.back().mixed, 0U);
  for (std::size_t i = 0; i <= late; ++i) {
    EXPECT_EQ(network.member(i).core->members(), 7U);
    const GossipMix& last = network.member(i).mixes.back();
    EXPECT_GE(last.mixed, 2U) << i;
    EXPECT_EQ(last.mixed, last.degree) << i;
  }
}

TEST(GossipCore, ANewcomerAsksAnotherWhenTheFirstOneIsGone) {
  TestGossipOptions options = of_members(6);
  TestGossipNetwork network(options, {});
  gather(network, 6);
  ASSERT_TRUE(network.run_rounds(Round(30), minutes(1)));
  const std::size_t late = network.add(std::vector<float>(4, -1e6F), true, {1, 2});
  ASSERT_TRUE(network.run_until([&] { return network.linked(late, 1) && network.linked(late, 2); },
                                seconds(1)));
  // Whichever of the two it asked.
  const PeerId& own = network.id(late);
  const std::size_t asked = (network.id(1) > own) == (network.id(2) > own)
                                ? (network.id(1) < network.id(2) ? 1U : 2U)
                                : (network.id(1) > own ? 1U : 2U);
  network.crash(asked, false);
  ASSERT_TRUE(network.run_until([&] { return !network.member(late).mixes.empty(); }, seconds(30)));
  EXPECT_GE(network.member(late).values[0], 0.0F);
}

TEST(GossipCore, WhoIsLeftBehindJumpsToTheRoundOfItsNeighbours) {
  TestGossipOptions options = of_members(8);
  options.gossip.deadline = milliseconds(50);
  TestGossipNetwork network(options, {});
  gather(network, 8);
  ASSERT_TRUE(network.run_rounds(Round(5), minutes(1)));
  // It computes for long once: the others go on at their deadlines.
  network.stall(4, seconds(2));
  ASSERT_TRUE(network.run_rounds(Round(60), minutes(1)));
  EXPECT_GT(network.member(4).core->counts().jumps, 3U);
  EXPECT_LT(network.member(4).mixes.size(), 60U);
  ASSERT_TRUE(network.run_rounds(Round(network.member(4).core->round().value() + 10), minutes(1)));
  EXPECT_GT(network.member(4).mixes.back().mixed, 0U);
  const auto rounds = [&](std::size_t i) { return network.member(i).core->round().value(); };
  EXPECT_NEAR(static_cast<double>(rounds(4)), static_cast<double>(rounds(0)), 3);
}

TEST(GossipCore, WhoLeavesIsForgottenWithoutAPause) {
  TestGossipNetwork network(of_members(8), {});
  gather(network, 8);
  ASSERT_TRUE(network.run_rounds(Round(5), minutes(1)));
  network.leave(2);
  network.member(2).running = false;
  ASSERT_TRUE(network.run_rounds(Round(20), minutes(1)));
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == 2) continue;
    EXPECT_EQ(network.member(i).core->members(), 7U);
    EXPECT_LT(network.member(i).longest_pause, milliseconds(500 + 1));
  }
}

TEST(GossipCore, AllEndAtTheLastRound) {
  TestGossipOptions options = of_members(8);
  options.gossip.last_round = Round(12);
  TestGossipNetwork network(options, {});
  gather(network, 8);
  ASSERT_TRUE(network.run_rounds(Round(12), minutes(1)));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(network.member(i).core->phase(), GossipPhase::kOver);
    EXPECT_EQ(network.member(i).mixes.size(), 12U);
  }
  // Who comes now gets the parameters and nothing to do.
  const std::size_t late = network.add(std::vector<float>(4, -1e6F), true, {2});
  ASSERT_TRUE(network.run_until(
      [&] { return network.member(late).core->phase() == GossipPhase::kOver; }, seconds(5)));
  EXPECT_GT(network.member(late).values[0], -1.0F);
}

TEST(GossipCore, OwnParametersThatAreNoNumbersAreRefusedBeforeAnybodyGetsThem) {
  GossipOptions options;
  options.signer = test_signer(1);
  options.elements = 2;
  options.book.check = check_test_signature;
  GossipCore core(options, TimePoint{});
  ASSERT_EQ(core.phase(), GossipPhase::kIdle);
  const std::vector<float> bad = {1.0F, std::nanf("")};
  const ByteSpan bytes = as_bytes(std::span<const float>(bad));
  const Status status = core.begin(SharedBytes(Bytes(bytes.begin(), bytes.end())), TimePoint{});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("learning rate"), std::string::npos);
  EXPECT_EQ(core.phase(), GossipPhase::kIdle);
}

// Each hostile frame ends its sender's link and changes nobody's parameters.
TEST(GossipCore, AHostileFrameEndsItsLinkAndNothingElse) {
  const auto floats = [](std::vector<float> values) {
    const ByteSpan bytes = as_bytes(std::span<const float>(values));
    return SharedBytes(Bytes(bytes.begin(), bytes.end()));
  };
  struct Hostile {
    std::uint8_t type;
    Bytes head;
    SharedBytes body;
  };
  const auto head = [](std::uint64_t round, std::uint32_t degree, std::uint64_t elements) {
    return GossipParametersHead{Round(round), degree, true, false, elements, 0}.encode();
  };
  MemberRecord forged;
  forged.key = test_signer(77).key;
  const std::vector<Hostile> all = {
      {frame_type::kGossipParameters, {1, 2, 3}, {}},
      {frame_type::kGossipParameters, head(7, 4, 5), floats({1, 2, 3, 4, 5})},
      {frame_type::kGossipParameters, head(7, 4, 4), floats({1, 2, 3})},
      {frame_type::kGossipParameters, head(900, 4, 4), floats({1, 2, 3, INFINITY})},
      {frame_type::kGossipParameters, head(900, 4, 4), floats({1, 2, 3, NAN})},
      {frame_type::kGossipParameters, head(7, 0, 4), floats({1, 2, 3, 4})},
      {frame_type::kGossipParameters, head(0, 4, 4), floats({1, 2, 3, 4})},
      {frame_type::kGossipParameters, head(1001, 4, 4), floats({1, 2, 3, 4})},
      {frame_type::kGossipAbsent, GossipAbsentMessage{Round(1001)}.encode(), {}},
      {frame_type::kGossipAbsent, {}, {}},
      {frame_type::kGossipParametersRequest, {1}, {}},
      {frame_type::kGossipBook, GossipBookMessage{{forged}}.encode(), {}},
      {frame_type::kGossipBook, {9, 9, 9, 9}, {}},
      {frame_type::kSegment, {}, {}},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    TestGossipNetwork network(of_members(4), {});
    gather(network, 4);
    ASSERT_TRUE(network.run_rounds(Round(5), minutes(1)));
    const std::vector<float> before = network.member(1).values;
    ASSERT_TRUE(network.linked(2, 1));
    network.inject(2, 1, all[i].type, all[i].head, all[i].body);
    EXPECT_EQ(network.member(1).closed_corrupt, 1U) << i;
    EXPECT_EQ(network.member(1).core->counts().corrupt_frames, 1U) << i;
    EXPECT_FALSE(network.linked(2, 1)) << i;
    EXPECT_EQ(network.member(1).values, before) << i;
    ASSERT_TRUE(network.run_rounds(Round(10), minutes(1))) << i;
    for (const float value : network.member(1).values) EXPECT_TRUE(std::isfinite(value)) << i;
  }
}

TEST(GossipCore, AFloodOfRoundsTakesNoMoreMemoryThanStated) {
  TestGossipNetwork network(of_members(3), {});
  gather(network, 3);
  ASSERT_TRUE(network.run_rounds(Round(3), minutes(1)));
  const std::vector<float> values(4, 1.0F);
  const ByteSpan bytes = as_bytes(std::span<const float>(values));
  for (std::uint64_t round = 3; round < 900; ++round) {
    const GossipParametersHead head{Round(round), 2, true, false, 4, 0};
    network.inject(2, 1, frame_type::kGossipParameters, head.encode(),
                   SharedBytes(Bytes(bytes.begin(), bytes.end())));
    ASSERT_LE(network.member(1).core->vectors_held(), 2 * kVectorsPerPeerMax);
  }
}

#ifdef WEFT_DEBUG_CHECKS
TEST(GossipCore, BelongsToTheThreadThatEntersItFirst) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto enter_twice = [] {
    TestGossipNetwork network(of_members(1), {});
    gather(network, 1);
    GossipCore& core = *network.member(0).core;
    core.tick(TimePoint{});
    Thread([&] { core.tick(TimePoint{}); }).join();
  };
  EXPECT_DEATH(enter_twice(), "is_owner");
}
#endif

}  // namespace
}  // namespace weft::gossip_core_test
