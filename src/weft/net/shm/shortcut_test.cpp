#include "weft/net/shm/shortcut.h"

#include <fstream>
#include <set>
#include <vector>

#include <asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>

#include "weft/net/shm/shm_stream.h"
#include "weft/net/stream/socket.h"
#include "weft/net/testing/test_limit.h"
#include "weft/net/tls_transport.h"
#include "weft/wire/frame_type.h"

namespace weft::shortcut_test {
namespace {

constexpr std::uint8_t kType = 0x30;
constexpr std::size_t kBody = 50'000;

class Recorder final : public TransportHandler {
 public:
  LinkTrust first_trust(const LinkInfo& /*link*/) override { return LinkTrust::kProved; }
  void on_link_up(const LinkInfo& link) override { ups.push_back(link.peer); }
  void on_link_down(const PeerId& /*peer*/, const Status& why) override { downs.push_back(why); }
  void on_frame(const PeerId& /*from*/, Lane lane, const FrameView& frame) override {
    if (lane != Lane::kBulk) return;
    EXPECT_EQ(frame.body.size(), kBody);
    EXPECT_EQ(frame.body[kBody / 2], static_cast<std::uint8_t>(next));
    ASSERT_EQ(frame.head.size(), 2U);
    EXPECT_EQ(frame.head[0] + 256 * frame.head[1], next);
    ++next;
  }
  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}

  std::vector<PeerId> ups;
  std::vector<Status> downs;
  int next = 0;
};

// The names of this process's sockets that shortcuts listen at.
std::set<std::string> listening() {
  std::set<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.find("@weft-");
    if (at != std::string::npos) names.insert(line.substr(at + 1));
  }
  return names;
}

class ShortcutTest : public ::testing::Test {
 protected:
  void open(bool first, bool second) {
    before = listening();
    ListenOptions options;
    options.host = "127.0.0.1";
    options.shortcuts = first;
    a = make_tls_transport(loop, PeerIdentity::generate(), options).value();
    options.shortcuts = second;
    b = make_tls_transport(loop, PeerIdentity::generate(), options).value();
    a->set_handler(at_a);
    b->set_handler(at_b);
    a->connect({b->self(), b->endpoints()});
    ASSERT_TRUE(loop.run_until([&] { return !at_a.ups.empty() && !at_b.ups.empty(); }, kLimit));
  }
  static Frame frame(int number) {
    return {kType,
            {static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(number >> 8)},
            SharedBytes(Bytes(kBody, static_cast<std::uint8_t>(number)))};
  }
  bool in_memory() const { return a->stats(b->self()).in_memory && b->stats(a->self()).in_memory; }

  EventLoop loop;
  Recorder at_a;
  Recorder at_b;
  std::unique_ptr<Transport> a;
  std::unique_ptr<Transport> b;
  std::set<std::string> before;
};

TEST_F(ShortcutTest, BulkFramesMoveToMemoryAndKeepTheirOrder) {
  open(true, true);
  // From before the lane moves until well after it.
  int sent = 0;
  while (sent < 50 || !in_memory()) {
    ASSERT_LT(sent, 20'000);
    ASSERT_TRUE(a->send(b->self(), Lane::kBulk, frame(sent)).ok());
    ASSERT_TRUE(b->send(a->self(), Lane::kBulk, frame(sent)).ok());
    ++sent;
    loop.run_for(std::chrono::microseconds(100));
  }
  for (int i = 0; i < 100; ++i, ++sent) {
    ASSERT_TRUE(a->send(b->self(), Lane::kBulk, frame(sent)).ok());
    ASSERT_TRUE(b->send(a->self(), Lane::kBulk, frame(sent)).ok());
  }
  ASSERT_TRUE(loop.run_until([&] { return at_a.next == sent && at_b.next == sent; }, kLimit));
  EXPECT_GT(a->stats(b->self()).bytes_received, static_cast<std::uint64_t>(sent) * kBody);
  EXPECT_TRUE(at_a.downs.empty() && at_b.downs.empty());
}

TEST_F(ShortcutTest, ThePeerThatGoesTakesTheLinkWithIt) {
  open(true, true);
  ASSERT_TRUE(loop.run_until([&] { return in_memory(); }, kLimit));
  b.reset();
  ASSERT_TRUE(loop.run_until([&] { return !at_a.downs.empty(); }, kLimit));
  EXPECT_EQ(at_a.downs.size(), 1U);
}

TEST_F(ShortcutTest, WhoWantsNoneHasNone) {
  open(true, false);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(a->send(b->self(), Lane::kBulk, frame(i)).ok());
  ASSERT_TRUE(loop.run_until([&] { return at_b.next == 20; }, kLimit));
  loop.run_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(in_memory());
  EXPECT_TRUE(at_a.downs.empty() && at_b.downs.empty());
}

TEST_F(ShortcutTest, AStrangerWithoutTheTokenIsTurnedAway) {
  open(true, true);
  ASSERT_TRUE(loop.run_until([&] { return in_memory(); }, kLimit));
  std::vector<std::string> names;
  for (const std::string& name : listening()) {
    if (!before.contains(name)) names.push_back(name);
  }
  ASSERT_FALSE(names.empty());
  class Stranger final : public ConnectionOwner {
   public:
    void on_ready(Connection& connection) override {
      connection.send({frame_type::kShortcutHello, ShortcutHelloMessage{{1, 2, 3}}.encode(), {}});
    }
    void on_frame(Connection& /*connection*/, const FrameView& /*frame*/) override { ++frames; }
    void on_ended(Connection& connection, const Status& /*why*/) override {
      connection.close();
      ended = true;
    }
    int frames = 0;
    bool ended = false;
  };
  for (const std::string& name : names) {
    Stranger stranger;
    Result<Socket> socket =
        begin_connect(asio::local::stream_protocol::endpoint(std::string(1, '\0') + name));
    ASSERT_TRUE(socket.ok()) << name;
    const int descriptor = socket->get();
    auto connection = std::make_shared<Connection>(
        loop, socket->release(), dial_shm_stream(descriptor, 64 * 1024), stranger, 1 << 20);
    connection->start();
    EXPECT_TRUE(loop.run_until([&] { return stranger.ended; }, kLimit));
    EXPECT_EQ(stranger.frames, 0);
  }
  // The link knows nothing of it.
  ASSERT_TRUE(a->send(b->self(), Lane::kBulk, frame(0)).ok());
  ASSERT_TRUE(loop.run_until([&] { return at_b.next == 1; }, kLimit));
  EXPECT_TRUE(at_a.downs.empty() && at_b.downs.empty());
}

}  // namespace
}  // namespace weft::shortcut_test
