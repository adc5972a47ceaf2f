// Three transports on one loop: two that cannot dial each other, and one that both are linked to.
#include "weft/net/reach/reach.h"

#include <array>

#include <asio/ip/tcp.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "weft/net/event_loop.h"
#include "weft/net/testing/test_limit.h"
#include "weft/net/testing/transport_contract.h"
#include "weft/net/tls_transport.h"

namespace weft::reach_test {

namespace {

using std::chrono::milliseconds;

constexpr std::uint8_t kData = 0x30;
constexpr std::size_t kAsker = 0;
constexpr std::size_t kOther = 1;
constexpr std::size_t kThird = 2;

class ReachTest : public ::testing::Test {
 protected:
  void open(bool relays = true, Duration handshake_timeout = std::chrono::seconds(10)) {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      ListenOptions options;
      options.host = "127.0.0.1";
      options.punch_timeout = milliseconds(200);
      options.relays = relays;
      options.handshake_timeout = handshake_timeout;
      peers_[i] = make_tls_transport(loop_, identities_[i], options).value();
      peers_[i]->set_handler(handlers_[i]);
    }
  }
  const PeerId& id(std::size_t peer) const { return identities_[peer].id(); }
  void link(std::size_t from, std::size_t to) {
    peers_[from]->connect({id(to), peers_[to]->endpoints()});
    ASSERT_TRUE(loop_.run_until(
        [&] { return peers_[from]->linked(id(to)) && peers_[to]->linked(id(from)); }, kLimit));
  }
  // The asker knows only an address where nobody listens.
  void ask() { peers_[kAsker]->connect({id(kOther), {"127.0.0.1:1"}}); }
  bool both_linked() const {
    return peers_[kAsker]->linked(id(kOther)) && peers_[kOther]->linked(id(kAsker));
  }
  void exchange() {
    const Bytes body(300'000, 42);
    for (const auto& [from, to] : {std::pair(kAsker, kOther), std::pair(kOther, kAsker)}) {
      for (const Lane lane : {Lane::kControl, Lane::kBulk}) {
        ASSERT_TRUE(peers_[from]->send(id(to), lane, {kData, {1, 2}, SharedBytes(body)}).ok());
      }
      RecordingHandler& handler = handlers_[to];
      ASSERT_TRUE(loop_.run_until([&] { return handler.frames.size() == 2; }, kLimit));
      EXPECT_EQ(handler.frames[0].body, body);
      EXPECT_EQ(handler.frames[1].body, body);
    }
  }

  EventLoop loop_;
  std::array<PeerIdentity, 3> identities_{PeerIdentity::generate(), PeerIdentity::generate(),
                                          PeerIdentity::generate()};
  std::array<RecordingHandler, 3> handlers_;
  std::array<std::unique_ptr<Transport>, 3> peers_;
};

TEST_F(ReachTest, ThePeersSeenByTheThirdArePunched) {
  open();
  // It dialled both, so what it sees of them are the ports that they listen on.
  link(kThird, kAsker);
  link(kThird, kOther);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
  const LinkInfo& info = handlers_[kAsker].ups.back();
  EXPECT_EQ(info.path, LinkPath::kPunched);
  EXPECT_EQ(info.via, id(kThird).short_name());
  EXPECT_NE(info.why.find("127.0.0.1:1"), std::string::npos) << info.why;
  EXPECT_EQ(handlers_[kOther].ups.back().path, LinkPath::kPunched);
  EXPECT_EQ(handlers_[kOther].ups.back().exporter, info.exporter);
  exchange();
}

TEST_F(ReachTest, WithoutAnOpenPortTheThirdRelaysAndReadsNothing) {
  open();
  link(kAsker, kThird);
  link(kOther, kThird);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
  const LinkInfo& info = handlers_[kAsker].ups.back();
  EXPECT_EQ(info.path, LinkPath::kRelayed);
  EXPECT_EQ(info.via, id(kThird).short_name());
  EXPECT_FALSE(info.inbound);
  EXPECT_EQ(handlers_[kOther].ups.back().path, LinkPath::kRelayed);
  EXPECT_TRUE(handlers_[kOther].ups.back().inbound);
  // The secret is the two ends' own, so nobody stands between them.
  EXPECT_EQ(handlers_[kOther].ups.back().exporter, info.exporter);
  exchange();
  // The link ends with the relay.
  peers_[kThird].reset();
  EXPECT_TRUE(loop_.run_until([&] { return !peers_[kAsker]->linked(id(kOther)); }, kLimit));
}

TEST_F(ReachTest, StrangersAreNotBroughtTogether) {
  open();
  handlers_[kThird].trust = LinkTrust::kStranger;
  link(kAsker, kThird);
  link(kOther, kThird);
  ask();
  // Nobody answers the asker, who gives up in time; and the other was not troubled.
  ASSERT_TRUE(loop_.run_until([&] { return !handlers_[kAsker].downs.empty(); }, kLimit));
  EXPECT_TRUE(handlers_[kOther].downs.empty());
  EXPECT_TRUE(handlers_[kOther].refusals.empty());
  // Nor is one that is proved brought to a stranger, and it is told so.
  peers_[kThird]->set_trust(id(kAsker), LinkTrust::kProved);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return handlers_[kAsker].downs.size() == 2; }, kLimit));
  EXPECT_NE(handlers_[kAsker].downs[1].why.message().find("not linked to that peer"),
            std::string::npos)
      << handlers_[kAsker].downs[1].why.message();
  peers_[kThird]->set_trust(id(kOther), LinkTrust::kProved);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
}

