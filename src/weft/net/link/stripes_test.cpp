// Several connections for one bulk lane: between two transports, and with strangers that say what
// no transport would.
#include "weft/net/link/stripes.h"

#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "weft/net/testing/raw_peer.h"
#include "weft/net/testing/test_limit.h"
#include "weft/net/testing/transport_contract.h"
#include "weft/net/tls_transport.h"
#include "weft/wire/frame_type.h"

namespace weft::stripes_test {
namespace {

constexpr std::uint8_t kType = 0x30;
constexpr Duration kShort = std::chrono::milliseconds(30);
constexpr std::size_t kBody = 50'000;

ListenOptions loopback(std::size_t connections) {
  ListenOptions options;
  options.host = "127.0.0.1";
  options.shortcuts = false;
  options.connections = connections;
  return options;
}

class StripesTest : public ::testing::Test {
 protected:
  void open(std::size_t first, std::size_t second) {
    a = make_tls_transport(loop, PeerIdentity::generate(), loopback(first)).value();
    b = make_tls_transport(loop, PeerIdentity::generate(), loopback(second)).value();
    a->set_handler(at_a);
    b->set_handler(at_b);
    link();
  }
  void link() {
    const std::size_t ups = at_a.ups.size();
    a->connect({b->self(), b->endpoints()});
    ASSERT_TRUE(
        loop.run_until([&] { return at_a.ups.size() > ups && at_b.ups.size() > ups; }, kLimit));
  }
  bool carried_by(std::size_t count) const {
    return a->stats(b->self()).connections == count && b->stats(a->self()).connections == count;
  }
  void send(int number) {
    const auto low = static_cast<std::uint8_t>(number);
    const Bytes head = {low, static_cast<std::uint8_t>(number >> 8)};
    ASSERT_TRUE(
        a->send(b->self(), Lane::kBulk, {kType, head, SharedBytes(Bytes(kBody, low))}).ok());
    ASSERT_TRUE(
        b->send(a->self(), Lane::kBulk, {kType, head, SharedBytes(Bytes(kBody, low))}).ok());
  }
  // Both got the frames 0 to `count` - 1, in order.
  void expect_frames(std::size_t count) {
    ASSERT_TRUE(loop.run_until(
        [&] { return at_a.frames.size() >= count && at_b.frames.size() >= count; }, kLimit));
    for (const RecordingHandler* handler : {&at_a, &at_b}) {
      ASSERT_EQ(handler->frames.size(), count);
      for (std::size_t i = 0; i < count; ++i) {
        const RecordingHandler::Received& frame = handler->frames[i];
        ASSERT_EQ(frame.head[0] + std::size_t{256} * frame.head[1], i);
        ASSERT_EQ(frame.body, Bytes(kBody, frame.head[0]));
      }
    }
    EXPECT_TRUE(at_a.downs.empty() && at_b.downs.empty());
  }

