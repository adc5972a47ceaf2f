// StateServer and StateFetch against each other over a queue that a test can shuffle and damage.
#include <algorithm>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "weft/collective/test_state_group.h"

namespace weft::state_transfer_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Group = StateGroup;

TEST(StateTransfer, SnapshotComesFromSeveralMembersAndIsWhole) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Group group(3);
    group.seed(seed);
    const Bytes state = state_bytes(kStateBlockBytes * 6 + 777, 3);
    group.publish_all(Round(12), state);
    std::map<PeerId, int> blocks;
    group.damage = [&](const Group::Sent& sent, Bytes&) {
      blocks[sent.from] += sent.frame.type == frame_type::kBlock ? 1 : 0;
    };
    group.fetch().fetch_snapshot(group.now());
    const auto snapshot = group.snapshot();
    ASSERT_TRUE(snapshot) << "seed " << seed;
    EXPECT_EQ(snapshot->round, Round(12));
    EXPECT_TRUE(same(snapshot->state.span(), state));
    EXPECT_GE(blocks.size(), 2U);
    EXPECT_EQ(blocks[peer_of(1)] + blocks[peer_of(2)] + blocks[peer_of(3)], 7);
  }
}

TEST(StateTransfer, ResultsFollowInOrderAndWaitForTheirRound) {
  Group group(3);
  constexpr std::int64_t kElements = 300'000;  // more than one piece
  group.publish_all(Round(4), state_bytes(1000, 1));
  for (std::uint64_t round = 5; round <= 8; ++round) group.commit_all(round, kElements);
  group.fetch().fetch_snapshot(group.now());
  ASSERT_TRUE(group.snapshot());
  for (std::uint64_t round = 5; round <= 8; ++round) {
    const auto result = group.result();
    ASSERT_TRUE(result) << round;
    EXPECT_EQ(result->round, Round(round));
    const auto expected = result_of(round, kElements);
    EXPECT_EQ(hash_of(*result->values), hash_of(*expected));
    EXPECT_EQ(result->hash, hash_of(*expected));
  }
  EXPECT_EQ(group.fetch().newest_known(), Round(8));
  EXPECT_FALSE(group.fetch().take_result(group.now()));
  while (group.deliver_one()) {
  }
  EXPECT_GT(group.fetch().next_deadline(), group.now()) << "a parked request is no fault";
  group.commit_all(9, kElements);
  const auto result = group.result();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->round, Round(9));
}

