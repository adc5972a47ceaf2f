// Attacks on a listening peer that need more than wrong bytes: floods, half-open connections, a man
// in the middle, altered records and handshakes that are said again.
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weft/base/check.h"
#include "weft/net/stream/socket.h"
#include "weft/net/testing/test_limit.h"
#include "weft/net/testing/transport_contract.h"
#include "weft/net/tls_transport.h"

namespace weft::attack_test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

ListenOptions loopback() {
  ListenOptions options;
  options.host = "127.0.0.1";
  options.handshake_timeout = milliseconds(3000);
  return options;
}

sockaddr_in ipv4(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// A non-blocking socket from `source`, an address of this machine, that is connected as soon as the
// target's queue has room for it, or never; invalid if the system has none.
Socket dial_from(const std::string& source, const std::string& endpoint) {
  const HostPort target = parse_host_port(endpoint).value();
  Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return made;
  const sockaddr_in from = ipv4(source, 0);
  const sockaddr_in to = ipv4(target.host, target.port);
  if (::bind(made.get(), generic(from), sizeof from) != 0) return Socket();
  const bool begun = ::connect(made.get(), generic(to), sizeof to) == 0 || errno == EINPROGRESS;
  return begun ? std::move(made) : Socket();
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// Passes bytes between one caller and the peer behind it, when the loop is turned by the test.
class Middle {
 public:
  explicit Middle(std::string target) : target_(std::move(target)) {
    listening_ = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in any = ipv4("127.0.0.1", 0);
    WEFT_CHECK(::bind(listening_.get(), generic(any), sizeof any) == 0);
    WEFT_CHECK(::listen(listening_.get(), 8) == 0);
  }
  std::string endpoint() const { return address_text(local_address(listening_.get()).value()); }
  // What has arrived by now goes on; `alter` may change what callers say.
  void turn() {
    Result<Socket> caller = accept_from(listening_.get());
    if (caller.ok() && caller->valid()) {
      pairs_.push_back({std::move(caller).value(), dial_from("127.0.0.1", target_), Bytes(), 0});
    }
    for (Pair& pair : pairs_) {
      pass(pair, pair.caller, pair.peer, true);
      pass(pair, pair.peer, pair.caller, false);
    }
  }
  std::vector<Bytes> said() const {
    std::vector<Bytes> all;
    for (const Pair& pair : pairs_) all.push_back(pair.said);
    return all;
  }

  // Bytes that a caller says unchanged before one is altered; 0: never.
  std::size_t alter_after = 0;

 private:
  struct Pair {
    Socket caller;
    Socket peer;
    Bytes said;
    std::size_t passed = 0;
  };

  void pass(Pair& pair, const Socket& from, const Socket& to, bool inward) {
    std::array<std::uint8_t, 16384> piece{};
    const ssize_t got = ::recv(from.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got == 0) ::shutdown(to.get(), SHUT_WR);
    if (got <= 0) return;
    const auto size = static_cast<std::size_t>(got);
    if (inward) {
      pair.said.insert(pair.said.end(), piece.begin(), piece.begin() + got);
      pair.passed += size;
      if (alter_after != 0 && pair.passed > alter_after) piece[size / 2] ^= 0x10U;
    }
    // What does not fit is lost, which an attacker may cause as well.
    (void)::send(to.get(), piece.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  std::string target_;
  Socket listening_;
  std::vector<Pair> pairs_;
};

class Attack : public ::testing::Test {
 protected:
  void start(const ListenOptions& options) {
    victim_ = make_tls_transport(loop_, identity_, options).value();
    victim_->set_handler(handler_);
  }
  std::string endpoint() const { return victim_->endpoints().at(0); }
  // A peer in good faith that dials `where`; true if it gets its link.
  bool links(const PeerId& expected, const std::string& where) {
    good_.push_back(make_tls_transport(loop_, PeerIdentity::generate(), loopback()).value());
    Transport& dialler = *good_.back();
    good_handlers_.push_back(std::make_unique<RecordingHandler>());
    RecordingHandler& heard = *good_handlers_.back();
    dialler.set_handler(heard);
    dialler.connect({expected, {where}});
    run_until([&] { return !heard.ups.empty() || !heard.downs.empty(); });
    if (!heard.downs.empty()) why_ = heard.downs.front().why.to_string();
    return !heard.ups.empty();
  }
  // The same for one that dials again when it is refused, as members do.
  bool links_in_the_end(const PeerId& expected, const std::string& where) {
    const TimePoint give_up = loop_.now() + kLimit;
    while (!links(expected, where)) {
      if (loop_.now() >= give_up) return false;
      loop_.run_for(milliseconds(20));
    }
    return true;
  }
  bool run_until(const std::function<bool()>& done) {
    return loop_.run_until(
        [&] {
          if (middle_) middle_->turn();
          if (!ticking_) tick();
          return done();
        },
        kLimit);
  }
  // The loop looks at its condition after handlers only, and the middle has none.
  void tick() {
    ticking_ = true;
    loop_.call_at(loop_.now() + milliseconds(1), [this] { ticking_ = false; });
  }

  EventLoop loop_;
  PeerIdentity identity_ = PeerIdentity::generate();
  RecordingHandler handler_;
  std::vector<std::unique_ptr<RecordingHandler>> good_handlers_;
  std::unique_ptr<Transport> victim_;
  std::vector<std::unique_ptr<Transport>> good_;
  std::unique_ptr<Middle> middle_;
  std::string why_;
  bool ticking_ = false;
};

TEST_F(Attack, OneAddressThatFloodsIsRefusedAndOthersAreNot) {
  ListenOptions options = loopback();
  options.handshakes.per_address_burst = 5;
  options.handshakes.per_address_s = 0.1;
  start(options);
  std::vector<Socket> flood;
  flood.reserve(60);
  for (int i = 0; i < 60; ++i) flood.push_back(dial_from("127.0.0.9", endpoint()));
  EXPECT_TRUE(run_until([&] { return handler_.refusals.size() >= 55; }));
  EXPECT_EQ(handler_.refusals.front().message(), "too many connections from this address");
  EXPECT_TRUE(links(identity_.id(), endpoint()));
}

TEST_F(Attack, TenThousandHalfOpenConnections) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 24'000);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  // Half of them may be ours, the other ends are the victim's until it lets go.
  const std::size_t held_max = limit.rlim_cur / 2 - 200;
  ListenOptions options = loopback();
  // Whoever has been let in stays until a newer one takes the place.
  options.handshake_timeout = kLimit;
  start(options);
  std::vector<Socket> held;
  held.reserve(held_max);
  for (int i = 0; i < 10'000; ++i) {
    const std::string source =
        "127.0." + std::to_string(1 + i % 40) + "." + std::to_string(1 + i % 50);
    if (held.size() == held_max) held.clear();
    held.push_back(dial_from(source, endpoint()));
    ASSERT_TRUE(held.back().valid()) << i;
    // Until all but those that it holds are turned away: its queue has room again.
    const std::size_t settled = static_cast<std::size_t>(i) + 1 - options.handshakes_max;
    const bool due = i % 50 == 49 && static_cast<std::size_t>(i) >= options.handshakes_max;
    ASSERT_TRUE(!due || run_until([&] { return handler_.refusals.size() >= settled; })) << i;
  }
  const std::size_t ours = held.size();
  EXPECT_LE(open_descriptors(), ours + options.handshakes_max + 100);
  // The flood has used up what the gate lets in at once: from then on it is a rate.
  EXPECT_TRUE(links_in_the_end(identity_.id(), endpoint())) << why_;
}

TEST_F(Attack, AManInTheMiddleWithHisOwnCertificateGetsNoLink) {
  start(loopback());
  // The dialler wants a peer whose address leads elsewhere.
  const PeerId wanted = PeerIdentity::generate().id();
  EXPECT_FALSE(links(wanted, endpoint()));
  EXPECT_TRUE(handler_.ups.empty());
  EXPECT_TRUE(handler_.frames.empty());
}

TEST_F(Attack, AMiddleThatOnlyPassesOnIsNoHarm) {
  start(loopback());
  middle_ = std::make_unique<Middle>(endpoint());
  EXPECT_TRUE(links(identity_.id(), middle_->endpoint())) << why_;
}

TEST_F(Attack, AlteredRecordsEndTheConnection) {
  start(loopback());
  for (const std::size_t after : {1U, 200U, 700U, 1000U}) {
    middle_ = std::make_unique<Middle>(endpoint());
    middle_->alter_after = after;
    const std::size_t before = handler_.frames.size();
    if (links(identity_.id(), middle_->endpoint())) {
      // What was altered lies behind the handshake: the first frame.
      ASSERT_TRUE(
          good_.back()->send(identity_.id(), Lane::kControl, {0x30, Bytes(4000, 1), {}}).ok());
      EXPECT_TRUE(run_until([&] { return !handler_.downs.empty(); })) << after;
    }
    EXPECT_EQ(handler_.frames.size(), before) << "an altered frame was delivered";
    good_.clear();
    good_handlers_.clear();
    handler_.downs.clear();
  }
}

TEST_F(Attack, AHandshakeThatIsSaidAgainIsWorthNothing) {
  start(loopback());
  middle_ = std::make_unique<Middle>(endpoint());
  ASSERT_TRUE(links(identity_.id(), middle_->endpoint())) << why_;
  ASSERT_TRUE(good_.back()->send(identity_.id(), Lane::kControl, {0x30, Bytes(100, 1), {}}).ok());
  ASSERT_TRUE(run_until([&] { return !handler_.frames.empty(); }));
  const std::vector<Bytes> said = middle_->said();
  ASSERT_EQ(said.size(), 2U);
  const std::size_t ups = handler_.ups.size();
  const std::size_t frames = handler_.frames.size();
  const std::size_t refusals = handler_.refusals.size();
  std::vector<Socket> replays;
  for (const Bytes& bytes : said) {
    ASSERT_GT(bytes.size(), 500U);
    replays.push_back(dial_from("127.0.0.1", endpoint()));
    ASSERT_EQ(::send(replays.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  EXPECT_TRUE(run_until([&] { return handler_.refusals.size() >= refusals + 2; }));
  EXPECT_EQ(handler_.ups.size(), ups);
  EXPECT_EQ(handler_.frames.size(), frames);
}

}  // namespace
}  // namespace weft::attack_test
