// Members of unequal speed in whole swarms: shares that follow it, and rounds that do not wait.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/report/shares.h"
#include "weft/collective/scenario/test_swarm_peer.h"

namespace weft::swarm_late_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kElements = 2000;

// One round's sums as some peer got them.
struct Seen {
  std::vector<float> sums;
  std::vector<MemberReport> reports;
  TimePoint at;
};

struct Plan {
  bool by_speed = false;
  Duration deadline{};
  bool carry = false;
};

// What a peer's training side is made of, beside the network.
class UnequalTrainer final : public TestTrainer {
 public:
  UnequalTrainer(Plan plan, double seconds_per_item)
      : TestTrainer(kElements), plan_(plan), seconds_per_item_(seconds_per_item) {}

  // Also what others may find in the place of this member's input.
  StandIn begin(const Turn& turn) {
    turn_ = turn;
    std::vector<std::uint32_t> names;
    for (const PeerId& peer : turn.peers) names.push_back(report_name(peer));
    name_ = names[static_cast<std::size_t>(turn.rank.value())];
    const auto split = plan_.by_speed ? shares_.split(names, kGlobalBatch)
                                      : equal_shares(kGlobalBatch, turn.members);
    const auto mine = split.begin() + turn.rank.value();
    first_ = static_cast<int>(std::accumulate(split.begin(), mine, std::int64_t{0}));
    share_ = static_cast<int>(*mine);
    StandIn given;
    given.deadline = plan_.deadline;
    given.elements = static_cast<std::int64_t>(elements());
    given.report = told(Attendance::kLate);
    if (!carried_.empty()) {
      given.carried = carried_;
      given.carried_report = told(Attendance::kCarried);
    }
    return given;
  }
  Duration compute() {
    const double took = seconds_per_item_ * share_;
    meter_.add(took, share_);
    return from_seconds(took);
  }
  std::vector<float> shard(int /*rank*/, int /*members*/) const override {
    return items(first_, first_ + share_);
  }
  Bytes report(int /*rank*/, int /*members*/) const override { return told(Attendance::kInTime); }
  void hear(std::span<const Bytes> reports) override {
    heard_.clear();
    for (const Bytes& report : reports) {
      Reader in("member", report);
      heard_.push_back(MemberReport::read(in));
      if (heard_.back().name == name_) keep(heard_.back().attendance);
    }
    shares_.hear(heard_);
  }
  void apply(std::span<const float> sums) override {
    history[round() + 1] = {{sums.begin(), sums.end()}, heard_, {}};
    TestTrainer::apply(sums);
  }
  // With the bits of the shares, which all members must hold alike.
  StateHash hash() const override {
    StateHash hash = TestTrainer::hash();
    const std::string shares = shares_.encode();
    hash.tensors.push_back({"shares", xxh3_128(as_bytes(std::string_view(shares)))});
    for (const auto& tensor : hash.tensors) {
      for (std::size_t i = 0; i < hash.total.size(); ++i) hash.total[i] ^= tensor.hash[i];
    }
    return hash;
  }
  Bytes serialise() const override {
    Bytes state = TestTrainer::serialise();
    const std::string shares = shares_.encode();
    state.insert(state.end(), shares.begin(), shares.end());
    return state;
  }
  Status load(ByteSpan in) override {
    const std::size_t bytes = sizeof(std::uint64_t) + kElements * sizeof(float);
    if (in.size() < bytes) return corrupt("state: too short");
    WEFT_TRY(TestTrainer::load(in.first(bytes)));
    const ByteSpan text = in.subspan(bytes);
    WEFT_TRY_ASSIGN(shares_, Shares::decode(std::string(text.begin(), text.end())));
    return {};
  }

  std::map<std::uint64_t, Seen> history;
  // By round: what was lent in place of an input.
  std::map<std::uint64_t, std::vector<float>> lent;

 private:
  Bytes told(Attendance attendance) const {
    MemberReport report;
    report.name = name_;
    report.attendance = attendance;
    report.share = share_;
    report.seconds_per_sample = meter_.seconds_per_sample();
    report.settled = meter_.settled();
    Writer out;
    report.write(out);
    return out.take();
  }
  void keep(Attendance attendance) {
    if (!plan_.carry || turn_.round.value() != round() + 1) return;
    if (attendance == Attendance::kCarried) lent[round() + 1] = carried_;
    if (attendance == Attendance::kLate || attendance == Attendance::kCarried) {
      carried_ = items(first_, first_ + share_);
    }
  }

  const Plan plan_;
  const double seconds_per_item_;
  Shares shares_;
  SpeedMeter meter_;
  std::vector<MemberReport> heard_;
  Turn turn_;
  std::uint32_t name_ = 0;
  int first_ = 0;
  int share_ = 0;
  std::vector<float> carried_;
};

