#include "weft/collective/link/link_rates.h"

#include <algorithm>
#include <deque>
#include <set>

#include <gtest/gtest.h>

#include "weft/base/hash.h"
#include "weft/wire/frame_type.h"

namespace weft::link_rates_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

PeerId peer(int number) { return {sha256(as_bytes("link peer " + std::to_string(number)))}; }

ProbeHead head(std::uint32_t sequence, int index) {
  return {{}, sequence, static_cast<std::uint8_t>(index), 8};
}

TEST(LinkMeter, IsTheMedianOfTheLatterHalvesOfBursts) {
  LinkMeter meter;
  TimePoint now{seconds(100)};
  EXPECT_EQ(meter.bytes_per_s(), 0);
  // The former half comes at once, out of the link's own store; then 16 KiB every 16.384 ms.
  for (const int factor : {1, 5, 1}) {
    for (int i = 0; i < 8; ++i) {
      if (i >= 4) now += std::chrono::microseconds(16384 * factor);
      meter.on_probe(head(static_cast<std::uint32_t>(factor), i), 16384, now);
    }
  }
  EXPECT_NEAR(meter.bytes_per_s(), 1e6, 1);
}

TEST(LinkMeter, BurstsWithGapsSayNothing) {
  LinkMeter meter;
  TimePoint now{seconds(100)};
  for (int i = 0; i < 8; ++i) {
    now += milliseconds(1);
    if (i != 2) meter.on_probe(head(1, i), 16384, now);
  }
  // Neither does the end of another one.
  meter.on_probe(head(2, 7), 16384, now);
  EXPECT_EQ(meter.bytes_per_s(), 0);
}

