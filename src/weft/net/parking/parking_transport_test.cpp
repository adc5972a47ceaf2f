// Many members with connections to a few, on a simulated network.
#include "weft/net/parking_transport.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/net/parking/mesh_ring.h"
#include "weft/net/parking/test_parking_world.h"

namespace weft::parking_transport_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kMembers = 24;
constexpr int kFew = 8;

// Everybody sends one frame to everybody.
std::uint64_t send_to_all(ParkingWorld& world, Lane lane = Lane::kControl) {
  std::uint64_t sent = 0;
  for (int a = 0; a < world.size(); ++a) {
    for (int b = 0; b < world.size(); ++b) {
      if (a == b || !world.runs(a) || !world.runs(b)) continue;
      if (world[a].send(world.ids[static_cast<std::size_t>(b)], lane)) ++sent;
    }
  }
  return sent;
}
std::uint64_t received_by_all(ParkingWorld& world) {
  std::uint64_t out = 0;
  for (const auto& peer : world.peers) out += peer->total_received();
  return out;
}
int place_of_a_parked_pair(ParkingWorld& world, int from) {
  for (int i = 0; i < world.size(); ++i) {
    if (world[from].transport.parked(world.ids[static_cast<std::size_t>(i)])) return i;
  }
  return -1;
}

TEST(ParkingTransport, WithoutARingEachLinkKeepsItsConnections) {
  ParkingWorld world(6);
  world.connect_all();
  world.run_for(seconds(30));
  for (int i = 0; i < world.size(); ++i) EXPECT_EQ(world.connections(i), 5U);
  EXPECT_EQ(send_to_all(world), 30U);
  world.run_for(seconds(1));
  EXPECT_EQ(received_by_all(world), 30U);
  world.expect_no_faults();
}

TEST(ParkingTransport, MembersKeepConnectionsToTheirNeighboursAndLinksToAll) {
  ParkingWorld world(kMembers);
  world.park_all();
  const MeshRing ring = [&] {
    std::vector<PeerAddress> members;
    for (const PeerId& id : world.ids) members.push_back({id, {}});
    return MeshRing(world.ids[0], members, {}, 0);
  }();
  // The distances 1, 2, 4, 8, 16 of 24, either way; 16 one way is 8 the other.
  EXPECT_EQ(ring.neighbours(), 8);
  for (int i = 0; i < world.size(); ++i) {
    EXPECT_EQ(world.connections(i), 8U) << i;
    for (const PeerId& other : world.ids) {
      if (other == world[i].id) continue;
      EXPECT_TRUE(world[i].transport.linked(other));
      EXPECT_EQ(world[i].ups(other), 1);
      EXPECT_EQ(world[i].downs(other), 0);
    }
  }
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(send_to_all(world), kMembers * (kMembers - 1U));
    world.run_for(milliseconds(100));
  }
  world.run_for(seconds(1));
  EXPECT_EQ(received_by_all(world), 10U * kMembers * (kMembers - 1U));
  EXPECT_EQ(world.connections(0), 8U);
  world.expect_no_faults();
}

TEST(ParkingTransport, ABulkFrameOpensTheConnectionsAndTheyAreClosedAgainLater) {
  ParkingWorld world(kMembers);
  world.park_all();
  const int other = place_of_a_parked_pair(world, 0);
  ASSERT_GE(other, 0);
  const PeerId id = world.ids[static_cast<std::size_t>(other)];
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(world[0].send(id, Lane::kControl));
    EXPECT_TRUE(world[0].send(id, Lane::kBulk, 100000));
    EXPECT_TRUE(world[other].send(world.ids[0], Lane::kControl));
  }
  EXPECT_GT(world[0].transport.queued_bytes(id, Lane::kBulk), 400000U);
  world.run_for(seconds(1));
  EXPECT_FALSE(world[0].transport.parked(id));
  EXPECT_EQ(world[other].received(world.ids[0], Lane::kBulk), 5U);
  EXPECT_EQ(world[other].received(world.ids[0], Lane::kControl), 5U);
  EXPECT_EQ(world[0].received(id, Lane::kControl), 5U);
  world.run_for(seconds(20));
  EXPECT_TRUE(world[0].transport.parked(id));
  EXPECT_EQ(world[0].downs(id), 0);
  world.expect_no_faults();
}

