// Two processes with one key: the one whose link stands and answers stays, the other one is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/net/event_loop.h"
#include "weft/net/testing/test_limit.h"
#include "weft/net/testing/transport_contract.h"
#include "weft/net/tls_transport.h"

namespace weft::twin_test {
namespace {

using ::testing::HasSubstr;

struct TwinHandler final : RecordingHandler {
  void on_twin(const PeerId& peer, const std::string& remote) override {
    twins.emplace_back(peer, remote);
  }
  std::vector<std::pair<PeerId, std::string>> twins;
};

class Twins : public ::testing::Test {
 protected:
  std::unique_ptr<Transport> start(const PeerIdentity& identity, TransportHandler& handler) {
    ListenOptions options;
    options.host = "127.0.0.1";
    std::unique_ptr<Transport> made = make_tls_transport(loop_, identity, options).value();
    made->set_handler(handler);
    return made;
  }
  bool until(const std::function<bool()>& done) { return loop_.run_until(done, kLimit); }

  EventLoop loop_;
  PeerIdentity host_key_ = PeerIdentity::generate();
  PeerIdentity key_ = PeerIdentity::generate();
  TwinHandler host_heard_;
  TwinHandler first_heard_;
  TwinHandler second_heard_;
  std::unique_ptr<Transport> host_ = start(host_key_, host_heard_);
  std::unique_ptr<Transport> first_ = start(key_, first_heard_);
  std::unique_ptr<Transport> second_ = start(key_, second_heard_);
};

TEST_F(Twins, TheOneThatAnswersStays) {
  first_->connect({host_->self(), host_->endpoints()});
  ASSERT_TRUE(until([&] { return !host_heard_.ups.empty() && !first_heard_.ups.empty(); }));
  for (std::size_t i = 0; i < 3; ++i) {
    second_->connect({host_->self(), host_->endpoints()});
    ASSERT_TRUE(until([&] { return second_heard_.downs.size() > i; }));
    EXPECT_EQ(second_heard_.downs[i].why.code(), Code::kAborted);
    EXPECT_THAT(second_heard_.downs[i].why.message(),
                HasSubstr("another process uses this peer's identity"));
  }
  ASSERT_EQ(host_heard_.twins.size(), 3U);
  EXPECT_EQ(host_heard_.twins[0].first, key_.id());
  EXPECT_THAT(host_heard_.twins[0].second, HasSubstr("127.0.0.1:"));
  // Nothing happened to the link of the first.
  EXPECT_TRUE(host_heard_.downs.empty());
  EXPECT_TRUE(first_heard_.downs.empty());
  ASSERT_TRUE(first_->send(host_->self(), Lane::kBulk, {0x30, {1}, {}}).ok());
  EXPECT_TRUE(until([&] { return !host_heard_.frames.empty(); }));
}

TEST_F(Twins, OfOneThatIsGoneThePlaceIsFreeAtOnce) {
  first_->connect({host_->self(), host_->endpoints()});
  ASSERT_TRUE(until([&] { return !host_heard_.ups.empty() && !first_heard_.ups.empty(); }));
  first_.reset();
  second_->connect({host_->self(), host_->endpoints()});
  ASSERT_TRUE(until([&] { return !second_heard_.ups.empty(); }));
  EXPECT_TRUE(until([&] { return host_heard_.ups.size() == 2; }));
  EXPECT_TRUE(host_heard_.twins.empty());
}

// As of a machine without power: its link stands, and nobody answers there.
TEST_F(Twins, OneThatIsSilentLosesItsPlaceSoon) {
  EventLoop frozen;
  ListenOptions options;
  options.host = "127.0.0.1";
  TwinHandler heard;
  const auto silent = make_tls_transport(frozen, key_, options).value();
  silent->set_handler(heard);
  silent->connect({host_->self(), host_->endpoints()});
  for (int turn = 0; turn < 2000 && (host_heard_.ups.empty() || heard.ups.empty()); ++turn) {
    frozen.run_for(std::chrono::milliseconds(1));
    loop_.run_for(std::chrono::milliseconds(1));
  }
  ASSERT_FALSE(host_heard_.ups.empty());
  second_->connect({host_->self(), host_->endpoints()});
  ASSERT_TRUE(until([&] { return !second_heard_.ups.empty(); }));
  EXPECT_TRUE(until([&] { return host_heard_.ups.size() == 2; }));
  EXPECT_TRUE(host_heard_.twins.empty());
  ASSERT_EQ(host_heard_.downs.size(), 1U);
  EXPECT_THAT(host_heard_.downs[0].why.message(), HasSubstr("restarted"));
}

}  // namespace
}  // namespace weft::twin_test
