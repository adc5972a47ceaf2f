// Transfers that break and go on, and what a server keeps and puts off.
#include <algorithm>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "weft/collective/state/test_state_group.h"

namespace weft::state_resume_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Group = StateGroup;

TEST(StateTransfer, ABrokenTransferGoesOnWithWhatIsMissing) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Group group(3);
    group.seed(seed);
    const Bytes state = state_bytes(kStateBlockBytes * 20 + 5, 8);
    group.publish_all(Round(3), state);
    group.fetch().fetch_snapshot(group.now());
    ASSERT_TRUE(group.run_until([&] { return blocks_of(group) >= 9; }));
    // As when the view changes.
    group.break_links();
    group.fetch().stop();
    group.fetch().set_sources({}, group.now());
    group.fetch().set_sources(group.ids(), group.now());
    group.fetch().fetch_snapshot(group.now());
    // Others have asked meanwhile: there is a newer one too.
    group.publish_all(Round(7), state_bytes(kStateBlockBytes * 20 + 5, 9));
    const auto snapshot = group.snapshot();
    ASSERT_TRUE(snapshot) << "seed " << seed;
    EXPECT_EQ(snapshot->round, Round(3));
    EXPECT_TRUE(same(snapshot->state.span(), state));
    EXPECT_EQ(group.fetch().blocks_resumed(), 9U);
    // What a member had still to send when the links broke may come, too.
    EXPECT_LE(blocks_of(group), 21 + 3 * StateFetchOptions().blocks_in_flight);
  }
}

TEST(StateTransfer, WhatNobodyHasAnyMoreIsFetchedAnew) {
  Group group(2);
  group.publish_all(Round(3), state_bytes(kStateBlockBytes * 6, 8));
  group.fetch().fetch_snapshot(group.now());
  ASSERT_TRUE(group.run_until([&] { return blocks_of(group) >= 2; }));
  const Bytes newer = state_bytes(kStateBlockBytes * 6, 9);
  group.publish_all(Round(7), newer);
  group.publish_all(Round(8), newer);
  const auto snapshot = group.snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->round, Round(8));
  EXPECT_TRUE(same(snapshot->state.span(), newer));
}

// A StateKeep in memory, of which a test can spoil the blocks.
class MemoryKeep final : public StateKeep {
 public:
  std::optional<SnapshotName> name() override {
    next_ = 0;
    return name_;
  }
  void begin(const SnapshotName& name) override {
    name_ = name;
    blocks.clear();
  }
  void keep(const BlockHead& head, ByteSpan body) override {
    blocks.push_back({head, Bytes(body.begin(), body.end())});
  }
  std::optional<Block> next() override {
    if (next_ == blocks.size()) return std::nullopt;
    return blocks[next_++];
  }
  void forget() override {
    name_.reset();
    blocks.clear();
  }

  std::vector<Block> blocks;

 private:
  std::optional<SnapshotName> name_;
  std::size_t next_ = 0;
};

TEST(StateTransfer, AJoinerThatIsStartedAgainGoesOnWithWhatItKept) {
  MemoryKeep keep;
  StateFetchOptions options;
  options.keep = &keep;
  Group group(3, options);
  const Bytes state = state_bytes(kStateBlockBytes * 12 + 5, 8);
  group.publish_all(Round(3), state);
  group.fetch().fetch_snapshot(group.now());
  ASSERT_TRUE(group.run_until([&] { return blocks_of(group) >= 7; }));
  ASSERT_EQ(keep.blocks.size(), 7U);
  // One is spoilt on the disk, and the order of those that are left is another.
  keep.blocks[2].body[100] ^= 1U;
  std::swap(keep.blocks[0], keep.blocks[5]);
  group.publish_all(Round(5), state_bytes(kStateBlockBytes * 12 + 5, 9));
  group.restart_joiner(options);
  group.fetch().fetch_snapshot(group.now());
  const auto snapshot = group.snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->round, Round(3));
  EXPECT_TRUE(same(snapshot->state.span(), state));
  EXPECT_EQ(group.fetch().blocks_resumed(), 6U);
  EXPECT_EQ(blocks_of(group), 14);
  EXPECT_TRUE(keep.blocks.empty()) << "what is whole need not be kept";
}

TEST(StateTransfer, ARootWithAnotherLengthIsAnotherSnapshot) {
  Group group(3);
  const Bytes state = state_bytes(kStateBlockBytes * 4, 8);
  group.publish_all(Round(3), state);
  bool lied = false;
  group.fetch().fetch_snapshot(group.now());
  ASSERT_TRUE(group.run_until([&] {
    for (Group::Sent& sent : group.queue) {
      if (sent.frame.type != frame_type::kStateOffer || sent.from != peer_of(1)) continue;
      StateOfferMessage offer = StateOfferMessage::decode(sent.frame.head).value();
      offer.snapshot->bytes = kStateBlockBytes * 9;
      sent.frame.head = offer.encode();
      lied = true;
    }
    return blocks_of(group) == 4;
  }));
  EXPECT_TRUE(lied);
  const auto snapshot = group.snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(same(snapshot->state.span(), state));
  EXPECT_TRUE(group.refused.empty());
  EXPECT_EQ(group.blocks_from(peer_of(1)), 0);
}