  EventLoop loop;
  RecordingHandler at_a;
  RecordingHandler at_b;
  std::unique_ptr<Transport> a;
  std::unique_ptr<Transport> b;
};

TEST_F(StripesTest, TheLaneSpreadsWhileFramesAreUnderWayAndKeepsTheirOrder) {
  open(4, 0);
  int sent = 0;
  while (sent < 50 || !carried_by(4)) {
    ASSERT_LT(sent, 20'000);
    send(sent++);
    loop.run_for(std::chrono::microseconds(100));
  }
  for (int i = 0; i < 200; ++i) send(sent++);
  expect_frames(static_cast<std::size_t>(sent));
}

TEST_F(StripesTest, WhoDidNotDialWishesForThem) {
  open(0, 3);
  ASSERT_TRUE(loop.run_until([&] { return carried_by(3); }, kLimit));
  for (int i = 0; i < 100; ++i) send(i);
  expect_frames(100);
}

TEST_F(StripesTest, WhoWantsOneHasOneAndTheLinkGoesOn) {
  for (const auto& [first, second] : {std::pair(4, 1), std::pair(1, 4)}) {
    open(static_cast<std::size_t>(first), static_cast<std::size_t>(second));
    loop.run_for(kShort);
    EXPECT_TRUE(carried_by(1));
    for (int i = 0; i < 20; ++i) send(i);
    expect_frames(20);
    a.reset();
    b.reset();
    at_a = {};
    at_b = {};
  }
}

TEST_F(StripesTest, AShortLineIsLeftAtOne) {
  open(0, 0);
  for (int i = 0; i < 500; ++i) send(i);
  expect_frames(500);
  EXPECT_TRUE(carried_by(1));
}

TEST_F(StripesTest, ThePeerThatGoesTakesTheLinkWithItAndTheNextOneSpreadsAgain) {
  open(4, 0);
  ASSERT_TRUE(loop.run_until([&] { return carried_by(4); }, kLimit));
  a->close(b->self(), aborted("enough"));
  ASSERT_TRUE(loop.run_until([&] { return !at_a.downs.empty() && !at_b.downs.empty(); }, kLimit));
  EXPECT_NE(at_b.downs[0].why.message().find("enough"), std::string::npos);
  link();
  ASSERT_TRUE(loop.run_until([&] { return carried_by(4); }, kLimit));
  b.reset();
  ASSERT_TRUE(loop.run_until([&] { return at_a.downs.size() == 2; }, kLimit));
}

TEST_F(StripesTest, MoreThanTheGreatestNumberIsRefused) {
  EXPECT_EQ(make_tls_transport(loop, PeerIdentity::generate(), loopback(9)).status().code(),
            Code::kInvalidArgument);
}

// A stranger that dialled a peer, over plain connections.
class StripesStranger : public ::testing::Test {
 protected:
  void SetUp() override {
    peer = make_tcp_transport(loop, PeerIdentity::generate().id(), loopback(0)).value();
    peer->set_handler(handler);
    control = greeted(0);
    bulk = greeted(1);
    ASSERT_TRUE(loop.run_until([&] { return handler.ups.size() == 1; }, kLimit));
  }
  HelloMessage hello(std::uint8_t lane) const {
    HelloMessage message;
    message.lane = lane;
    message.from = stranger;
    message.to = peer->self();
    message.link = {7};
    message.instance = 42;
    return message;
  }
  // After a hello, and its answer.
  std::pair<Socket, HelloVerdict> greet(const HelloMessage& message) {
    Socket socket = dial_raw(peer->endpoints()[0]);
    write(socket, framed(frame_type::kHello, message.encode()));
    Bytes answer(kFrameHeaderBytes);
    EXPECT_TRUE(loop.run_until([&] { return available(socket) >= answer.size(); }, kLimit));
    EXPECT_EQ(::recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT),
              static_cast<ssize_t>(answer.size()));
    Bytes head(answer[0]);
    EXPECT_TRUE(loop.run_until([&] { return available(socket) >= head.size(); }, kLimit));
    EXPECT_EQ(::recv(socket.get(), head.data(), head.size(), MSG_DONTWAIT),
              static_cast<ssize_t>(head.size()));
    return {std::move(socket), HelloReplyMessage::decode(head).value().verdict};
  }
  Socket greeted(std::uint8_t lane) {
    auto [socket, verdict] = greet(hello(lane));
    EXPECT_EQ(verdict, HelloVerdict::kAccepted);
    return std::move(socket);
  }
  static std::size_t available(const Socket& socket) {
    std::array<std::uint8_t, 4096> bytes;
    const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  static void write(const Socket& socket, ByteSpan bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  static Bytes moved(std::uint8_t to) {
    return framed(frame_type::kLaneMoved, LaneMovedMessage{to}.encode());
  }
  static Bytes data(std::uint8_t number) { return framed(kType, Bytes{number}); }
  std::string down() {
    if (!loop.run_until([&] { return !handler.downs.empty(); }, kLimit)) return "still linked";
    return handler.downs[0].why.to_string();
  }

  EventLoop loop;
  RecordingHandler handler;
  std::unique_ptr<Transport> peer;
  PeerId stranger = PeerIdentity::generate().id();
  Socket control;
  Socket bulk;
};

TEST_F(StripesStranger, AConnectionIsReadWhenItIsItsTurn) {
  const Socket second = greeted(2);
  write(second, data(2));
  loop.run_for(kShort);
  EXPECT_TRUE(handler.frames.empty());
  write(bulk, data(1));
  write(bulk, moved(1));
  write(bulk, data(4));
  ASSERT_TRUE(loop.run_until([&] { return handler.frames.size() == 2; }, kLimit));
  loop.run_for(kShort);
  write(second, data(3));
  write(second, moved(0));
  ASSERT_TRUE(loop.run_until([&] { return handler.frames.size() == 4; }, kLimit));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(handler.frames[i].head[0], i + 1);
  EXPECT_TRUE(handler.downs.empty());
}

TEST_F(StripesStranger, ThePeerSendsByAConnectionOnlyOnceTheDiallerSaysItStands) {
  const Socket second = greeted(2);
  const Bytes body(100'000);
  const auto send = [&] {
    EXPECT_TRUE(peer->send(stranger, Lane::kBulk, {kType, {}, SharedBytes(body)}).ok());
  };
  send();
  send();
  loop.run_for(kShort);
  EXPECT_EQ(available(second), 0U);
  write(control, framed(frame_type::kConnections, ConnectionsMessage{2}.encode()));
  ASSERT_TRUE(loop.run_until([&] { return peer->stats(stranger).connections == 2; }, kLimit));
  // The rest of a run at least, then its own.
  send();
  send();
  ASSERT_TRUE(loop.run_until([&] { return available(second) > 0; }, kLimit));
  EXPECT_TRUE(handler.downs.empty());
}

TEST_F(StripesStranger, WhatWaitsForItsTurnTakesNoMemoryOfThePeer) {
  const Socket second = greeted(2);
  const Bytes flood(1 << 20);
  std::size_t taken = 0;
  int refused = 0;
  while (refused < 20 && taken < std::size_t{256} << 20) {
    const ssize_t sent =
        ::send(second.get(), flood.data(), flood.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      taken += static_cast<std::size_t>(sent);
      refused = 0;
    } else {
      ++refused;
    }
    loop.run_for(std::chrono::milliseconds(2));
  }
  // What the system's buffers of one connection hold.
  EXPECT_LT(taken, std::size_t{48} << 20);
  write(bulk, data(1));
  ASSERT_TRUE(loop.run_until([&] { return handler.frames.size() == 1; }, kLimit));
}

TEST_F(StripesStranger, OnlyTheNextConnectionOfTheVeryLinkIsTaken) {
  std::array<HelloMessage, 4> wrong = {hello(2), hello(2), hello(2), hello(3)};
  wrong[0].link = {8};
  wrong[1].instance = 43;
  wrong[2].from = PeerIdentity::generate().id();
  for (const HelloMessage& message : wrong) {
    EXPECT_EQ(greet(message).second, HelloVerdict::kWrongPeer);
  }
  std::vector<Socket> further;
  for (std::uint8_t lane = 2; lane <= 8; ++lane) further.push_back(greeted(lane));
  EXPECT_EQ(greet(hello(8)).second, HelloVerdict::kWrongPeer);
  EXPECT_TRUE(handler.downs.empty());
}

TEST_F(StripesStranger, AMoveToNowhereEndsTheLink) {
  write(bulk, moved(1));
  EXPECT_NE(down().find("corrupt: lane_moved.to"), std::string::npos);
}

TEST_F(StripesStranger, AMoveToWhereTheLaneIsEndsTheLink) {
  write(bulk, moved(0));
  EXPECT_NE(down().find("corrupt: lane_moved.to"), std::string::npos);
}

TEST_F(StripesStranger, AMoveIntoMemoryThatWasNotOfferedEndsTheLink) {
  const Socket second = greeted(2);
  write(bulk, moved(LaneMovedMessage::kToShortcut));
  EXPECT_NE(down().find("corrupt: lane_moved.to"), std::string::npos);
}

TEST_F(StripesStranger, ConnectionsThatDoNotStandEndTheLink) {
  write(control, framed(frame_type::kConnections, ConnectionsMessage{2}.encode()));
  EXPECT_NE(down().find("corrupt: connections.count"), std::string::npos);
}

TEST_F(StripesStranger, AConnectionThatBreaksEndsTheLink) {
  {
    const Socket second = greeted(2);
    write(bulk, moved(1));
    loop.run_for(kShort);
    EXPECT_TRUE(handler.downs.empty());
  }
  EXPECT_NE(down(), "still linked");
}

}  // namespace
}  // namespace weft::stripes_test
