// StateServer and StateFetch against each other over a queue that a test can shuffle and damage.
#include <algorithm>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/state/test_state_group.h"

namespace weft::state_transfer_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Group = StateGroup;

TEST(StateTransfer, SnapshotComesFromSeveralMembersAndIsWhole) {
  for (const std::uint64_t seed : TestSeeds(1, 20)) {
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
  for (const std::uint64_t seed : TestSeeds(1, 20)) {
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

Bytes reports_of_members(std::size_t members, std::size_t bytes) {
  RoundReports reports;
  for (std::size_t rank = 0; rank < members; ++rank) {
    reports.by_rank.push_back(state_bytes(bytes, static_cast<std::uint8_t>(rank)));
  }
  return reports.encode();
}

// Reports fill one piece, several, several exactly to the last byte, and none.
TEST(StateTransfer, AResultComesWithItsReports) {
  const std::size_t sizes[][2] = {{3, 90}, {40, kReportBytesMax}, {1, 0}, {16, 4092}, {0, 0}};
  std::uint64_t round = 1;
  Group group(3);
  for (const auto& [members, bytes] : sizes) {
    group.commit_all(++round, 40'000, reports_of_members(members, bytes));
  }
  group.commit_all(++round, 40'000);
  group.fetch().fetch_results(Round(2), group.now());
  for (const auto& [members, bytes] : sizes) {
    const auto result = group.result();
    ASSERT_TRUE(result);
    EXPECT_TRUE(same(result->reports.span(), reports_of_members(members, bytes)));
    EXPECT_TRUE(same(as_bytes(std::as_const(*result->values).span()),
                     as_bytes(std::as_const(*result_of(result->round.value(), 40'000)).span())));
  }
  const auto bare = group.result();
  ASSERT_TRUE(bare);
  EXPECT_TRUE(bare->reports.empty());
  EXPECT_TRUE(group.refused.empty());
}

TEST(StateTransfer, AFalseReportIsRefusedAndItsSourceNamed) {
  Group group(3);
  group.commit_all(2, 100, reports_of_members(3, 90));
  PeerId liar;
  group.damage = [&](const StateGroup::Sent& sent, Bytes& body) {
    // The sums have 400 bytes, the reports another length.
    if (sent.frame.type != frame_type::kResult || body.size() == 400) return;
    if (liar == PeerId{}) liar = sent.from;
    if (sent.from == liar) body.back() ^= 1U;
  };
  group.fetch().fetch_results(Round(2), group.now());
  const auto result = group.result();
  ASSERT_TRUE(result);
  EXPECT_TRUE(same(result->reports.span(), reports_of_members(3, 90)));
  ASSERT_EQ(group.refused.size(), 1U);
  EXPECT_EQ(group.refused.front(), liar);
}

// Their hash fits, and yet they are no reports: what no member would have kept.
TEST(StateTransfer, BytesThatAreNoReportsAreRefused) {
  Group group(1);
  group.commit_all(2, 100, state_bytes(77, 3));
  group.fetch().fetch_results(Round(2), group.now());
  while (group.deliver_one()) {
  }
  EXPECT_EQ(group.refused.size(), 1U);
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

struct HostileFrame {
  std::uint8_t type = 0;
  Bytes head;
  Bytes body;
  FrameView view() const { return {type, head, body}; }
};

// Random bytes, or a genuine frame again, its head as it was, cut, or changed in one bit.
HostileFrame hostile_frame(const std::vector<HostileFrame>& genuine, Rng& rng) {
  HostileFrame frame;
  if (!genuine.empty() && rng.chance(0.5)) {
    frame = genuine[rng.below(genuine.size())];
    if (!frame.head.empty() && rng.chance(0.2)) frame.head.resize(rng.below(frame.head.size()));
    if (!frame.head.empty() && rng.chance(0.7)) {
      frame.head[rng.below(frame.head.size())] ^= static_cast<std::uint8_t>(1U << rng.below(3));
    }
    return frame;
  }
  frame.type = static_cast<std::uint8_t>(frame_type::kStateQuery + rng.below(10));
  frame.head.resize(rng.below(60));
  for (auto& byte : frame.head) byte = static_cast<std::uint8_t>(rng.below(256));
  frame.body.resize(rng.below(50));
  return frame;
}

// Every such frame is answered, passed over or refused as corrupt. The state and the result come
// from the other member all the same.
TEST(StateTransfer, RandomFramesNeverBreakEitherSide) {
  const PeerId liar = peer_of(1);
  const PeerId stranger = peer_of(9);
  std::size_t refused = 0;
  const TestSeeds seeds(1, 20);
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE(seed);
    Rng rng(seed, 0);
    Group group(2);
    const Bytes state = state_bytes(kStateBlockBytes * 5 + 5, 1);
    group.publish_all(Round(1), state);
    group.commit_all(2, 300'000);
    std::vector<HostileFrame> genuine;
    const auto take_note = [&genuine](const Group::Sent& sent) {
      const ByteSpan body = sent.frame.body.span();
      if (genuine.size() < 200) {
        genuine.push_back({sent.frame.type, sent.frame.head, Bytes(body.begin(), body.end())});
      }
    };
    group.fetch().fetch_snapshot(group.now());
    ASSERT_TRUE(group.run_until([&] {
      return std::ranges::count(group.queue, frame_type::kBlock,
                                [](const Group::Sent& sent) { return sent.frame.type; }) > 1;
    }));
    for (int i = 0; i < 500; ++i) {
      std::ranges::for_each(group.queue, take_note);
      std::erase_if(group.queue, [&](const Group::Sent& sent) { return sent.to == stranger; });
      const HostileFrame frame = hostile_frame(genuine, rng);
      StateServer& server = group.member(0).server;
      const Status asked = server.on_frame(stranger, frame.view(), false, group.now());
      const Status told = group.fetch().on_frame(liar, frame.view(), group.now());
      for (const Status& status : {asked, told}) {
        refused += status.ok() ? 0U : 1U;
        ASSERT_TRUE(status.ok() || status.code() == Code::kCorrupt) << status.to_string();
      }
      if (!asked.ok()) server.on_link_down(stranger);
      if (!told.ok()) {
        group.fetch().on_link_down(liar, group.now());
        group.fetch().set_sources(group.ids(), group.now());
      }
    }
    group.kill(0);
    const auto snapshot = group.snapshot();
    ASSERT_TRUE(snapshot);
    EXPECT_TRUE(same(snapshot->state.span(), state));
    const auto result = group.result();
    ASSERT_TRUE(result);
    EXPECT_EQ(hash_of(*result->values), hash_of(*result_of(2, 300'000)));
  }
  EXPECT_GT(refused, 250 * seeds.size()) << "a quarter of all";
}

TEST(ResultLog, KeepsTheLastTwoWhateverTheirSize) {
  ResultLog log(10);
  for (std::uint64_t round = 7; round <= 9; ++round) {
    const auto values = result_of(round, 100);
    log.add({Round(round), hash_of(*values), values, {}});
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
  const auto add = [&](std::uint64_t round) { log.add({Round(round), Hash128{}, values, {}}); };
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