TEST(StateTransfer, SourceThatDiesLosesItsRequestsToOthers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Group group(3);
    group.seed(seed);
    const Bytes state = state_bytes(kStateBlockBytes * 9, 5);
    group.publish_all(Round(1), state);
    for (std::uint64_t round = 2; round <= 5; ++round) group.commit_all(round, 400'000);
    group.fetch().fetch_snapshot(group.now());
    for (std::uint64_t i = 0; i < 4 + seed; ++i) group.deliver_one();
    group.kill(seed % 3);
    const auto snapshot = group.snapshot();
    ASSERT_TRUE(snapshot) << "seed " << seed;
    EXPECT_TRUE(same(snapshot->state.span(), state));
    for (std::uint64_t i = 0; i < seed / 2; ++i) group.deliver_one();
    group.kill((seed + 1) % 3);
    for (std::uint64_t round = 2; round <= 5; ++round) {
      const auto result = group.result();
      ASSERT_TRUE(result) << "seed " << seed << " round " << round;
      EXPECT_EQ(hash_of(*result->values), hash_of(*result_of(round, 400'000)));
    }
  }
}

TEST(StateTransfer, FalseBlockIsRefusedAndItsSourceNamed) {
  Group group(2);
  const Bytes state = state_bytes(kStateBlockBytes * 5, 9);
  group.publish_all(Round(3), state);
  group.damage = [](const Group::Sent& sent, Bytes& body) {
    if (sent.from == peer_of(1) && sent.frame.type == frame_type::kBlock) body[17] ^= 1U;
  };
  group.fetch().fetch_snapshot(group.now());
  const auto snapshot = group.snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(same(snapshot->state.span(), state));
  ASSERT_EQ(group.refused.size(), 1U);
  EXPECT_EQ(group.refused[0], peer_of(1));
}

TEST(StateTransfer, FalseResultIsRefusedAndItsSourceNamed) {
  Group group(2);
  group.publish_all(Round(3), state_bytes(10, 9));
  group.commit_all(4, 300'000);
  group.commit_all(5, 300'000);
  group.damage = [](const Group::Sent& sent, Bytes& body) {
    if (sent.from == peer_of(2) && sent.frame.type == frame_type::kResult) body.back() ^= 1U;
  };
  group.fetch().fetch_snapshot(group.now());
  ASSERT_TRUE(group.snapshot());
  for (std::uint64_t round = 4; round <= 5; ++round) {
    const auto result = group.result();
    ASSERT_TRUE(result);
    EXPECT_EQ(hash_of(*result->values), hash_of(*result_of(round, 300'000)));
  }
  ASSERT_EQ(group.refused.size(), 1U);
  EXPECT_EQ(group.refused[0], peer_of(2));
}

TEST(StateTransfer, SilentSourceLosesItsBlocksAfterItsTimeout) {
  Group group(2);
  const Bytes state = state_bytes(kStateBlockBytes * 4, 2);
  group.publish_all(Round(3), state);
  group.fetch().fetch_snapshot(group.now());
  bool muted = false;
  const bool done = group.run_until([&] {
    // Once blocks are asked for, the second member says nothing any more.
    for (const Group::Sent& sent : group.queue)
      muted = muted || sent.frame.type == frame_type::kBlock;
    if (muted) {
      std::erase_if(group.queue, [](const Group::Sent& sent) {
        return sent.from == peer_of(2) || sent.to == peer_of(2);
      });
    }
    const auto snapshot = group.fetch().take_snapshot(group.now());
    EXPECT_TRUE(!snapshot || same(snapshot->state.span(), state));
    return snapshot.has_value();
  });
  EXPECT_TRUE(done);
}

TEST(StateTransfer, OneMembersNewestRoundIsNotTaken) {
  Group group(3);
  const Bytes state = state_bytes(kStateBlockBytes * 2, 4);
  const Bytes lie = state_bytes(kStateBlockBytes * 2, 5);
  const Round absurd(std::uint64_t{1} << 62U);
  // Honest members may be a round apart, so that each offers another snapshot.
  group.member(0).server.publish(make_state_snapshot(Round(12), state), group.now());
  group.member(1).server.publish(make_state_snapshot(Round(13), state), group.now());
  group.member(2).server.publish(make_state_snapshot(absurd, lie), group.now());
  group.fetch().fetch_snapshot(group.now());
  const auto snapshot = group.snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->round, Round(13));
}

TEST(StateTransfer, ASecondMembersSnapshotIsWaitedFor) {
  Group group(3);
  const Bytes state = state_bytes(kStateBlockBytes * 2, 4);
  const Round absurd(std::uint64_t{1} << 62U);
  group.member(2).server.publish(make_state_snapshot(absurd, state_bytes(900, 5)), group.now());
  group.fetch().fetch_snapshot(group.now());
  // Longer than offer_wait: the others are in the middle of a round.
  const TimePoint ready = group.now() + seconds(1);
  group.run_until([&] { return group.now() >= ready; });
  EXPECT_FALSE(group.fetch().take_snapshot(group.now()));
  for (const std::size_t honest : {0U, 1U}) {
    group.member(honest).server.publish(make_state_snapshot(Round(12), state), group.now());
  }
  const auto snapshot = group.snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->round, Round(12));
}

TEST(StateTransfer, MembersWithoutASnapshotAreAskedAgain) {
  Group group(2);
  group.fetch().fetch_snapshot(group.now());
  while (group.deliver_one()) {
  }
  EXPECT_TRUE(group.member(0).server.wanted());
  const Bytes state = state_bytes(5000, 1);
  group.publish_all(Round(2), state);
  EXPECT_FALSE(group.member(0).server.wanted());
  const auto snapshot = group.snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(same(snapshot->state.span(), state));
}

TEST(StateTransfer, SnapshotThatTheLogHasOutrunIsNotOffered) {
  Group group(1);
  group.publish_all(Round(1), state_bytes(100, 1));
  // The log keeps 64 MiB: 40 results of 4 MB push the first ones out.
  for (std::uint64_t round = 2; round <= 40; ++round) group.commit_all(round, 1'000'000);
  ASSERT_GT(group.member(0).log.oldest(), Round(2));
  group.fetch().fetch_snapshot(group.now());
  while (group.deliver_one()) {
  }
  EXPECT_TRUE(group.member(0).server.wanted());
  EXPECT_FALSE(group.fetch().take_snapshot(group.now()));
}

TEST(StateTransfer, RoundsThatNobodyKeepsAreReported) {
  Group group(2);
  for (std::uint64_t round = 2; round <= 40; ++round) group.commit_all(round, 1'000'000);
  group.fetch().fetch_results(Round(3), group.now());
  while (group.deliver_one()) {
  }
  EXPECT_TRUE(group.fetch().results_gone());
  EXPECT_EQ(group.fetch().newest_known(), Round(40));
}

// As a member does that has not heard of the joiner yet: it lets the request fall.
TEST(StateTransfer, RequestsForRoundsToComeAreAskedForAgain) {
  Group group(2);
  group.commit_all(2, 100);
  group.fetch().fetch_results(Round(3), group.now());
  group.queue.clear();
  group.commit_all(3, 100);
  const auto result = group.result();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->round, Round(3));
}

TEST(StateTransfer, OversizedOfferAndTooManyRequestsAreCorrupt) {
  StateFetchOptions options;
  options.snapshot_bytes_max = 1000;
  Group group(1, options);
  group.publish_all(Round(1), state_bytes(1001, 1));
  group.fetch().fetch_snapshot(group.now());
  while (group.deliver_one()) {
  }
  EXPECT_EQ(group.refused.size(), 1U);

  Group greedy(1);
  Status status;
  for (std::uint64_t i = 0; i <= 255 && status.ok(); ++i) {
    // The first is asked for many times: that is one request.
    const Bytes head = ResultRequestMessage{Round(i < 100 ? 1 : i - 99)}.encode();
    status = greedy.member(0).server.on_frame(peer_of(0), {frame_type::kResultRequest, head, {}},
                                              false, greedy.now());
  }
  EXPECT_TRUE(status.ok()) << status.message();
  for (std::uint64_t i = 0; i <= 256 && status.ok(); ++i) {
    const Bytes head = ResultRequestMessage{Round(1 + i)}.encode();
    status = greedy.member(0).server.on_frame(peer_of(0), {frame_type::kResultRequest, head, {}},
                                              false, greedy.now());
  }
  EXPECT_EQ(status.code(), Code::kCorrupt);
}

TEST(StateTransfer, RandomFramesNeverBreakEitherSide) {
  Rng rng(7, 0);
  Group group(2);
  group.publish_all(Round(1), state_bytes(3000, 1));
  group.commit_all(2, 100);
  group.fetch().fetch_snapshot(group.now());
  for (int i = 0; i < 20'000; ++i) {
    Bytes head(rng.below(60));
    for (auto& byte : head) byte = static_cast<std::uint8_t>(rng.below(256));
    const Bytes body(rng.below(50));
    const auto type = static_cast<std::uint8_t>(0x50 + rng.below(10));
    const FrameView frame{type, head, body};
    (void)group.fetch().on_frame(peer_of(1), frame, group.now()).ok();
    (void)group.member(0).server.on_frame(peer_of(9), frame, false, group.now()).ok();
    group.queue.clear();
    group.member(0).server.on_link_down(peer_of(9));
  }
}

TEST(ResultLog, KeepsTheLastTwoWhateverTheirSize) {
  ResultLog log(10);
  for (std::uint64_t round = 7; round <= 9; ++round) {
    const auto values = result_of(round, 100);
    log.add(Round(round), hash_of(*values), values);
  }
  EXPECT_EQ(log.oldest(), Round(8));
  EXPECT_EQ(log.newest(), Round(9));
  EXPECT_EQ(log.find(Round(7)), nullptr);
  EXPECT_EQ(log.find(Round(10)), nullptr);
  ASSERT_NE(log.find(Round(8)), nullptr);
  EXPECT_EQ(log.find(Round(8))->round, Round(8));
  EXPECT_EQ(log.bytes(), 800U);
}

TEST(ResultLog, KeepsWhatIsNeededUpToItsBoundAndLittleOfTheRest) {
  constexpr std::int64_t kElements = 1 << 20;  // 4 MiB
  ResultLog log(std::uint64_t{24} << 20);
  const auto values = result_of(1, kElements);
  const auto add = [&](std::uint64_t round) { log.add(Round(round), Hash128{}, values); };
  for (std::uint64_t round = 1; round <= 9; ++round) add(round);
  EXPECT_EQ(log.oldest(), Round(4));
  log.need_from(Round(8));
  add(10);
  EXPECT_EQ(log.oldest(), Round(7));
  add(11);
  add(12);
  EXPECT_EQ(log.oldest(), Round(8));
  add(13);
  EXPECT_EQ(log.oldest(), Round(8));
  log.need_from(Round(14));
  add(14);
  EXPECT_EQ(log.oldest(), Round(11));
  EXPECT_EQ(log.bytes(), ResultLog::kSpareBytes);
}

}  // namespace
}  // namespace weft::state_transfer_test
