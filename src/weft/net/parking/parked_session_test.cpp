// Two ends of a parked link and a way between them that loses, repeats and reorders.
#include "weft/net/parking/parked_session.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/testing/test_seeds.h"

namespace weft::parked_session_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes.fill(number);
  return id;
}

struct Pair {
  explicit Pair(const ParkedSessionOptions& options = {})
      : a(peer(1), peer(2), {9}, {8}, options, now), b(peer(2), peer(1), {9}, {8}, options, now) {}

  TimePoint now{};
  ParkedSession a;
  ParkedSession b;
};

Bytes number_of(std::uint32_t i) {
  return {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8U)};
}

TEST(ParkedSession, BothEndsHaveOneNameAndOthersHaveAnother) {
  const Pair pair;
  EXPECT_EQ(pair.a.name(), pair.b.name());
  const ParkedSession other_secret(peer(1), peer(2), {7}, {8}, {}, {});
  const ParkedSession other_nonce(peer(1), peer(2), {9}, {7}, {}, {});
  EXPECT_NE(pair.a.name(), other_secret.name());
  EXPECT_NE(pair.a.name(), other_nonce.name());
}

TEST(ParkedSession, WhatIsNotTheOtherEndsIsIgnored) {
  Pair pair;
  ParkedSession stranger(peer(1), peer(2), {7}, {8}, {}, {});
  ASSERT_TRUE(stranger.send(ParkedKind::kFrame, {1}, pair.now));
  for (const SealedPacket& packet : stranger.take_due(pair.now)) {
    EXPECT_TRUE(pair.b.on_packet(packet.sealed, pair.now).empty());
  }
  ASSERT_TRUE(pair.a.send(ParkedKind::kFrame, {1}, pair.now));
  const std::vector<SealedPacket> sent = pair.a.take_due(pair.now);
  ASSERT_EQ(sent.size(), 1U);
  // Not even one's own, sent back.
  EXPECT_TRUE(pair.a.on_packet(sent[0].sealed, pair.now).empty());
  for (std::size_t i = 0; i < sent[0].sealed.size(); ++i) {
    Bytes altered = sent[0].sealed;
    altered[i] ^= 4;
    EXPECT_TRUE(pair.b.on_packet(altered, pair.now).empty());
  }
  EXPECT_EQ(pair.b.on_packet(sent[0].sealed, pair.now).at(0).payload, Bytes{1});
  EXPECT_TRUE(pair.b.on_packet(sent[0].sealed, pair.now).empty());  // once
}

TEST(ParkedSession, FramesArriveInOrderAndOnceOverAWayThatLosesRepeatsAndReorders) {
  for (const std::uint64_t seed : TestSeeds(1, 30)) {
    Pair pair;
    Rng rng(seed);
    struct Flying {
      TimePoint at;
      bool to_b;
      Bytes sealed;
    };
    std::vector<Flying> flying;
    std::uint32_t sent[2] = {};
    std::uint32_t received[2] = {};
    const auto launch = [&](ParkedSession& from, bool to_b) {
      for (SealedPacket& packet : from.take_due(pair.now)) {
        for (int copies = 0; copies < (rng.chance(0.2) ? 2 : 1); ++copies) {
          if (rng.chance(0.3)) continue;
          flying.push_back({pair.now + milliseconds(rng.below(200)), to_b, packet.sealed});
        }
      }
    };
    for (int step = 0; step < 6000; ++step) {
      if (sent[0] < 300 && rng.chance(0.3)) {
        ASSERT_TRUE(pair.a.send(ParkedKind::kFrame, number_of(sent[0]++), pair.now));
      }
      if (sent[1] < 300 && rng.chance(0.1)) {
        ASSERT_TRUE(pair.b.send(ParkedKind::kFrame, number_of(sent[1]++), pair.now));
      }
      launch(pair.a, true);
      launch(pair.b, false);
      std::vector<Flying> landed;
      std::erase_if(flying, [&](const Flying& packet) {
        if (packet.at > pair.now) return false;
        landed.push_back(packet);
        return true;
      });
      for (const Flying& packet : landed) {
        ParkedSession& to = packet.to_b ? pair.b : pair.a;
        for (const ParkedArrival& arrival : to.on_packet(packet.sealed, pair.now)) {
          if (arrival.kind != ParkedKind::kFrame) continue;
          ASSERT_EQ(arrival.payload, number_of(received[packet.to_b ? 0 : 1]++)) << seed;
        }
      }
      pair.now += milliseconds(20);
    }
    EXPECT_EQ(received[0], 300U) << seed;
    EXPECT_EQ(received[1], 300U) << seed;
    EXPECT_EQ(pair.a.queued_bytes(), 0U);
  }
}

TEST(ParkedSession, AnOtherEndThatAcknowledgesNothingIsLostInTime) {
  Pair pair;
  EXPECT_FALSE(pair.a.lost(pair.now + seconds(100)));  // nothing was sent
  std::vector<std::size_t> ways;
  while (!pair.a.lost(pair.now) && pair.now < TimePoint() + seconds(20)) {
    for (const SealedPacket& packet : pair.a.take_due(pair.now)) ways.push_back(packet.way);
    pair.now = std::max(pair.now, pair.a.deadline());
  }
  // A beat after two seconds of silence, and three seconds without an answer; each repetition goes
  // another way.
  EXPECT_EQ(pair.now, TimePoint() + seconds(5));
  EXPECT_GE(ways.size(), 3U);
  for (std::size_t i = 0; i < ways.size(); ++i) EXPECT_EQ(ways[i], i);
}

TEST(ParkedSession, AWayThatWorkedIsTakenAgain) {
  Pair pair;
  ASSERT_TRUE(pair.a.send(ParkedKind::kFrame, {1}, pair.now));
  EXPECT_EQ(pair.a.take_due(pair.now).at(0).way, 0U);
  pair.now = pair.a.deadline();
  const std::vector<SealedPacket> again = pair.a.take_due(pair.now);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].way, 1U);
  ASSERT_EQ(pair.b.on_packet(again[0].sealed, pair.now).size(), 1U);
  pair.now += seconds(1);
  for (const SealedPacket& packet : pair.b.take_due(pair.now)) {
    EXPECT_TRUE(pair.a.on_packet(packet.sealed, pair.now).empty());
  }
  EXPECT_EQ(pair.a.queued_bytes(), 0U);
  ASSERT_TRUE(pair.a.send(ParkedKind::kFrame, {2}, pair.now));
  EXPECT_EQ(pair.a.take_due(pair.now).at(0).way, 1U);
}

TEST(ParkedSession, AFullQueueTakesNoMore) {
  ParkedSessionOptions options;
  options.queue_bytes_max = 100;
  Pair pair(options);
  EXPECT_TRUE(pair.a.send(ParkedKind::kFrame, Bytes(60), pair.now));
  EXPECT_FALSE(pair.a.send(ParkedKind::kFrame, Bytes(60), pair.now));
  EXPECT_EQ(pair.a.queued_bytes(), 60U);
}

}  // namespace
}  // namespace weft::parked_session_test
