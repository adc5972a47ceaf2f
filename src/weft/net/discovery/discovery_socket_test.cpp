#include "weft/net/discovery_socket.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/net/testing/test_limit.h"

namespace weft::discovery_socket_test {
namespace {

RunId run(std::uint8_t number) {
  RunId out{};
  out.fill(number);
  return out;
}

// Members of one machine, on a loop of their own.
class DiscoverySocket : public testing::Test {
 public:
  ~DiscoverySocket() override {
    loop_.stop();
    thread_.join();
  }

 protected:
  DiscoverySocket() { place_.port = 0; }

  // Before start(). False where the machine has no multicast.
  bool add_member(std::uint8_t number, DiscoveryAudience audience = DiscoveryAudience::kNetwork,
                  const PeerIdentity& identity = PeerIdentity::generate()) {
    auto listener = DiscoveryListener::open(loop_, identity, place_, audience);
    if (!listener.ok()) return false;
    place_.port = (*listener)->port();
    DiscoveryCard card;
    card.run = run(number);
    card.name = "run " + std::to_string(number);
    card.endpoints = {"127.0.0.1:7420"};
    (*listener)->set_card(card);
    listeners_.push_back(std::move(listener).value());
    return true;
  }
  void start() {
    thread_ = Thread([this] { loop_.run(); });
  }
  Result<std::vector<DiscoveredRun>> find(std::optional<RunId> wanted, std::size_t answers) {
    DiscoverOptions options;
    options.run = wanted;
    options.limit = kLimit;
    options.place = place_;
    options.enough = [answers](const std::vector<DiscoveredRun>& runs) {
      std::size_t count = 0;
      for (const DiscoveredRun& found : runs) count += found.answers.size();
      return count >= answers;
    };
    return discover_runs(options);
  }

  DiscoveryPlace place_;
  EventLoop loop_;
  std::vector<std::unique_ptr<DiscoveryListener>> listeners_;
  Thread thread_;
};

TEST_F(DiscoverySocket, TwoPeersOfOneMachineAreBothFound) {
  if (!add_member(1)) GTEST_SKIP() << "this machine has no multicast";
  ASSERT_TRUE(add_member(2));
  start();
  const auto found = find(std::nullopt, 2);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->size(), 2U);
  EXPECT_NE((*found)[0].tag, (*found)[1].tag);
}

TEST_F(DiscoverySocket, AsksForOneRun) {
  if (!add_member(1)) GTEST_SKIP() << "this machine has no multicast";
  ASSERT_TRUE(add_member(2));
  start();
  const auto found = find(run(2), 1);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ((*found)[0].name, "run 2");
  EXPECT_TRUE((*found)[0].proved);
}

TEST_F(DiscoverySocket, OneForThisMachineAloneAnswersThisMachine) {
  if (!add_member(1, DiscoveryAudience::kThisMachine)) {
    GTEST_SKIP() << "this machine has no multicast";
  }
  start();
  const auto found = find(std::nullopt, 1);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->size(), 1U);
}

TEST_F(DiscoverySocket, TheTicketBehindACodeIsFound) {
  const PeerIdentity identity = PeerIdentity::generate();
  const IssuedJoinCode issued = issue_join_code(identity.public_key());
  if (!add_member(1, DiscoveryAudience::kNetwork, identity)) {
    GTEST_SKIP() << "this machine has no multicast";
  }
  ASSERT_TRUE(add_member(2));
  const std::int64_t expiry = SystemClock().unix_time_s() + 3600;
  listeners_[0]->set_codes({{issued.key, issued.salt, "weft2-aaaa", expiry}});
  start();
  const auto found = discover_ticket(issued.code, place_, kLimit);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(*found, "weft2-aaaa");
  JoinCode other = issued.code;
  other.symbols[0] ^= 1U;
  EXPECT_EQ(discover_ticket(other, place_, std::chrono::milliseconds(300)).status().message(),
            "code: nobody on this network answers to it");
}

TEST_F(DiscoverySocket, APlaceThatIsNoGroupIsRefused) {
  DiscoveryPlace place;
  place.group_v4 = "192.0.2.1";
  place.group_v6 = "::1";
  EXPECT_EQ(DiscoveryListener::open(loop_, PeerIdentity::generate(), place).status().code(),
            Code::kInvalidArgument);
  DiscoverOptions options;
  options.place = place;
  EXPECT_EQ(discover_runs(options).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft::discovery_socket_test