struct World {
  World(Plan wanted, std::uint64_t last_round)
      : net(SimNetworkOptions{.seed = 11}), options(swarm_options(last_round)), plan(wanted) {
    options.rounds.reports = true;
  }

  SwarmPeer& add(std::uint32_t number, double seconds_per_item) {
    auto made = std::make_unique<UnequalTrainer>(plan, seconds_per_item);
    UnequalTrainer* const trainer = made.get();
    trainers.push_back(trainer);
    SwarmPeer::Settings settings;
    settings.id = swarm_peer_id(number);
    settings.seed = number + 77;
    settings.elements = kElements;
    settings.make_trainer = [&made] { return std::move(made); };
    settings.stand_in = [trainer](const Turn& turn) { return trainer->begin(turn); };
    settings.compute = [trainer] { return trainer->compute(); };
    settings.on_state = [this, trainer](const TestTrainer& state) {
      const auto [known, fresh] = hashes.try_emplace(state.round(), state.hash().total);
      if (fresh) times[state.round()] = net.now();
      if (known->second != state.hash().total) ++differing;
      static_cast<void>(trainer);
    };
    return *peers.emplace_back(std::make_unique<SwarmPeer>(net, options, std::move(settings)));
  }
  void start(std::span<const double> rates) {
    options.start_members = static_cast<int>(rates.size());
    for (std::size_t i = 0; i < rates.size(); ++i) {
      SwarmPeer& peer = add(static_cast<std::uint32_t>(i), rates[i]);
      if (i == 0) {
        peer.found();
      } else {
        peer.join(peers[0]->ticket());
        // One after the other, so that ranks follow from it; the last shares of a late member are
        // those of an older split, and nobody may stand behind it.
        while (peers[0]->core->view().size() <= static_cast<int>(i) && net.step()) {
        }
      }
    }
  }
  bool run_to_end(Duration limit = seconds(600)) {
    const TimePoint end = net.now() + limit;
    const auto done = [&] {
      return std::ranges::all_of(peers, [](const auto& peer) { return peer->finished; });
    };
    while (!done() && net.now() < end && net.step()) {
    }
    for (const auto& peer : peers) {
      if (!peer->finished) ADD_FAILURE() << peer->describe();
    }
    return done();
  }
  // From the first that has applied a round to the first that has applied the next.
  double seconds_of(std::uint64_t round) const {
    return to_seconds(times.at(round) - times.at(round - 1));
  }
  double longest(std::uint64_t from, std::uint64_t to) const {
    double most = 0;
    for (std::uint64_t round = from; round <= to; ++round) most = std::max(most, seconds_of(round));
    return most;
  }
  // That each sum is exactly that of the items whose members are said to be in it.
  void expect_closed_form(std::uint64_t rounds) const {
    TestTrainer alone(kElements);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const Seen& seen = trainers[0]->history.at(round);
      std::vector<float> expected(kElements);
      int first = 0;
      for (const MemberReport& report : seen.reports) {
        const int end = first + static_cast<int>(report.share);
        std::vector<float> part;
        if (report.attendance == Attendance::kInTime) part = alone.items(first, end);
        if (report.attendance == Attendance::kCarried) part = carried_of(report.name, round);
        for (std::size_t i = 0; i < part.size(); ++i) expected[i] += part[i];
        first = end;
      }
      ASSERT_EQ(seen.sums, expected) << "round " << round;
      alone.apply(expected);
    }
    EXPECT_EQ(alone.state(), trainers[0]->state());
  }
  std::vector<float> carried_of(std::uint32_t name, std::uint64_t round) const {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (report_name(peers[i]->id) != name) continue;
      const auto found = trainers[i]->lent.find(round);
      return found == trainers[i]->lent.end() ? std::vector<float>() : found->second;
    }
    return {};
  }
  int rounds_in_time(std::size_t peer, std::uint64_t from, std::uint64_t to) const {
    int count = 0;
    for (std::uint64_t round = from; round <= to; ++round) {
      for (const MemberReport& report : trainers[0]->history.at(round).reports) {
        const bool its = report.name == report_name(peers[peer]->id);
        count += its && report.attendance == Attendance::kInTime ? 1 : 0;
      }
    }
    return count;
  }

  SimNetwork net;
  SwarmCoreOptions options;
  Plan plan;
  std::vector<std::unique_ptr<SwarmPeer>> peers;
  std::vector<UnequalTrainer*> trainers;
  std::map<std::uint64_t, Hash128> hashes;
  std::map<std::uint64_t, TimePoint> times;
  int differing = 0;
};

// 24 items; a fast member takes 10 ms for one, the slow one 40 ms.
constexpr double kOneSlow[] = {0.010, 0.010, 0.010, 0.040};
// What the exchange of these vectors takes at most, beside the computing.
constexpr double kExchange = 0.060;