TEST_F(ReachTest, WhatAStrangerSaysOfOthersIsNotBelieved) {
  open();
  handlers_[kOther].trust = LinkTrust::kStranger;
  link(kAsker, kThird);
  link(kThird, kOther);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return !handlers_[kAsker].downs.empty(); }, kLimit));
  EXPECT_FALSE(both_linked());
}

TEST_F(ReachTest, ARelayedLinkEndsWithTheRightOfEitherEnd) {
  open();
  link(kAsker, kThird);
  link(kOther, kThird);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
  peers_[kThird]->set_trust(id(kOther), LinkTrust::kKnown);
  EXPECT_TRUE(loop_.run_until(
      [&] { return !peers_[kAsker]->linked(id(kOther)) && !peers_[kOther]->linked(id(kAsker)); },
      kLimit));
}

TEST_F(ReachTest, ARelayedLinkOutlivesAnEndsOwnLinkByAMoment) {
  open();
  link(kAsker, kThird);
  link(kOther, kThird);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
  // Back within it: nothing happens.
  peers_[kThird]->close(id(kOther), aborted("for a moment"));
  ASSERT_TRUE(loop_.run_until([&] { return !peers_[kOther]->linked(id(kThird)); }, kLimit));
  link(kOther, kThird);
  loop_.run_for(std::chrono::seconds(7));
  EXPECT_TRUE(both_linked());
  peers_[kThird]->close(id(kOther), aborted("for good"));
  EXPECT_TRUE(loop_.run_until([&] { return !both_linked(); }, kLimit));
}

TEST_F(ReachTest, BothMayAskAtOnce) {
  open();
  link(kAsker, kThird);
  link(kOther, kThird);
  ask();
  peers_[kOther]->connect({id(kAsker), {"127.0.0.1:1"}});
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
  exchange();
}

TEST_F(ReachTest, ADialFailsWithAReasonWhenNobodyRelays) {
  open(false);
  link(kAsker, kThird);
  link(kOther, kThird);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return !handlers_[kAsker].downs.empty(); }, kLimit));
  EXPECT_EQ(handlers_[kAsker].downs[0].peer, id(kOther));
  EXPECT_NE(handlers_[kAsker].downs[0].why.message().find("does not relay"), std::string::npos)
      << handlers_[kAsker].downs[0].why.message();
  EXPECT_TRUE(peers_[kAsker]->linked(id(kThird)));
}

TEST_F(ReachTest, AnIntroducerThatIsNotLinkedToTheOtherSaysSo) {
  open();
  link(kAsker, kThird);
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return !handlers_[kAsker].downs.empty(); }, kLimit));
  EXPECT_NE(handlers_[kAsker].downs[0].why.message().find("not linked to that peer"),
            std::string::npos)
      << handlers_[kAsker].downs[0].why.message();
}

// Takes connections and never says a word, so that a dial of it lasts as long as it may.
class DeafListener {
 public:
  explicit DeafListener(const std::string& host)
      : socket_(listen_on(asio::ip::tcp::endpoint(asio::ip::make_address(host), 0)).value()) {}
  std::string endpoint() const { return address_text(local_address(socket_.get()).value()); }
  std::string port() const { return endpoint().substr(endpoint().rfind(':')); }
  std::size_t dials() {
    for (;;) {
      Socket dial(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!dial.valid()) return taken_.size();
      taken_.push_back(std::move(dial));
    }
  }

 private:
  Socket socket_;
  std::vector<Socket> taken_;
};

TEST_F(ReachTest, TheFirstAddressThatAnswersWinsTheRace) {
  open();
  // The first address takes the connection and never says a word.
  const DeafListener deaf("127.0.0.1");
  const std::string silent = deaf.endpoint();
  const TimePoint begin = loop_.now();
  peers_[kAsker]->connect({id(kOther), {silent, peers_[kOther]->endpoints()[0]}});
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
  // One after the other would take the handshake's ten seconds.
  EXPECT_LT(loop_.now() - begin, std::chrono::seconds(9));
  EXPECT_EQ(handlers_[kAsker].ups.back().path, LinkPath::kDirect);
}