TEST(LinkMeter, TrafficIsALowerBoundThatIsForgotten) {
  LinkMeter meter;
  TimePoint now{seconds(100)};
  for (int i = 0; i < 8; ++i) meter.on_probe(head(1, i), 16384, now += milliseconds(16));
  EXPECT_NEAR(meter.bytes_per_s(), 1.024e6, 1);
  for (int i = 0; i < 100; ++i) meter.on_traffic(50'000, now += milliseconds(10));
  EXPECT_NEAR(meter.bytes_per_s(), 5e6, 0.2e6);
  // A pause does not make the link slower; two minutes of little do.
  for (int i = 0; i < 500; ++i) meter.on_traffic(1000, now += milliseconds(300));
  EXPECT_NEAR(meter.bytes_per_s(), 1.024e6, 1);
}

TEST(LinkMeter, FasterThanAnyLineIsAsFastAsCounts) {
  LinkMeter meter;
  const TimePoint now{seconds(100)};
  for (int i = 0; i < 8; ++i) meter.on_probe(head(1, i), 65536, now);
  EXPECT_EQ(meter.bytes_per_s(), kLinkRateMax);
}

// Members whose links have the rates of a matrix, one frame at a time.
class Net {
 public:
  explicit Net(int size, LinkRatesOptions options = {}) : rates(size) {
    for (int i = 0; i < size; ++i) {
      view.members.push_back({peer(i), 1, {}});
      nodes.push_back(std::make_unique<Node>(*this, i, options));
    }
    view.id.number = ViewNumber(1);
    for (auto& node : nodes) node->links.on_view(view, now);
    for (int a = 0; a < size; ++a) {
      for (int b = 0; b < size; ++b) rates.at(a, b) = {1e6, 0};
    }
  }

  struct Node final : LinkRateSink {
    Node(Net& outer, int number, LinkRatesOptions options)
        : net(outer), id(peer(number)), links(with_self(options, id), *this) {}
    static LinkRatesOptions with_self(LinkRatesOptions options, const PeerId& id) {
      options.self = id;
      return options;
    }
    void send(const PeerId& to, Lane lane, Frame frame) override {
      if (lane == Lane::kControl) ++net.reports;
      if (lane == Lane::kBulk) net.probe_bytes += frame.body.size();
      net.under_way.push_back({id, to, std::move(frame)});
    }
    std::size_t queued_bytes(const PeerId& /*to*/) const override { return busy ? 1 : 0; }
    bool linked(const PeerId& other) const override { return !net.away.contains(other); }
    double rtt_seconds(const PeerId& /*other*/) const override { return 2e-3; }

    Net& net;
    PeerId id;
    LinkRates links;
    bool busy = false;
  };

  Node& node(const PeerId& id) {
    return **std::find_if(nodes.begin(), nodes.end(), [&](auto& each) { return each->id == id; });
  }
  int number(const PeerId& id) {
    return static_cast<int>(&*std::find_if(nodes.begin(), nodes.end(), [&](auto& each) {
      return each->id == id;
    }) - nodes.data());
  }
  void deliver() {
    while (!under_way.empty()) {
      const Sent sent = std::move(under_way.front());
      under_way.pop_front();
      const LinkFacts& link = rates.at(number(sent.from), number(sent.to));
      now += from_seconds(static_cast<double>(sent.frame.body.size()) / link.bytes_per_s);
      if (!view.contains(sent.to)) continue;
      const FrameView frame{sent.frame.type, sent.frame.head, sent.frame.body.span()};
      ASSERT_TRUE(node(sent.to).links.on_frame(sent.from, frame, now).ok());
    }
  }
  // One round of `bytes` and a second.
  void beat(std::uint64_t bytes = 1 << 20) {
    now += seconds(1);
    ++rounds;
    RoundLoad load;
    load.way.size = view.size();
    load.way.algorithm = way;
    load.elements = static_cast<std::int64_t>(bytes / 4);
    for (auto& each : nodes) {
      if (!view.contains(each->id)) continue;
      each->links.on_sent(bytes);
      each->links.on_committed(Round(rounds), load, now);
      each->links.on_timer(now);
      deliver();
    }
  }
  std::optional<BetterRing> better() {
    std::optional<BetterRing> found;
    for (auto& each : nodes) {
      std::optional<BetterRing> one = each->links.take_better();
      if (!one) continue;
      EXPECT_FALSE(found) << "two proposers";
      EXPECT_EQ(each->id, view.members[0].id);
      found = std::move(one);
    }
    return found;
  }
  void change(std::vector<Member> members) {
    view.members = std::move(members);
    view.id.number = view.id.number.next();
    for (auto& each : nodes) {
      if (view.contains(each->id)) each->links.on_view(view, now);
    }
    deliver();
  }

  struct Sent {
    PeerId from;
    PeerId to;
    Frame frame;
  };
  TimePoint now{seconds(1000)};
  View view;
  LinkMatrix rates;
  std::vector<std::unique_ptr<Node>> nodes;
  std::deque<Sent> under_way;
  std::set<PeerId> away;
  std::uint64_t rounds = 0;
  Algorithm way = Algorithm::kRing;
  std::uint64_t reports = 0;
  std::uint64_t probe_bytes = 0;
};

void make_slow(Net& net, int a, int b, double factor = 10) {
  net.rates.at(a, b).bytes_per_s /= factor;
  net.rates.at(b, a).bytes_per_s /= factor;
}

TEST(LinkRates, EveryMemberLearnsTheWholeMatrix) {
  Net net(9);
  make_slow(net, 2, 7);
  net.rates.at(4, 1).bytes_per_s = 3e6;
  for (int i = 0; i < 20; ++i) net.beat();
  for (const auto& node : net.nodes) {
    const LinkMatrix known = node->links.matrix();
    ASSERT_EQ(known.known_share(), 1) << node->id.short_name();
    for (int from = 0; from < 9; ++from) {
      for (int to = 0; to < 9; ++to) {
        if (from == to) continue;
        const double want = net.rates.at(from, to).bytes_per_s;
        EXPECT_NEAR(known.at(from, to).bytes_per_s / want, 1, 0.02) << from << " to " << to;
        EXPECT_NEAR(known.at(from, to).delay_s, 1e-3, 1e-5);
      }
    }
  }
  // Nothing new, nothing said.
  const std::uint64_t before = net.reports;
  for (int i = 0; i < 20; ++i) net.beat();
  EXPECT_EQ(net.reports, before);
}

TEST(LinkRates, BurstsAreAHundredthOfWhatIsSent) {
  Net net(5);
  for (int i = 0; i < 300; ++i) net.beat(1 << 20);
  const double sent = 300.0 * (1 << 20) * 5;
  const double free = 5.0 * (1 << 20);
  EXPECT_LE(static_cast<double>(net.probe_bytes), free + sent / 100);
  EXPECT_GT(static_cast<double>(net.probe_bytes), free);
}

TEST(LinkRates, NoBurstIsSentWhileOtherDataWaits) {
  Net net(5);
  for (auto& node : net.nodes) node->busy = true;
  for (int i = 0; i < 10; ++i) net.beat();
  EXPECT_EQ(net.probe_bytes, 0U);
}

TEST(LinkRates, ABetterOrderIsProposedByTheFirstMemberOnceItIsSure) {
  Net net(6);
  make_slow(net, 0, 1);
  make_slow(net, 3, 4);
  std::optional<BetterRing> better;
  for (int i = 0; i < 40 && !better; ++i) {
    net.beat();
    better = net.better();
  }
  ASSERT_TRUE(better);
  EXPECT_GE(net.rounds, 20U);
  EXPECT_GT(better->seconds_now, 5 * better->seconds_then);
  const std::vector<Member> members = net.nodes[0]->links.arrange(net.view.members);
  ASSERT_EQ(members.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(members[i].id, better->order[i]);
    const int a = net.number(members[i].id);
    const int b = net.number(members[(i + 1) % 6].id);
    EXPECT_EQ(net.rates.at(a, b).bytes_per_s, 1e6) << a << " to " << b;
  }
  EXPECT_EQ(members[0].id, peer(0));
  // Newcomers follow the others.
  std::vector<Member> more = net.view.members;
  more.insert(more.begin() + 2, {peer(77), 1, {}});
  EXPECT_EQ(net.nodes[0]->links.arrange(more).back().id, peer(77));
  // In that order nothing is better, for many rounds.
  net.change(members);
  for (int i = 0; i < 60; ++i) net.beat();
  EXPECT_FALSE(net.better());
  EXPECT_EQ(net.nodes[0]->links.arrange(net.view.members), net.view.members);
}

TEST(LinkRates, AnotherWayIsProposedWhereTheLinesCallForIt) {
  Net net(6);
  net.way = Algorithm::kAuto;
  constexpr std::uint64_t kBytes = 256 << 10;
  std::optional<BetterRing> better;
  for (int i = 0; i < 40 && !better; ++i) {
    net.beat(kBytes);
    better = net.better();
  }
  ASSERT_TRUE(better);
  EXPECT_EQ(better->way_now, Algorithm::kButterfly);
  EXPECT_EQ(better->way_then, Algorithm::kRing);
  const LinkRates& first = net.nodes[0]->links;
  const std::vector<Member> members = first.arrange(net.view.members);
  net.view.links = first.summary(members);
  EXPECT_NEAR(net.view.links.rate.value(), 1e6, 2e4);
  EXPECT_NEAR(net.view.links.ring_rate.value(), 1e6, 2e4);
  EXPECT_NEAR(net.view.links.delay.value(), 1000, 2);
  net.change(members);
  for (int i = 0; i < 60; ++i) net.beat(kBytes);
  EXPECT_FALSE(net.better());
}

TEST(LinkRates, TheSummaryTellsTheRingFromAllLines) {
  Net net(6);
  make_slow(net, 1, 4);
  EXPECT_FALSE(net.nodes[2]->links.summary(net.view.members).known());
  for (int i = 0; i < 30; ++i) net.beat();
  // 1 and 4 are no neighbours; five parts at once over the slow link take as long as all of them
  // over half of a fast one.
  const LinkSummary apart = net.nodes[2]->links.summary(net.view.members);
  EXPECT_NEAR(apart.ring_rate.value(), 1e6, 2e4);
  EXPECT_NEAR(apart.rate.value(), 5e5, 1e4);
  std::vector<Member> beside = net.view.members;
  std::swap(beside[2], beside[4]);
  EXPECT_NEAR(net.nodes[2]->links.summary(beside).ring_rate.value(), 1e5, 2e3);
  // Where a newcomer's links are not known, what is known counts.
  beside.push_back({peer(99), 1, {}});
  EXPECT_NEAR(net.nodes[2]->links.summary(beside).ring_rate.value(), 1e5, 2e3);
}

TEST(LinkRates, SmallGainsAndShortRoundsChangeNothing) {
  Net net(6);
  make_slow(net, 0, 1, 1.1);
  for (int i = 0; i < 60; ++i) net.beat();
  EXPECT_FALSE(net.better());
  // Ten times, but of rounds that take less than 10 ms.
  Net other(6);
  make_slow(other, 0, 1);
  for (int i = 0; i < 60; ++i) other.beat(500);
  EXPECT_FALSE(other.better());
  // Rounds that go another way than round the ring, and nothing at all.
  other.way = Algorithm::kButterfly;
  for (int i = 0; i < 60; ++i) other.beat();
  for (int i = 0; i < 60; ++i) other.beat(0);
  EXPECT_FALSE(other.better());
}

TEST(LinkRates, WhatIsKnownFollowsTheMembersThroughViews) {
  Net net(7);
  make_slow(net, 1, 5);
  for (int i = 0; i < 20; ++i) net.beat();
  // Member 2 goes, 6 comes back as another process, the others change places.
  std::vector<Member> members;
  for (const int number : {5, 0, 1, 4, 3, 6}) members.push_back({peer(number), 1, {}});
  members.back().incarnation = 2;
  net.change(members);
  const LinkMatrix known = net.nodes[4]->links.matrix();
  EXPECT_NEAR(known.at(0, 2).bytes_per_s, 1e5, 2e3);  // 5 to 1
  EXPECT_NEAR(known.at(3, 4).bytes_per_s, 1e6, 2e4);  // 4 to 3
  EXPECT_EQ(known.at(5, 0).bytes_per_s, 0);           // 6 to 5
  EXPECT_EQ(known.at(0, 5).bytes_per_s, 0);
  for (int i = 0; i < 20; ++i) net.beat(16 << 20);
  EXPECT_EQ(net.nodes[4]->links.matrix().known_share(), 1);
}

TEST(LinkRates, ANewcomerIsToldAllByTheMemberBeforeIt) {
  Net net(6);
  net.change({net.view.members.begin(), net.view.members.end() - 1});
  for (int i = 0; i < 20; ++i) net.beat();
  std::vector<Member> members = net.view.members;
  members.push_back({peer(5), 1, {}});
  net.nodes[5]->links.leave_view();
  net.change(members);
  EXPECT_NEAR(net.nodes[5]->links.matrix().known_share(), 20.0 / 30, 1e-9);
}

TEST(LinkRates, WithThreeMembersThereIsNothingToDo) {
  Net net(3);
  for (int i = 0; i < 40; ++i) net.beat();
  EXPECT_EQ(net.probe_bytes + net.reports, 0U);
  EXPECT_EQ(net.nodes[0]->links.next_deadline(), TimePoint::max());
}

TEST(LinkRates, WhatACorrectMemberWouldNotSendIsCorrupt) {
  Net net(4);
  LinkRates& links = net.nodes[0]->links;
  const auto code_of = [&](std::uint8_t type, const Bytes& bytes) {
    return links.on_frame(peer(1), FrameView{type, bytes, {}}, net.now).code();
  };
  LinkReportMessage report{net.view.id, {{3, 1, 0, {{2, LinkCode(9), LinkCode(9)}}}}};
  EXPECT_EQ(code_of(frame_type::kLinkReport, report.encode()), Code::kOk);
  report.rows[0].reporter = 4;
  EXPECT_EQ(code_of(frame_type::kLinkReport, report.encode()), Code::kCorrupt);
  report.rows[0] = {3, 2, 0, {{4, LinkCode(9), LinkCode(9)}}};
  EXPECT_EQ(code_of(frame_type::kLinkReport, report.encode()), Code::kCorrupt);
  // Ranks of another view are not judged.
  report.view.number = ViewNumber(9);
  EXPECT_EQ(code_of(frame_type::kLinkReport, report.encode()), Code::kOk);
  EXPECT_EQ(code_of(frame_type::kProbe, {1, 2}), Code::kCorrupt);
  EXPECT_EQ(code_of(0x42, {}), Code::kCorrupt);
  // Nobody but this member says what it receives.
  report = {net.view.id, {{0, 99, 0, {{2, LinkCode(9), LinkCode(9)}}}}};
  EXPECT_EQ(code_of(frame_type::kLinkReport, report.encode()), Code::kOk);
  EXPECT_EQ(links.matrix().at(2, 0).bytes_per_s, 0);
}

}  // namespace
}  // namespace weft::link_rates_test
