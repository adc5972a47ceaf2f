#include "weft/net/reach/relay.h"

#include <array>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "weft/base/rng.h"
#include "weft/net/event_loop.h"
#include "weft/net/link/partings.h"
#include "weft/net/testing/test_limit.h"

namespace weft::relay_test {

namespace {

PeerId peer_with(std::uint8_t byte) {
  PeerId id;
  id.bytes[0] = byte;
  return id;
}

const PeerId kFirst = peer_with(1);
const PeerId kSecond = peer_with(2);
const PeerId kThird = peer_with(3);

class NoMedium final : public Medium {
 public:
  void resolve(const std::string& /*endpoint*/, Resolved done) override {
    done(std::vector<SocketAddress>());
  }
  std::unique_ptr<ByteStream> dial(int socket, Lane /*lane*/) override {
    return make_plain_stream(socket);
  }
  std::unique_ptr<ByteStream> accept(int socket) override { return make_plain_stream(socket); }
  Status prepare(int /*socket*/) override { return {}; }
};

// One end is the test's, the other the relay's.
struct Ends {
  Socket own;
  Socket relays;
};

Ends connected() {
  std::array<int, 2> sockets{};
  WEFT_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets.data()) == 0);
  return {Socket(sockets[0]), Socket(sockets[1])};
}