TEST_F(ReachTest, AnAddressThatIsToldDuringADialJoinsTheRace) {
  // Longer than the test's limit: the dial of the dead address never ends.
  open(true, std::chrono::hours(1));
  DeafListener dead("127.0.0.1");
  peers_[kAsker]->connect({id(kOther), {dead.endpoint()}});
  ASSERT_TRUE(loop_.run_until([&] { return dead.dials() == 1; }, kLimit));
  for (int i = 0; i < 3; ++i) peers_[kAsker]->connect({id(kOther), {dead.endpoint()}});
  peers_[kAsker]->connect({id(kOther), {dead.endpoint(), peers_[kOther]->endpoints()[0]}});
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
  EXPECT_EQ(handlers_[kAsker].ups.size(), 1U);
  EXPECT_TRUE(handlers_[kAsker].downs.empty());
  // What is under way is not dialled once more.
  EXPECT_EQ(dead.dials(), 1U);
}

TEST_F(ReachTest, OnlySoManyAddressesOfAPeerAreDialled) {
  open(true, std::chrono::hours(1));
  DeafListener dead("0.0.0.0");
  for (int i = 1; i <= 100; ++i) {
    peers_[kAsker]->connect({id(kOther), {"127.0.0." + std::to_string(i) + dead.port()}});
  }
  EXPECT_TRUE(loop_.run_until([&] { return dead.dials() >= 16; }, kLimit));
  loop_.run_for(milliseconds(600));
  EXPECT_EQ(dead.dials(), 16U);
  // The peer's own dial needs no address.
  link(kOther, kAsker);
}

TEST_F(ReachTest, PeersMeetOverIpv6) {
  ListenOptions options;
  options.host = "::1";
  options.punch_timeout = milliseconds(200);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Result<std::unique_ptr<Transport>> made = make_tls_transport(loop_, identities_[i], options);
    if (!made.ok()) GTEST_SKIP() << "no IPv6 here: " << made.status().message();
    peers_[i] = std::move(made).value();
    peers_[i]->set_handler(handlers_[i]);
  }
  link(kAsker, kThird);
  link(kOther, kThird);
  // One family's address is dead; the other one's answers, or the third peer relays.
  peers_[kAsker]->connect({id(kOther), {"127.0.0.1:1", "[::1]:1"}});
  ASSERT_TRUE(loop_.run_until([&] { return both_linked(); }, kLimit));
  EXPECT_EQ(handlers_[kAsker].ups.back().path, LinkPath::kRelayed);
  exchange();
}

TEST_F(ReachTest, AskingInVainEndsEachTime) {
  open();
  link(kAsker, kThird);
  for (int i = 0; i < 40; ++i) {
    const std::size_t before = handlers_[kAsker].downs.size();
    peers_[kAsker]->connect({PeerIdentity::generate().id(), {"127.0.0.1:1"}});
    ASSERT_TRUE(loop_.run_until([&] { return handlers_[kAsker].downs.size() > before; }, kLimit));
  }
  EXPECT_TRUE(peers_[kAsker]->linked(id(kThird)));
}

// --- Strangers at the relay.

Socket dialled(const std::string& endpoint) {
  return begin_connect(numeric_address(endpoint).value()).value();
}

TEST_F(ReachTest, PrefacesThatNobodyExpectsAreRefused) {
  open();
  const std::array<Bytes, 3> openings = {
      PrefaceMessage{PrefaceKind::kRelay, {1}, {}, 0, false}.encode(),
      PrefaceMessage{PrefaceKind::kPunch, {}, {2}, 0, false}.encode(),
      Bytes(kPrefaceBytes, kPrefaceFirstByte)};
  const std::array<std::string, 3> reasons = {"token", "nobody here asked", "preface.magic"};
  for (std::size_t i = 0; i < openings.size(); ++i) {
    const std::size_t before = handlers_[kThird].refusals.size();
    const Socket stranger = dialled(peers_[kThird]->endpoints()[0]);
    ASSERT_TRUE(loop_.run_until(
        [&] {
          return ::send(stranger.get(), openings[i].data(), openings[i].size(), MSG_NOSIGNAL) > 0;
        },
        kLimit));
    ASSERT_TRUE(
        loop_.run_until([&] { return handlers_[kThird].refusals.size() > before; }, kLimit));
    const std::string why = handlers_[kThird].refusals.back().message();
    EXPECT_NE(why.find(reasons[i]), std::string::npos) << why;
  }
}

}  // namespace

}  // namespace weft::reach_test