TEST(ParkingTransport, ALargeControlFrameWaitsForTheConnectionsAndKeepsItsPlace) {
  ParkingWorld world(kMembers);
  world.park_all();
  const int other = place_of_a_parked_pair(world, 0);
  ASSERT_GE(other, 0);
  const PeerId id = world.ids[static_cast<std::size_t>(other)];
  EXPECT_TRUE(world[0].send(id, Lane::kControl));
  EXPECT_TRUE(world[0].send(id, Lane::kControl, kRoutedFrameBytesMax + 1));
  EXPECT_TRUE(world[0].send(id, Lane::kControl));
  world.run_for(seconds(1));
  EXPECT_EQ(world[other].received(world.ids[0], Lane::kControl), 3U);
  EXPECT_EQ(world[0].downs(id), 0);
  world.expect_no_faults();
}

TEST(ParkingTransport, AMemberThatIsKilledIsNoticedByAll) {
  ParkingWorld world(kMembers);
  world.park_all();
  world.crash(5);
  // Its neighbours see their connections end; the others get no answer to a beat.
  world.run_for(seconds(8));
  for (int i = 0; i < world.size(); ++i) {
    if (i != 5) {
      EXPECT_FALSE(world[i].transport.linked(world.ids[5])) << i;
    }
  }
  EXPECT_EQ(send_to_all(world), (kMembers - 1U) * (kMembers - 2U));
  world.run_for(seconds(2));
  EXPECT_EQ(received_by_all(world), (kMembers - 1U) * (kMembers - 2U));
  world.expect_no_faults();
}

TEST(ParkingTransport, AMemberThatLosesPowerIsPassedBy) {
  ParkingWorld world(kMembers);
  world.park_all();
  world.crash(7, SimCrash::kPowerLoss);
  // Packets through it are lost until its neighbours know; each is sent again by another way.
  EXPECT_EQ(send_to_all(world), (kMembers - 1U) * (kMembers - 2U));
  world.run_for(seconds(2));
  EXPECT_EQ(received_by_all(world), (kMembers - 1U) * (kMembers - 2U));
  world.expect_no_faults();
}

TEST(ParkingTransport, AMemberThatForwardsNothingOrAltersIsPassedBy) {
  for (const Forwarding how :
       {Forwarding::kDropsAll, Forwarding::kAlters, Forwarding::kRepeatsAll}) {
    ParkingWorld world(kMembers);
    world[3].forwarding = how;
    world.park_all();
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(send_to_all(world), kMembers * (kMembers - 1U));
      world.run_for(milliseconds(500));
    }
    world.run_for(seconds(3));
    EXPECT_EQ(received_by_all(world), 20U * kMembers * (kMembers - 1U));
    for (int i = 0; i < world.size(); ++i) {
      for (const PeerId& other : world.ids) EXPECT_EQ(world[i].downs(other), 0);
    }
    world.expect_no_faults();
  }
}

TEST(ParkingTransport, AMemberThatBeginsToDropLosesNoFrames) {
  ParkingWorld world(kMembers);
  world.park_all();
  world[3].forwarding = Forwarding::kDropsAll;
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(send_to_all(world), kMembers * (kMembers - 1U));
    world.run_for(milliseconds(500));
  }
  world.run_for(seconds(3));
  EXPECT_EQ(received_by_all(world), 10U * kMembers * (kMembers - 1U));
  world.expect_no_faults();
}

TEST(ParkingTransport, ANewRingOpensAndClosesWhatItMust) {
  ParkingWorld world(kMembers);
  world.park_all();
  std::vector<PeerId> turned = world.ids;
  std::rotate(turned.begin(), turned.begin() + 3, turned.end());
  std::swap(turned[2], turned[11]);
  world.set_ring_of_all(turned);
  EXPECT_EQ(send_to_all(world), kMembers * (kMembers - 1U));
  world.run_for(seconds(20));
  EXPECT_EQ(received_by_all(world), 1U * kMembers * (kMembers - 1U));
  for (int i = 0; i < world.size(); ++i) {
    EXPECT_EQ(world.connections(i), 8U);
    for (const PeerId& other : world.ids) EXPECT_EQ(world[i].downs(other), 0);
  }
  world.expect_no_faults();
}

