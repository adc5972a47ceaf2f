// Transfers that break and go on, and what a server keeps and puts off.
#include <algorithm>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "weft/collective/test_state_group.h"

namespace weft {
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
    // As when the view changes, or all links break: nothing is under way any more.
    group.queue.clear();
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
    EXPECT_LE(blocks_of(group), 21 + 3 * 3);
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

TEST(StateTransfer, RoundsGoBeforeNewcomersAndLaggardsBeforeAll) {
  Group group(1);
  StateServer& server = group.member(0).server;
  group.publish_all(Round(3), state_bytes(kStateBlockBytes * 4, 8));
  server.throttle().on_round_received(group.now());
  const Hash256 root =
      make_state_snapshot(Round(3), state_bytes(kStateBlockBytes * 4, 8)).name.root;
  const Bytes ask = BlockRequestMessage{root, 1}.encode();
  const FrameView request{frame_type::kBlockRequest, ask, {}};
  EXPECT_TRUE(server.on_frame(peer_of(0), request, false, group.now()).ok());
  EXPECT_TRUE(group.queue.empty());
  EXPECT_EQ(server.next_deadline(group.now()), group.now() + milliseconds(250));
  EXPECT_TRUE(server.on_frame(peer_of(9), request, true, group.now()).ok());
  EXPECT_EQ(group.queue.size(), 1U);
  server.throttle().on_round_over(group.now());
  server.pump_all(group.now() + seconds(5));
  EXPECT_EQ(group.queue.size(), 2U);
  EXPECT_FALSE(server.waiting());
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
  EXPECT_EQ(server.newest_snapshot(), Round());
}

}  // namespace
}  // namespace weft
