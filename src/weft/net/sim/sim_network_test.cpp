#include "weft/net/sim_network.h"

#include <map>

#include <gtest/gtest.h>

namespace weft::sim_network_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint8_t kType = 0x40;

PeerId peer_of(std::uint8_t number) {
  PeerId id;
  id.bytes[0] = number;
  return id;
}

// Writes down what it is told.
class Recorder final : public TransportHandler {
 public:
  LinkTrust first_trust(const LinkInfo& /*link*/) override { return LinkTrust::kProved; }
  void on_link_up(const LinkInfo& link) override {
    ups.push_back(link.peer);
    exporter = link.exporter;
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    downs.push_back(peer);
    reason = why;
  }
  void on_frame(const PeerId&, Lane lane, const FrameView& frame) override {
    (lane == Lane::kBulk ? bulk : control).push_back(frame.head.empty() ? 0 : frame.head[0]);
    if (!lent.empty() && frame.body.data() == lent.data()) {
      in_place.emplace_back(frame.body.begin(), frame.body.end());
    }
  }
  MutableByteSpan body_destination(const PeerId&, std::uint8_t, ByteSpan head,
                                   std::size_t body_bytes) override {
    asked.push_back(head[0]);
    return lent.size() < body_bytes ? MutableByteSpan() : MutableByteSpan(lent).first(body_bytes);
  }
  void on_writable(const PeerId&, Lane) override { ++writable; }

  std::vector<PeerId> ups;
  std::vector<PeerId> downs;
  std::vector<int> control;
  std::vector<int> bulk;
  std::array<std::uint8_t, 32> exporter{};
  Status reason;
  int writable = 0;
  // Places asked for, by the first byte of the head; what they are lent from; what came there.
  std::vector<int> asked;
  Bytes lent;
  std::vector<Bytes> in_place;
};

class SimNetworkTest : public ::testing::Test {
 protected:
  void open(SimNetworkOptions options = {}) {
    net = std::make_unique<SimNetwork>(options);
    a = &net->start(peer_of(1));
    b = &net->start(peer_of(2));
    a->set_handler(at_a);
    b->set_handler(at_b);
  }
  void link() {
    a->connect({peer_of(2), {net->endpoint(peer_of(2))}});
    run(milliseconds(200));
    ASSERT_TRUE(a->linked(peer_of(2)));
    ASSERT_TRUE(b->linked(peer_of(1)));
  }
  void run(Duration time) { net->run_until(net->now() + time); }
  static Frame frame(int number, std::size_t body = 0) {
    return {kType, {static_cast<std::uint8_t>(number)}, SharedBytes(Bytes(body))};
  }

  std::unique_ptr<SimNetwork> net;
  SimTransport* a = nullptr;
  SimTransport* b = nullptr;
  Recorder at_a;
  Recorder at_b;
};

TEST_F(SimNetworkTest, FramesKeepTheirOrderWithinALane) {
  open();
  link();
  EXPECT_EQ(at_a.exporter, at_b.exporter);
  std::vector<int> sent;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(a->send(peer_of(2), Lane::kControl, frame(i)).ok());
    ASSERT_TRUE(a->send(peer_of(2), Lane::kBulk, frame(i, 1000)).ok());
    sent.push_back(i);
  }
  run(seconds(1));
  EXPECT_EQ(at_b.control, sent);
  EXPECT_EQ(at_b.bulk, sent);
  EXPECT_GT(b->total_stats().bytes_received, 100'000U);
}

TEST_F(SimNetworkTest, HeldFramesKeepTheirOrderWhenTheyAreLetGo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    at_a = at_b = Recorder();
    SimNetworkOptions options;
    options.seed = seed;
    open(options);
    link();
    std::vector<int> sent;
    net->block(peer_of(1), peer_of(2));
    for (int i = 0; i < 40; ++i) {
      // The first ones wait for the line, the last ones are still under way when it is mended.
      if (i == 20) run(milliseconds(100));
      ASSERT_TRUE(a->send(peer_of(2), Lane::kBulk, frame(i, 100)).ok());
      sent.push_back(i);
    }
    net->unblock(peer_of(1), peer_of(2));
    run(seconds(1));
    EXPECT_EQ(at_b.bulk, sent) << "seed " << seed;
  }
}