TEST(UnequalSwarm, EqualSharesWaitForTheSlowest) {
  World world({}, 30);
  world.start(kOneSlow);
  ASSERT_TRUE(world.run_to_end());
  EXPECT_EQ(world.differing, 0);
  world.expect_closed_form(30);
  for (std::uint64_t round = 2; round <= 30; ++round) {
    EXPECT_GE(world.seconds_of(round), 6 * 0.040);
    EXPECT_LE(world.seconds_of(round), 6 * 0.040 + kExchange);
  }
}

TEST(UnequalSwarm, SharesBySpeedShortenTheRoundByTheClosedForm) {
  World world({.by_speed = true}, 60);
  world.start(kOneSlow);
  ASSERT_TRUE(world.run_to_end());
  EXPECT_EQ(world.differing, 0);
  world.expect_closed_form(60);
  // 24 items at 100 + 100 + 100 + 25 a second: 8, 7, 7 and 2 of them.
  for (std::uint64_t round = 12; round <= 60; ++round) {
    EXPECT_GE(world.seconds_of(round), 8 * 0.010);
    EXPECT_LE(world.seconds_of(round), 8 * 0.010 + kExchange);
  }
}

TEST(UnequalSwarm, ANewcomerGetsItsShareOnceItIsMeasured) {
  World world({.by_speed = true}, 120);
  world.start(std::span(kOneSlow).first(3));
  const TimePoint end = world.net.now() + seconds(60);
  while (world.peers[0]->round().value() < 20 && world.net.now() < end && world.net.step()) {
  }
  world.add(3, 0.040).join(world.peers[0]->ticket());
  ASSERT_TRUE(world.run_to_end());
  EXPECT_EQ(world.differing, 0);
  world.expect_closed_form(120);
  EXPECT_LE(world.longest(100, 120), 8 * 0.010 + kExchange);
}

TEST(UnequalSwarm, ADeadlineBoundsTheRoundAndTheSumIsOfWhatArrived) {
  // Equal shares: the fast ones take 60 ms, the slow one ten times as long.
  const double rates[] = {0.010, 0.010, 0.010, 0.100};
  World world({.deadline = milliseconds(120)}, 60);
  world.start(rates);
  ASSERT_TRUE(world.run_to_end());
  EXPECT_EQ(world.differing, 0);
  world.expect_closed_form(60);
  EXPECT_LE(world.longest(2, 60), 0.120 + kExchange);
  EXPECT_EQ(world.rounds_in_time(0, 2, 60), 59);
  EXPECT_EQ(world.rounds_in_time(3, 2, 60), 0);
  EXPECT_TRUE(world.peers[3]->saw(SwarmEventKind::kLate));
  EXPECT_FALSE(world.peers[0]->saw(SwarmEventKind::kPeerLeft));
  // While the slow one computes an old round the others do not even wait for the deadline.
  EXPECT_LE(to_seconds(world.times.at(60) - world.times.at(1)), 59 * (0.060 + 0.5 * kExchange));
}

TEST(UnequalSwarm, WhatCameTooLateIsCarriedIntoALaterRound) {
  const double rates[] = {0.010, 0.010, 0.010, 0.030};
  World world({.deadline = milliseconds(120), .carry = true}, 60);
  world.start(rates);
  ASSERT_TRUE(world.run_to_end());
  EXPECT_EQ(world.differing, 0);
  world.expect_closed_form(60);
  EXPECT_GT(world.trainers[3]->lent.size(), 10U);
  EXPECT_LE(world.longest(2, 60), 0.120 + kExchange);
}

TEST(UnequalSwarm, WithSharesASlowMemberComesBackIntoTime) {
  const double rates[] = {0.010, 0.010, 0.010, 0.040};
  World world({.by_speed = true, .deadline = milliseconds(120)}, 150);
  world.start(rates);
  ASSERT_TRUE(world.run_to_end());
  EXPECT_EQ(world.differing, 0);
  world.expect_closed_form(150);
  EXPECT_GE(world.rounds_in_time(3, 101, 150), 45);
  EXPECT_LE(world.longest(101, 150), 0.120 + kExchange);
}

TEST(UnequalSwarm, APausedMemberHoldsARoundNoLongerThanTheDetectorAllows) {
  World world({.deadline = milliseconds(120)}, 200);
  world.start(std::span(kOneSlow).first(3));
  const TimePoint end = world.net.now() + seconds(60);
  while (world.peers[0]->round().value() < 20 && world.net.now() < end && world.net.step()) {
  }
  const PeerId stopped = world.peers[2]->id;
  world.net.pause(stopped);
  world.net.call_at(world.net.now() + seconds(8), [&] { world.net.resume(stopped); });
  ASSERT_TRUE(world.run_to_end());
  EXPECT_EQ(world.differing, 0);
  const double bound = to_seconds(world.options.membership.suspicion_timeout) + 2.0;
  EXPECT_LE(world.longest(2, 200), bound);
}

}  // namespace
}  // namespace weft::swarm_late_test