TEST(ParkingTransport, AGroupThatHasBecomeSmallIsAMeshAgain) {
  ParkingWorld world(kMembers);
  world.park_all();
  for (int i = 0; i < world.size(); ++i) world[i].redials = false;
  std::vector<PeerId> rest(world.ids.begin(), world.ids.begin() + kFew);
  for (int i = 0; i < kFew; ++i) world[i].set_ring(rest);
  world.run_for(seconds(10));
  for (int i = 0; i < kFew; ++i) {
    for (int other = 0; other < kFew; ++other) {
      if (i == other) continue;
      const PeerId id = world.ids[static_cast<std::size_t>(other)];
      EXPECT_EQ(world[i].transport.connected().count(id), 1U);
      EXPECT_EQ(world[i].downs(id), 0);
    }
    // Parked links with those that went have ended, and connections with them are the owner's.
    EXPECT_EQ(world[i].transport.parking_stats().parked, 0U);
  }
  world.expect_no_faults();
}

TEST(ParkingTransport, LinksWithAMemberThatIsOutOfTheRingEnd) {
  ParkingWorld world(kMembers);
  world.park_all();
  std::vector<PeerId> rest = world.ids;
  rest.erase(rest.begin() + 4);
  for (int i = 0; i < world.size(); ++i) {
    if (i != 4) world[i].set_ring(rest);
  }
  // Frames to it are still forwarded for a while: it may be informed.
  const int other = place_of_a_parked_pair(world, 4);
  ASSERT_GE(other, 0);
  EXPECT_TRUE(world[other].send(world.ids[4], Lane::kControl));
  world.run_for(milliseconds(500));
  EXPECT_EQ(world[4].received(world.ids[static_cast<std::size_t>(other)], Lane::kControl), 1U);
  for (int i = 0; i < world.size(); ++i) world[i].redials = false;
  world.run_for(seconds(10));
  EXPECT_FALSE(world[other].transport.linked(world.ids[4]));
  EXPECT_EQ(world[other].downs(world.ids[4]), 1);
  world.expect_no_faults();
}

TEST(ParkingTransport, AProcessThatIsStartedAgainGetsANewLink) {
  ParkingWorld world(kMembers);
  world.park_all();
  const int other = place_of_a_parked_pair(world, 2);
  ASSERT_GE(other, 0);
  const PeerId self = world.ids[2];
  const PeerId id = world.ids[static_cast<std::size_t>(other)];
  world.crash(2);
  world.start(2);
  // Before the other end has noticed that the parked link is dead.
  world[2].connect(id);
  world.run_for(milliseconds(50));
  EXPECT_TRUE(world[2].send(id, Lane::kControl));
  EXPECT_TRUE(world[2].send(id, Lane::kBulk));
  world.run_for(seconds(1));
  EXPECT_EQ(world[other].downs(self), 1);
  EXPECT_EQ(world[other].ups(self), 2);
  EXPECT_EQ(world[other].received(self, Lane::kControl), 1U);
  EXPECT_EQ(world[other].received(self, Lane::kBulk), 1U);
  EXPECT_TRUE(world[other].send(self, Lane::kControl));
  world.run_for(seconds(1));
  EXPECT_EQ(world[2].received(id, Lane::kControl), 1U);
  world.expect_no_faults();
}

TEST(ParkingTransport, AFrameThatComesFirstIsOfTheNewLink) {
  ParkingWorld world(kMembers);
  world.park_all();
  const int other = place_of_a_parked_pair(world, 2);
  ASSERT_GE(other, 0);
  world.crash(2);
  world.start(2);
  world[2].greet();
  world[2].connect(world.ids[static_cast<std::size_t>(other)]);
  world.run_for(seconds(1));
  EXPECT_EQ(world[other].downs(world.ids[2]), 1);
  EXPECT_EQ(world[other].ups(world.ids[2]), 2);
  EXPECT_EQ(world[other].received(world.ids[2], Lane::kControl), 1U);
  world.expect_no_faults();
}

TEST(ParkingTransport, ASilentProcessThatIsStartedAgainGetsANewLinkInTime) {
  ParkingWorld world(kMembers);
  world.park_all();
  const int other = place_of_a_parked_pair(world, 2);
  ASSERT_GE(other, 0);
  world.crash(2);
  world.start(2);
  world[2].connect(world.ids[static_cast<std::size_t>(other)]);
  world.run_for(world.options.answer_limit + milliseconds(100));
  EXPECT_EQ(world[other].ups(world.ids[2]), 2);
  EXPECT_TRUE(world[other].transport.linked(world.ids[2]));
  world.expect_no_faults();
}

