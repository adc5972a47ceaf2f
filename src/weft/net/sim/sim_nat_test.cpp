// Machines behind routers of the simulated network: punched and relayed links.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "weft/net/sim_network.h"

namespace weft::sim_nat_test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint8_t kType = 0x40;

PeerId peer_of(std::size_t number) {
  PeerId id;
  id.bytes[0] = static_cast<std::uint8_t>(number + 1);
  return id;
}

class Recorder final : public TransportHandler {
 public:
  LinkTrust first_trust(const LinkInfo& /*link*/) override { return trust; }
  void on_link_up(const LinkInfo& link) override { ups.push_back(link); }
  void on_link_down(const PeerId& /*peer*/, const Status& why) override { downs.push_back(why); }
  void on_frame(const PeerId&, Lane, const FrameView& frame) override {
    frames.push_back(frame.head.empty() ? 0 : frame.head[0]);
  }
  void on_writable(const PeerId&, Lane) override {}

  LinkTrust trust = LinkTrust::kProved;
  std::vector<LinkInfo> ups;
  std::vector<Status> downs;
  std::vector<int> frames;
};

// Machine 0 is open, 1 and 2 stand behind routers and are linked to 0.
class SimNatTest : public ::testing::Test {
 protected:
  void open(SimNat first, SimNat second, bool with_helper = true) {
    for (std::size_t i = 0; i < 3; ++i) {
      machines_[i] = &net_.start(peer_of(i));
      machines_[i]->set_handler(heard_[i]);
    }
    net_.set_nat(peer_of(1), first);
    net_.set_nat(peer_of(2), second);
    if (!with_helper) return;
    connect(1, 0);
    connect(2, 0);
    run(milliseconds(200));
    ASSERT_EQ(heard_[0].ups.size(), 2U);
    EXPECT_EQ(heard_[0].ups[0].path, LinkPath::kDirect);
  }
  void connect(std::size_t from, std::size_t to) {
    machines_[from]->connect({peer_of(to), {net_.endpoint(peer_of(to))}});
  }
  void run(Duration time) { net_.run_until(net_.now() + time); }
  void link_the_two() {
    connect(1, 2);
    run(milliseconds(200));
    ASSERT_TRUE(machines_[1]->linked(peer_of(2)));
    ASSERT_TRUE(machines_[2]->linked(peer_of(1)));
  }
  void send(std::size_t from, std::size_t to, std::uint8_t value) {
    ASSERT_TRUE(machines_[from]->send(peer_of(to), Lane::kControl, {kType, {value}, {}}).ok());
  }

  SimNetwork net_{SimNetworkOptions()};
  std::array<SimTransport*, 3> machines_{};
  std::array<Recorder, 3> heard_;
};

TEST_F(SimNatTest, TwoConesArePunchedWithTheThirdPeersHelp) {
  open(SimNat::kCone, SimNat::kCone);
  link_the_two();
  for (const std::size_t end : {1U, 2U}) {
    EXPECT_EQ(heard_[end].ups.back().path, LinkPath::kPunched);
    EXPECT_EQ(heard_[end].ups.back().via, peer_of(0).short_name());
  }
  // It lives on without the helper.
  net_.crash(peer_of(0), SimCrash::kKilled);
  run(milliseconds(200));
  send(1, 2, 7);
  run(milliseconds(200));
  EXPECT_EQ(heard_[2].frames, std::vector<int>{7});
}

TEST_F(SimNatTest, ASymmetricRouterNeedsARelayAndTheLinkDiesWithIt) {
  open(SimNat::kSymmetric, SimNat::kCone);
  link_the_two();
  EXPECT_EQ(heard_[1].ups.back().path, LinkPath::kRelayed);
  send(1, 2, 1);
  send(2, 1, 2);
  run(milliseconds(200));
  EXPECT_EQ(heard_[2].frames, std::vector<int>{1});
  EXPECT_EQ(heard_[1].frames, std::vector<int>{2});
  net_.crash(peer_of(0), SimCrash::kKilled);
  run(milliseconds(200));
  EXPECT_FALSE(machines_[1]->linked(peer_of(2)));
  EXPECT_FALSE(machines_[2]->linked(peer_of(1)));
  EXPECT_EQ(heard_[1].downs.size(), 2U);
}

TEST_F(SimNatTest, ABlockedLegHoldsTheRelayedFrames) {
  open(SimNat::kSymmetric, SimNat::kSymmetric);
  link_the_two();
  net_.block(peer_of(0), peer_of(2));
  send(1, 2, 1);
  run(milliseconds(500));
  EXPECT_TRUE(heard_[2].frames.empty());
  net_.unblock(peer_of(0), peer_of(2));
  run(milliseconds(200));
  EXPECT_EQ(heard_[2].frames, std::vector<int>{1});
  net_.block(peer_of(1), peer_of(0));
  run(std::chrono::seconds(2));
  EXPECT_FALSE(machines_[1]->linked(peer_of(2)));
}

TEST_F(SimNatTest, AnOpenPeerIsDialledBackAndNobodyHelpsTheLonely) {
  open(SimNat::kNone, SimNat::kSymmetric);
  link_the_two();
  EXPECT_EQ(heard_[1].ups.back().path, LinkPath::kPunched);
}

TEST_F(SimNatTest, AThirdPeerHelpsNoStrangers) {
  heard_[0].trust = LinkTrust::kStranger;
  open(SimNat::kCone, SimNat::kCone);
  machines_[0]->set_trust(peer_of(1), LinkTrust::kProved);
  connect(1, 2);
  run(std::chrono::seconds(5));
  EXPECT_FALSE(machines_[1]->linked(peer_of(2)));
  machines_[0]->set_trust(peer_of(2), LinkTrust::kProved);
  link_the_two();
}

TEST_F(SimNatTest, WithoutAThirdPeerTheDialFails) {
  open(SimNat::kNone, SimNat::kCone, false);
  connect(1, 2);
  run(std::chrono::seconds(5));
  EXPECT_TRUE(heard_[1].ups.empty());
  ASSERT_EQ(heard_[1].downs.size(), 1U);
  EXPECT_EQ(heard_[1].downs[0].code(), Code::kTimeout);
}

}  // namespace
}  // namespace weft::sim_nat_test