// As a stream does: the beginning of a frame comes with the end of the one before.
TEST_F(SimNetworkTest, APlaceIsLentBeforeTheFrameIsWhole) {
  open();
  link();
  at_b.lent.resize(1000);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(a->send(peer_of(2), Lane::kBulk,
                        {kType,
                         {static_cast<std::uint8_t>(i)},
                         SharedBytes(Bytes(1000, static_cast<std::uint8_t>(i)))})
                    .ok());
  }
  while (at_b.bulk.empty()) ASSERT_TRUE(net->step());
  EXPECT_EQ(at_b.asked, (std::vector<int>{1, 2}));
  run(seconds(1));
  EXPECT_EQ(at_b.asked, (std::vector<int>{1, 2, 3}));
  ASSERT_EQ(at_b.in_place.size(), 3U);
  for (std::uint8_t i = 1; i <= 3; ++i) EXPECT_EQ(at_b.in_place[i - 1], Bytes(1000, i));
}

TEST_F(SimNetworkTest, BothDiallingMakesOneLink) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    at_a = Recorder();
    at_b = Recorder();
    SimNetworkOptions options;
    options.seed = seed;
    open(options);
    a->connect({peer_of(2), {"sim:77", net->endpoint(peer_of(2))}});
    b->connect({peer_of(1), {net->endpoint(peer_of(1))}});
    run(seconds(1));
    EXPECT_EQ(at_a.ups.size(), 1U) << "seed " << seed;
    EXPECT_EQ(at_b.ups.size(), 1U) << "seed " << seed;
    EXPECT_TRUE(at_a.downs.empty() && at_b.downs.empty()) << "seed " << seed;
    EXPECT_EQ(at_a.exporter, at_b.exporter);
  }
}

TEST_F(SimNetworkTest, DialFailuresAreReportedOnce) {
  open();
  a->connect({peer_of(9), {"sim:9"}});
  run(seconds(1));
  EXPECT_EQ(at_a.downs, std::vector<PeerId>{peer_of(9)});
  net->crash(peer_of(2), SimCrash::kPowerLoss);
  a->connect({peer_of(2), {net->endpoint(peer_of(2))}});
  run(seconds(1));
  EXPECT_EQ(at_a.downs.size(), 1U) << "no answer takes connect_timeout";
  run(seconds(5));
  ASSERT_EQ(at_a.downs.size(), 2U);
  EXPECT_EQ(at_a.reason.code(), Code::kTimeout);
}

TEST_F(SimNetworkTest, CrashIsSeenSoonAndPowerLossLate) {
  open();
  link();
  net->crash(peer_of(2), SimCrash::kKilled);
  run(milliseconds(100));
  EXPECT_EQ(at_a.downs.size(), 1U);
  EXPECT_FALSE(b->send(peer_of(1), Lane::kControl, frame(1)).ok());

  b = &net->start(peer_of(2));
  b->set_handler(at_b);
  link();
  net->crash(peer_of(2), SimCrash::kPowerLoss);
  run(seconds(1));
  EXPECT_EQ(at_a.downs.size(), 1U);
  run(seconds(1));
  EXPECT_EQ(at_a.downs.size(), 2U);
}

TEST_F(SimNetworkTest, RestartedMachineReplacesItsStaleLink) {
  open();
  link();
  net->crash(peer_of(2), SimCrash::kPowerLoss);
  b = &net->start(peer_of(2));
  b->set_handler(at_b);
  b->connect({peer_of(1), {net->endpoint(peer_of(1))}});
  run(milliseconds(500));
  EXPECT_EQ(at_a.downs.size(), 1U);
  EXPECT_EQ(at_a.ups.size(), 2U);
  EXPECT_TRUE(a->linked(peer_of(2)));
  run(seconds(5));
  EXPECT_TRUE(a->linked(peer_of(2))) << "the old link's end must not take the new one down";
}