TEST(ParkingTransport, ClosingAParkedLinkGivesTheReasonToTheOtherEnd) {
  ParkingWorld world(kMembers);
  world.park_all();
  const int other = place_of_a_parked_pair(world, 0);
  ASSERT_GE(other, 0);
  const PeerId id = world.ids[static_cast<std::size_t>(other)];
  EXPECT_TRUE(world[0].send(id, Lane::kControl));
  world[0].transport.close(id, aborted("enough of you"));
  EXPECT_FALSE(world[0].transport.linked(id));
  EXPECT_FALSE(world[0].send(id, Lane::kControl));
  EXPECT_EQ(world[0].downs(id), 0);  // not within the call
  world.run_for(seconds(1));
  EXPECT_EQ(world[0].downs(id), 1);
  EXPECT_EQ(world[other].downs(world.ids[0]), 1);
  EXPECT_THAT(world[other].last_why().message(), testing::HasSubstr("enough of you"));
  // A new link may follow.
  world[0].connect(id);
  world.run_for(seconds(1));
  EXPECT_TRUE(world[other].transport.linked(world.ids[0]));
  world.expect_no_faults();
}

TEST(ParkingTransport, AReasonIsShortAndPrintableAtTheOtherEnd) {
  ParkingWorld world(kMembers);
  world.park_all();
  const int other = place_of_a_parked_pair(world, 0);
  ASSERT_GE(other, 0);
  const std::string reason = "gone \x1b[2J" + std::string(100000, 'x');
  world[0].transport.close(world.ids[static_cast<std::size_t>(other)], aborted(reason));
  world.run_for(milliseconds(200));
  EXPECT_EQ(world[other].downs(world.ids[0]), 1);
  EXPECT_THAT(world[other].last_why().message(), testing::HasSubstr("gone ?[2Jxxx"));
  EXPECT_LT(world[other].last_why().message().size(), 1000U);
  world.expect_no_faults();
}

TEST(ParkingTransport, PacketsAreForwardedBetweenMembersOnly) {
  ParkingWorld world(kMembers);
  world.park_all();
  const PeerId near = *world[0].transport.connected().begin();
  const int far = place_of_a_parked_pair(world, 0);
  ASSERT_GE(far, 0);
  const PeerId target = world.ids[static_cast<std::size_t>(far)];
  const PeerId stranger = {sha256(as_bytes("no member"))};
  const auto forwarded = [&](const PeerId& origin, const PeerId& to, std::uint8_t hops) {
    const std::uint64_t before = world[0].transport.parking_stats().packets_forwarded;
    const Bytes packet = RoutedMessage{origin, to, hops, Bytes(60)}.encode();
    world[0].on_frame(near, Lane::kControl, {frame_type::kRouted, packet, {}});
    return world[0].transport.parking_stats().packets_forwarded - before;
  };
  EXPECT_EQ(forwarded(near, target, 3), 1U);
  EXPECT_EQ(forwarded(near, target, 0), 0U);
  EXPECT_EQ(forwarded(stranger, target, 3), 0U);
  EXPECT_EQ(forwarded(near, stranger, 3), 0U);
}

TEST(ParkingTransport, APartitionEndsTheLinksAcrossIt) {
  ParkingWorld world(kMembers);
  world.park_all();
  const std::vector<PeerId> left(world.ids.begin(), world.ids.begin() + 10);
  const std::vector<PeerId> right(world.ids.begin() + 10, world.ids.end());
  world.net.partition({left, right});
  world.run_for(seconds(12));
  for (int a = 0; a < 10; ++a) {
    for (int b = 10; b < kMembers; ++b) {
      EXPECT_FALSE(world[a].transport.linked(world.ids[static_cast<std::size_t>(b)]));
    }
    for (int b = 0; b < 10; ++b) {
      if (a != b) {
        EXPECT_TRUE(world[a].transport.linked(world.ids[static_cast<std::size_t>(b)]));
      }
    }
  }
  world.net.unblock_all();
  world.run_for(seconds(10));
  EXPECT_EQ(send_to_all(world), kMembers * (kMembers - 1U));
  world.run_for(seconds(2));
  EXPECT_EQ(received_by_all(world), 1U * kMembers * (kMembers - 1U));
  world.expect_no_faults();
}

