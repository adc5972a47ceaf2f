// What a peer gets that may not park its link: at most one answer.
#include <gtest/gtest.h>

#include "weft/net/parking/test_parking_world.h"
#include "weft/net/parking_transport.h"

namespace weft::parking_strangers_test {
namespace {

using std::chrono::seconds;

constexpr int kMembers = 20;

// A member, too, would be refused the parking of a link to its neighbour, but with an answer.
TEST(ParkingStrangers, AStrangerThatAsksGetsNoAnswerAndLosesItsLink) {
  for (const bool stranger : {false, true}) {
    ParkingWorld world(kMembers);
    world.park_all();
    const auto asks_first = [&](int i) {
      return *world[i].transport.connected().begin() < world.ids[static_cast<std::size_t>(i)];
    };
    int place = 0;
    while (place < kMembers - 1 && !asks_first(place)) ++place;
    ASSERT_TRUE(asks_first(place));
    const PeerId peer = *world[place].transport.connected().begin();
    if (stranger) world[place].transport.set_trust(peer, LinkTrust::kStranger);
    world[place].on_frame(peer, Lane::kControl,
                          {frame_type::kParkAsk, ParkAskMessage().encode(), {}});
    EXPECT_EQ(world[place].inner.linked(peer), !stranger);
  }
}

TEST(ParkingStrangers, WhoContinuesAnUnknownLinkIsToldOnce) {
  ParkingWorld world(3);
  world.connect_all();
  world.run_for(seconds(1));
  ParkResumeMessage resume;
  resume.name[0] = 1;
  for (int i = 0; i < 50; ++i) {
    world[0].on_frame(world.ids[1], Lane::kControl, {frame_type::kParkResume, resume.encode(), {}});
  }
  world.run_for(seconds(1));
  EXPECT_EQ(world[1].arrived[frame_type::kParkResume], 1);
  world.expect_no_faults();
}

}  // namespace
}  // namespace weft::parking_strangers_test