TEST_F(SimNetworkTest, BlockHoldsFramesAndThenBreaksTheLink) {
  open();
  link();
  net->block(peer_of(1), peer_of(2));
  ASSERT_TRUE(a->send(peer_of(2), Lane::kControl, frame(1)).ok());
  ASSERT_TRUE(a->send(peer_of(2), Lane::kControl, frame(2)).ok());
  ASSERT_TRUE(b->send(peer_of(1), Lane::kControl, frame(3)).ok());
  run(seconds(1));
  EXPECT_TRUE(at_b.control.empty());
  EXPECT_EQ(at_a.control, std::vector<int>{3});
  net->unblock(peer_of(1), peer_of(2));
  run(milliseconds(100));
  EXPECT_EQ(at_b.control, (std::vector<int>{1, 2}));

  net->partition({{peer_of(1)}, {peer_of(2)}});
  run(seconds(2));
  EXPECT_EQ(at_a.downs.size(), 1U);
  EXPECT_EQ(at_b.downs.size(), 1U);
  net->unblock_all();
  link();
}

TEST_F(SimNetworkTest, LimitedRateQueuesAndTellsWhenItIsWritable) {
  SimNetworkOptions options;
  options.bytes_per_second = 1'000'000;
  options.low_water_bytes = 100'000;
  open(options);
  link();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(a->send(peer_of(2), Lane::kBulk, frame(i, 50'000)).ok());
  }
  EXPECT_GT(a->queued_bytes(peer_of(2), Lane::kBulk), 450'000U);
  run(milliseconds(240));
  EXPECT_EQ(at_b.bulk.size(), 4U);
  EXPECT_EQ(at_a.writable, 0);
  ASSERT_TRUE(a->send(peer_of(2), Lane::kControl, frame(7)).ok());
  run(milliseconds(20));
  EXPECT_EQ(at_b.control, std::vector<int>{7}) << "control never waits behind bulk";
  a->cancel_bulk(peer_of(2));
  run(seconds(1));
  EXPECT_LT(at_b.bulk.size(), 7U);
  EXPECT_EQ(a->queued_bytes(peer_of(2), Lane::kBulk), 0U);
}

TEST_F(SimNetworkTest, CloseDeliversControlFramesFirst) {
  open();
  link();
  ASSERT_TRUE(a->send(peer_of(2), Lane::kControl, frame(5)).ok());
  a->close(peer_of(2), invalid_argument("not welcome"));
  EXPECT_FALSE(a->send(peer_of(2), Lane::kControl, frame(6)).ok());
  run(seconds(1));
  EXPECT_EQ(at_b.control, std::vector<int>{5});
  EXPECT_EQ(at_a.downs.size(), 1U);
  EXPECT_EQ(at_b.downs.size(), 1U);
  EXPECT_NE(at_b.reason.message().find("not welcome"), std::string::npos);
}

TEST_F(SimNetworkTest, PausedMachineGetsEverythingWhenItResumes) {
  open();
  link();
  int alarms = 0;
  net->set_alarm_body(peer_of(2), [&] { ++alarms; });
  net->set_alarm(peer_of(2), net->now() + milliseconds(10));
  net->pause(peer_of(2));
  ASSERT_TRUE(a->send(peer_of(2), Lane::kControl, frame(1)).ok());
  run(seconds(1));
  EXPECT_TRUE(at_b.control.empty());
  EXPECT_EQ(alarms, 0);
  net->resume(peer_of(2));
  run(milliseconds(1));
  EXPECT_EQ(at_b.control, std::vector<int>{1});
  EXPECT_EQ(alarms, 1);
}

TEST_F(SimNetworkTest, SameSeedSameTrace) {
  std::map<std::uint64_t, std::uint64_t> hashes;
  for (const std::uint64_t seed : {3, 4, 3}) {
    SimNetworkOptions options;
    options.seed = seed;
    open(options);
    link();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(a->send(peer_of(2), Lane::kBulk, frame(i, 9)).ok());
    run(seconds(1));
    const auto [known, fresh] = hashes.try_emplace(seed, net->trace_hash());
    EXPECT_TRUE(fresh || known->second == net->trace_hash());
  }
  EXPECT_NE(hashes[3], hashes[4]);
}

}  // namespace
}  // namespace weft::sim_network_test