// Frames of both lanes, broken connections, kills and new rings at random moments: a link gives its
// frames in order and once, or it goes down.
TEST(ParkingTransport, AnythingMayHappenAtAnyMoment) {
  std::size_t parked = 0;
  for (const std::uint64_t seed : TestSeeds(1, 40)) {
    SimNetworkOptions slow;
    slow.delay_mean = milliseconds(20);
    ParkingWorld world(14, seed, slow);
    world.options.idle_before = seconds(1);
    for (int i = 0; i < world.size(); ++i) {
      world.crash(i);
      world.start(i);
    }
    world.connect_all();
    world.run_for(seconds(1));
    world.set_ring_of_all(world.ids);
    Rng rng(seed, 5);
    world[static_cast<int>(rng.below(14))].forwarding = Forwarding::kDropsAll;
    std::vector<PeerId> ring = world.ids;
    for (int step = 0; step < 2000; ++step) {
      const int a = static_cast<int>(rng.below(14));
      const int b = static_cast<int>(rng.below(14));
      const PeerId to = world.ids[static_cast<std::size_t>(b)];
      const std::uint64_t what = rng.below(1000);
      if (!world.runs(a)) {
        world.start(a);
        world[a].set_ring(ring);
      } else if (what < 3) {
        world.crash(a, what == 0 ? SimCrash::kPowerLoss : SimCrash::kKilled);
      } else if (a == b) {
        continue;
      } else if (what < 8) {
        std::swap(ring[static_cast<std::size_t>(a)], ring[static_cast<std::size_t>(b)]);
        world.set_ring_of_all(ring);
      } else if (what < 20) {
        world.net.break_link(world.ids[static_cast<std::size_t>(a)], to);
      } else if (what < 22) {
        world[a].transport.close(to, aborted("at random"));
        world[a].wake();
      } else if (!world[a].transport.linked(to)) {
        world[a].connect(to);
      } else {
        static_cast<void>(
            world[a].send(to, what < 60 ? Lane::kBulk : Lane::kControl, what == 999 ? 100000 : 10));
      }
      world.run_for(milliseconds(rng.below(20)));
      if (step % 100 == 0 && world.runs(a)) parked += world[a].transport.parking_stats().parked;
    }
    world.expect_no_faults();
    // Left alone, everybody is linked with everybody again and every frame arrives.
    for (int i = 0; i < world.size(); ++i) {
      if (world.runs(i)) continue;
      world.start(i);
      world[i].set_ring(ring);
    }
    world.connect_all();
    world.run_for(seconds(20));
    const std::uint64_t before = received_by_all(world);
    EXPECT_EQ(send_to_all(world), 14U * 13U) << seed;
    world.run_for(seconds(5));
    EXPECT_EQ(received_by_all(world) - before, 14U * 13U) << seed;
    world.expect_no_faults();
    if (HasFailure()) break;
  }
  EXPECT_GT(parked, 100U);
}

TEST(ParkingTransport, RandomParkingFramesOfAMemberEndItsLinkAtMost) {
  ParkingWorld world(kMembers);
  world.park_all();
  Rng rng(9);
  const std::vector<PeerId> near(world[0].transport.connected().begin(),
                                 world[0].transport.connected().end());
  for (int i = 0; i < 3000; ++i) {
    const PeerId& from = near[rng.below(near.size())];
    Bytes head(rng.below(120));
    for (std::uint8_t& byte : head) byte = static_cast<std::uint8_t>(rng.next_u32());
    const auto type = static_cast<std::uint8_t>(0x80 + rng.below(16));
    if (!world[0].transport.connected().contains(from)) continue;
    world[0].on_frame(from, rng.chance(0.8) ? Lane::kControl : Lane::kBulk, {type, head, {}});
    world.run_for(milliseconds(5));
  }
  world.run_for(seconds(20));
  const std::uint64_t before = received_by_all(world);
  EXPECT_EQ(send_to_all(world), kMembers * (kMembers - 1U));
  world.run_for(seconds(3));
  EXPECT_EQ(received_by_all(world) - before, kMembers * (kMembers - 1U));
  world.expect_no_faults();
}

}  // namespace
}  // namespace weft::parking_transport_test