class RelayTest : public ::testing::Test {
 protected:
  void open(const LinkOptions& options) {
    relay_.reset();
    context_ =
        std::make_unique<LinkContext>(LinkContext{loop_, {}, 1, options, medium_, partings_});
    relay_ = std::make_unique<Relay>(*context_);
  }
  // What arrives at the test's end, up to `size` bytes; less if the stream ends.
  Bytes read(const Socket& socket, std::size_t size) {
    Bytes got;
    std::array<std::uint8_t, 4096> buffer;
    const TimePoint limit = loop_.now() + kLimit;
    while (got.size() < size && loop_.now() < limit) {
      const ssize_t part = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
      if (part == 0) break;
      if (part > 0) got.insert(got.end(), buffer.begin(), buffer.begin() + part);
      // The test's end is none of the loop's.
      if (part < 0) loop_.run_for(std::chrono::milliseconds(1));
    }
    return got;
  }
  void write(const Socket& socket, ByteSpan bytes) {
    const TimePoint limit = loop_.now() + kLimit;
    std::size_t sent = 0;
    while (sent < bytes.size() && loop_.now() < limit) {
      const ssize_t part =
          ::send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (part > 0) sent += static_cast<std::size_t>(part);
      if (part < 0) loop_.run_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(sent, bytes.size());
  }

  EventLoop loop_;
  NoMedium medium_;
  Partings partings_;
  std::unique_ptr<LinkContext> context_;
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, CarriesBothWaysWhateverCameFirstAndPassesTheEndOn) {
  open({});
  const Relay::Tokens tokens = relay_->offer(kFirst, kSecond).value();
  Ends a = connected();
  Ends b = connected();
  const Bytes early = {1, 2, 3};
  write(a.own, early);
  ASSERT_TRUE(relay_->take(std::move(a.relays), relay_pass(tokens[0][0])).ok());
  ASSERT_TRUE(relay_->take(std::move(b.relays), relay_pass(tokens[1][0])).ok());
  EXPECT_EQ(read(b.own, early.size()), early);
  Rng rng(5);
  Bytes large(100'000);
  for (auto& byte : large) byte = static_cast<std::uint8_t>(rng.below(256));
  write(b.own, large);
  EXPECT_EQ(read(a.own, large.size()), large);
  EXPECT_EQ(relay_->bytes_relayed(), early.size() + large.size());
  // Half closed: the other direction still carries.
  ::shutdown(a.own.get(), SHUT_WR);
  EXPECT_TRUE(read(b.own, 1).empty());
  write(b.own, early);
  EXPECT_EQ(read(a.own, early.size()), early);
  b.own = Socket();
  EXPECT_TRUE(read(a.own, 1).empty());
  EXPECT_TRUE(loop_.run_until([&] { return relay_->connections() <= 1; }, kLimit));
}

TEST_F(RelayTest, ATokenBuysOneConnectionAndOnlyThatLane) {
  open({});
  const Relay::Tokens tokens = relay_->offer(kFirst, kSecond).value();
  Ends a = connected();
  Ends b = connected();
  Ends other_lane = connected();
  ASSERT_TRUE(relay_->take(std::move(a.relays), relay_pass(tokens[0][0])).ok());
  EXPECT_EQ(relay_->take(std::move(b.relays), relay_pass(tokens[0][0])).code(), Code::kCorrupt);
  ASSERT_TRUE(relay_->take(std::move(other_lane.relays), relay_pass(tokens[1][1])).ok());
  write(a.own, Bytes{9});
  loop_.run_for(std::chrono::milliseconds(50));
  std::uint8_t byte = 0;
  EXPECT_LT(::recv(other_lane.own.get(), &byte, 1, 0), 0) << "lanes are not mixed";
  Ends stranger = connected();
  EXPECT_EQ(relay_->take(std::move(stranger.relays), RelayToken{}).code(), Code::kCorrupt);
}

TEST_F(RelayTest, ConnectionsAreBounded) {
  LinkOptions options;
  options.relayed_connections_max = 4;
  open(options);
  EXPECT_TRUE(relay_->offer(kFirst, kSecond).ok());
  EXPECT_EQ(relay_->offer(kFirst, kThird).status().message(),
            "relayed connections that one peer asked for: expected at most 2");
  EXPECT_TRUE(relay_->offer(kSecond, kFirst).ok());
  EXPECT_EQ(relay_->offer(kThird, kFirst).status().message(),
            "relayed connections: expected at most 4");
  options.relays = false;
  open(options);
  EXPECT_EQ(relay_->offer(kFirst, kSecond).status().message(), "this peer does not relay");
}

TEST_F(RelayTest, OnePairLeavesRoomForOthersWhoeverAsks) {
  open({});
  for (int i = 0; i < 4; ++i) {
    const bool first_asks = i % 2 == 0;
    EXPECT_TRUE(relay_->offer(first_asks ? kFirst : kSecond, first_asks ? kSecond : kFirst).ok());
  }
  EXPECT_EQ(relay_->offer(kFirst, kSecond).status().message(),
            "relayed connections of two peers: expected at most 8");
  EXPECT_TRUE(relay_->offer(kFirst, kThird).ok());
}

TEST_F(RelayTest, BytesASecondAreBounded) {
  LinkOptions options;
  options.relay_bytes_per_second = 1e6;
  open(options);
  const Relay::Tokens tokens = relay_->offer(kFirst, kSecond).value();
  Ends a = connected();
  Ends b = connected();
  ASSERT_TRUE(relay_->take(std::move(a.relays), relay_pass(tokens[0][1])).ok());
  ASSERT_TRUE(relay_->take(std::move(b.relays), relay_pass(tokens[1][1])).ok());
  const TimePoint begin = loop_.now();
  const Bytes chunk(50'000, 7);
  Bytes got;
  for (int i = 0; i < 16; ++i) {
    write(a.own, chunk);
    const Bytes part = read(b.own, chunk.size());
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got.size(), 800'000U);
  // A quarter of a second's worth may have been saved up.
  EXPECT_GT(loop_.now() - begin, std::chrono::milliseconds(500));
}

TEST_F(RelayTest, WhatDoesNotMoveIsClosed) {
  LinkOptions options;
  options.relay_idle_timeout = std::chrono::milliseconds(100);
  open(options);
  const Relay::Tokens tokens = relay_->offer(kFirst, kSecond).value();
  Ends a = connected();
  Ends b = connected();
  ASSERT_TRUE(relay_->take(std::move(a.relays), relay_pass(tokens[0][0])).ok());
  ASSERT_TRUE(relay_->take(std::move(b.relays), relay_pass(tokens[1][0])).ok());
  EXPECT_TRUE(read(a.own, 1).empty());
  EXPECT_TRUE(read(b.own, 1).empty());
}

}  // namespace

}  // namespace weft::relay_test