class StateServing : public ::testing::Test {
 protected:
  StateServing() {
    group.publish_all(Round(3), state);
    group.commit_all(4, 100'000);
  }
  Status ask(std::uint8_t peer, std::uint32_t block, bool urgent) {
    const Bytes head = BlockRequestMessage{root, block}.encode();
    return server.on_frame(peer_of(peer), {frame_type::kBlockRequest, head, {}}, urgent,
                           group.now());
  }
  Status received(std::uint8_t peer, std::uint64_t bytes, Duration later) {
    const Bytes head = StateReceivedMessage{bytes}.encode();
    return server.on_frame(peer_of(peer), {frame_type::kStateReceived, head, {}}, false,
                           group.now() + later);
  }

  Group group{1};
  StateServer& server = group.member(0).server;
  const Bytes state = state_bytes(kStateBlockBytes * 64, 8);
  const Hash256 root = make_state_snapshot(Round(3), state).name.root;
};

TEST_F(StateServing, RoundsGoBeforeNewcomersAndLaggardsBeforeAll) {
  server.throttle().on_round_received(1, group.now());
  EXPECT_TRUE(ask(0, 0, false).ok());
  EXPECT_EQ(group.queue.size(), 1U) << "so much rounds may lose";
  EXPECT_TRUE(ask(0, 1, false).ok());
  EXPECT_EQ(group.queue.size(), 1U);
  EXPECT_EQ(server.next_deadline(group.now()), group.now() + milliseconds(40));
  EXPECT_TRUE(ask(9, 1, true).ok());
  EXPECT_EQ(group.queue.size(), 2U);
  server.throttle().on_round_over(group.now());
  server.pump_all(group.now() + seconds(5));
  EXPECT_EQ(group.queue.size(), 3U) << "what has not come for so long is no more under way";
  EXPECT_FALSE(server.waiting());
}

TEST_F(StateServing, WhoeverHasBecomeAMemberIsServedAtOnce) {
  for (std::uint32_t block = 0; block < 4; ++block) EXPECT_TRUE(ask(0, block, false).ok());
  EXPECT_EQ(group.queue.size(), 2U);
  server.hurry(peer_of(0), group.now());
  EXPECT_EQ(group.queue.size(), 4U);
}

TEST_F(StateServing, AsManyPiecesAreUnderWayAsArriveInTheShortestTime) {
  for (std::uint32_t block = 0; block < 60; ++block) EXPECT_TRUE(ask(0, block, false).ok());
  EXPECT_EQ(group.queue.size(), 2U);
  std::uint64_t sent = 2;
  for (std::uint64_t come = 1; come <= 20; ++come) {
    EXPECT_TRUE(received(0, come * kStateBlockBytes, milliseconds(100)).ok());
    sent = group.queue.size();
  }
  EXPECT_GE(sent, 20U + 4);
  EXPECT_LE(sent, 20U + 8);
  // Now they wait in a queue.
  for (std::uint64_t come = 21; come <= 30; ++come) {
    EXPECT_TRUE(received(0, come * kStateBlockBytes, milliseconds(300)).ok());
    sent = group.queue.size();
  }
  EXPECT_LE(sent, 30U + 3);
}

TEST_F(StateServing, MoreThanWasSentCannotHaveCome) {
  EXPECT_TRUE(ask(0, 0, false).ok());
  EXPECT_EQ(received(0, kStateBlockBytes + 1, {}).code(), Code::kCorrupt);
  EXPECT_EQ(received(5, 1, {}).code(), Code::kCorrupt);
  EXPECT_TRUE(received(0, kStateBlockBytes, {}).ok());
}

TEST_F(StateServing, OneThatNeverSaysWhatHasComeHoldsUpNobody) {
  for (std::uint32_t block = 0; block < 8; ++block) EXPECT_TRUE(ask(0, block, false).ok());
  EXPECT_EQ(group.queue.size(), 2U);
  EXPECT_TRUE(ask(1, 8, false).ok());
  ASSERT_EQ(group.queue.size(), 3U);
  EXPECT_EQ(group.queue.back().to, peer_of(1));
  EXPECT_EQ(server.next_deadline(group.now()), group.now() + seconds(5));
  server.pump_all(group.now() + seconds(5));
  EXPECT_EQ(group.queue.size(), 5U);
  server.on_link_down(peer_of(0));
  EXPECT_EQ(server.throttle().in_flight(), 0U);
}

TEST(StateTransfer, SnapshotsAreKeptForAWhileAfterTheLastQuestion) {
  Group group(1);
  StateServer& server = group.member(0).server;
  group.publish_all(Round(3), state_bytes(10, 8));
  EXPECT_EQ(server.unused_at(), group.now() + seconds(60));
  server.forget_unused(group.now() + seconds(59));
  EXPECT_EQ(server.newest_snapshot(), Round(3));
  const Bytes query = StateQueryMessage{}.encode();
  EXPECT_TRUE(server
                  .on_frame(peer_of(0), {frame_type::kStateQuery, query, {}}, false,
                            group.now() + seconds(59))
                  .ok());
  server.forget_unused(group.now() + seconds(60));
  EXPECT_EQ(server.newest_snapshot(), Round(3));
  server.forget_unused(group.now() + seconds(119));
  EXPECT_EQ(server.newest_snapshot(), std::nullopt);
}

}  // namespace
}  // namespace weft::state_resume_test
