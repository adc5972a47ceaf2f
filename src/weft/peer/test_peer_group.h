// PeerGroupTest: a fixture with TestPeers on one simulated network, which form one view.
//
// Threads: one owner.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"

namespace weft {

class PeerGroupTest : public ::testing::Test {
 protected:
  // Starts peer `number`, which has not joined anything yet.
  TestPeer& add(std::uint32_t number) {
    peers.push_back(make_peer(options_of(number)));
    return *peers.back();
  }
  // `count` members in one view.
  void form(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) add(i);
    peer(0).found();
    for (std::uint32_t i = 1; i < count; ++i) {
      peer(i).join(peer(0).ticket());
      run(std::chrono::seconds(1));
      ASSERT_EQ(peer(i).state(), MembershipState::kMember) << i;
    }
  }
  TestPeer& peer(std::size_t i) { return *peers[i]; }
  void run(Duration duration) { net.run_until(net.now() + duration); }

  virtual MembershipOptions options_of(std::uint32_t number) const {
    return test_membership(test_peer_id(number));
  }
  virtual std::unique_ptr<TestPeer> make_peer(MembershipOptions options) {
    return std::make_unique<TestPeer>(net, std::move(options), 7);
  }

  SimNetwork net{SimNetworkOptions{}};
  std::vector<std::unique_ptr<TestPeer>> peers;
};

}  // namespace weft
