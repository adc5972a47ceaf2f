// Lines that come and go, and lines that carry one way only.
#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"

namespace weft::flapping_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A peer that joins again when it was put out.
class ReturningPeer final : public TestPeer {
 public:
  using TestPeer::TestPeer;
  void on_removed(const Status& why) override {
    TestPeer::on_removed(why);
    ++removals;
  }
  int removals = 0;
};

class FlappingTest : public ::testing::Test {
 protected:
  void form(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      peers.push_back(std::make_unique<ReturningPeer>(net, test_membership(test_peer_id(i)), 7));
    }
    peer(0).found();
    for (std::uint32_t i = 1; i < count; ++i) {
      peer(i).join(peer(0).ticket());
      run(seconds(1));
      ASSERT_EQ(peer(i).state(), MembershipState::kMember);
    }
    for (const auto& each : peers) ASSERT_EQ(each->view().size(), static_cast<int>(count));
  }
  ReturningPeer& peer(std::size_t i) { return *peers[i]; }
  // Lets whoever was put out join again.
  void run(Duration duration) {
    const TimePoint ends = net.now() + duration;
    while (net.now() < ends) {
      net.run_until(std::min(ends, net.now() + milliseconds(100)));
      for (std::size_t i = 0; i < peers.size(); ++i) {
        const bool out = peer(i).state() == MembershipState::kRemoved ||
                         peer(i).state() == MembershipState::kOutside;
        if (out && !peer(i).views.empty()) peer(i).join(peer(i == 0 ? 1 : 0).ticket());
      }
    }
  }
  // The line between the two is dead for this long, and then new links are made.
  void interrupt(std::size_t a, std::size_t b, Duration outage) {
    net.break_link(peer(a).id, peer(b).id);
    net.block(peer(a).id, peer(b).id);
    net.block(peer(b).id, peer(a).id);
    net.call_at(net.now() + outage, [this, a, b] {
      net.unblock(peer(a).id, peer(b).id);
      net.unblock(peer(b).id, peer(a).id);
    });
  }
  // The others remove peer 2 of five, and admit it again once its links work.
  void expect_removal_and_return() {
    run(seconds(10));
    for (const std::size_t i : {0U, 1U, 3U, 4U}) {
      EXPECT_EQ(peer(i).view().size(), 4) << i;
      EXPECT_EQ(peer(i).state(), MembershipState::kMember) << i;
    }
    net.unblock_all();
    run(seconds(20));
    for (const auto& each : peers) EXPECT_EQ(each->view().size(), 5);
  }
  int removals() const {
    int sum = 0;
    for (const auto& each : peers) sum += each->removals;
    return sum;
  }

  // A dial into a dead line fails soon, and is tried again.
  static SimNetworkOptions network_options() {
    SimNetworkOptions options;
    options.connect_timeout = milliseconds(300);
    return options;
  }

  SimNetwork net{network_options()};
  std::vector<std::unique_ptr<ReturningPeer>> peers;
};

TEST_F(FlappingTest, ALinkThatComesAndGoesEvictsNobody) {
  form(5);
  const ViewId before = peer(0).view().id;
  for (int i = 0; i < 60; ++i) {
    interrupt(1, 2, milliseconds(400));
    run(milliseconds(1150));
  }
  EXPECT_EQ(peer(0).view().id, before);
  EXPECT_EQ(removals(), 0);
}

TEST_F(FlappingTest, AMachineWhoseLineComesAndGoesIsPutOutOnceAtMost) {
  form(5);
  for (int i = 0; i < 40; ++i) {
    for (std::size_t other = 0; other < 5; ++other) {
      if (other != 3) interrupt(3, other, milliseconds(800));
    }
    run(seconds(3));
  }
  EXPECT_LE(removals(), 1);
  run(seconds(5));
  for (const auto& each : peers) EXPECT_EQ(each->view().size(), 5);
}

TEST_F(FlappingTest, ALineThatPausesIsLearned) {
  form(5);
  for (int i = 0; i < 40; ++i) {
    for (std::size_t other = 0; other < 5; ++other) {
      net.block(peer(3).id, peer(other).id);
    }
    run(milliseconds(1250));
    net.unblock_all();
    run(seconds(5));
  }
  EXPECT_LE(removals(), 1);
  for (const auto& each : peers) EXPECT_EQ(each->view().size(), 5);
}

TEST_F(FlappingTest, OfTwoThatHearEachOtherOneWayOnlyOneGoes) {
  form(5);
  net.block(peer(1).id, peer(2).id);
  run(seconds(20));
  // The others agree, and agree for good: one of the two is in.
  const View& view = peer(0).view();
  EXPECT_TRUE(view.contains(peer(3).id) && view.contains(peer(4).id));
  EXPECT_NE(view.contains(peer(1).id), view.contains(peer(2).id));
  net.unblock_all();
  run(seconds(20));
  for (const auto& each : peers) EXPECT_EQ(each->view().size(), 5);
}

TEST_F(FlappingTest, OneWhoseFramesDoNotArriveIsRemovedAndReturns) {
  form(5);
  for (const std::size_t other : {0U, 1U, 3U, 4U}) net.block(peer(2).id, peer(other).id);
  expect_removal_and_return();
}

TEST_F(FlappingTest, OneThatReceivesNothingIsRemovedAndReturns) {
  form(5);
  for (const std::size_t other : {0U, 1U, 3U, 4U}) net.block(peer(other).id, peer(2).id);
  expect_removal_and_return();
}

TEST_F(FlappingTest, OfTwoWithAOneWayLineOneGoesOnAlone) {
  form(2);
  net.block(peer(0).id, peer(1).id);
  net.run_until(net.now() + seconds(20));
  const bool first = peer(0).state() == MembershipState::kMember;
  const bool second = peer(1).state() == MembershipState::kMember;
  EXPECT_NE(first, second);
  net.unblock_all();
  run(seconds(20));
  for (const auto& each : peers) EXPECT_EQ(each->view().size(), 2);
}

}  // namespace
}  // namespace weft::flapping_test
