// State in whole swarms on lines of a given rate: what a newcomer costs the others, how long it
// takes, and where a run goes on after all have died.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/scenario/test_swarm_peer.h"

namespace weft::swarm_state_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A state that is larger than what a round exchanges, as optimizers' is. Its gradients cost next to
// nothing to compute, so that they may be many.
class HeavyTrainer final : public TestTrainer {
 public:
  HeavyTrainer(std::size_t elements, std::size_t extra) : TestTrainer(elements), extra_(extra) {}
  std::vector<float> shard(int rank, int members) const override {
    const int begin = kGlobalBatch * rank / members;
    const int end = kGlobalBatch * (rank + 1) / members;
    return std::vector<float>(elements(), static_cast<float>(end - begin));
  }
  Bytes serialise() const override {
    const Bytes own = TestTrainer::serialise();
    Bytes state(own.size() + extra_);
    std::copy(own.begin(), own.end(), state.begin());
    for (std::size_t i = own.size(); i < state.size(); i += 512) {
      state[i] = static_cast<std::uint8_t>(i / 512);
    }
    return state;
  }
  Status load(ByteSpan in) override {
    if (in.size() < extra_) return corrupt("state: too short");
    return TestTrainer::load(in.first(in.size() - extra_));
  }

 private:
  std::size_t extra_;
};

class SwarmStateTest : public ::testing::Test {
 public:
  ~SwarmStateTest() override {
    for (auto& peer : peers) {
      if (*peer->alive) peer->crash(SimCrash::kKilled);
    }
  }

  SwarmPeer& add(std::uint32_t number) {
    SwarmPeer::Settings settings;
    settings.id = swarm_peer_id(number);
    settings.seed = 100 + number;
    settings.incarnation = ++starts;
    settings.elements = elements;
    settings.compute = [this] { return compute / 2; };
    settings.pause = pause;
    if (extra > 0) {
      settings.make_trainer = [this] { return std::make_unique<HeavyTrainer>(elements, extra); };
    }
    peers.push_back(std::make_unique<SwarmPeer>(net, options, std::move(settings)));
    if (line > 0) net.set_line(peers.back()->id, line);
    return *peers.back();
  }
  void start(int members) {
    options.start_members = members;
    add(0).found();
    for (int i = 1; i < members; ++i) {
      add(static_cast<std::uint32_t>(i)).join(peers[0]->ticket());
    }
    ASSERT_TRUE(run([&] { return peers[0]->core->view().size() == members; }, seconds(60)));
  }
  template <class Done>
  bool run(Done&& done, Duration limit) {
    const TimePoint end = net.now() + limit;
    while (!done()) {
      if (net.now() > end || !net.step()) return done();
    }
    return true;
  }
  bool run_rounds(SwarmPeer& peer, std::uint64_t count) {
    const std::uint64_t last = peer.round().value() + count;
    return run([&] { return peer.round().value() >= last; }, seconds(3600));
  }
  double seconds_a_round(std::uint64_t count) {
    const TimePoint begun = net.now();
    EXPECT_TRUE(run_rounds(*peers[0], count));
    return to_seconds(net.now() - begun) / static_cast<double>(count);
  }

  // What a newcomer needs until it takes part, and how much longer rounds took meanwhile.
  struct Cost {
    double round_alone = 0;
    double seconds = 0;
    double slowdown = 0;
  };
  // It comes after that part of a round.
  Cost join_one(std::uint32_t number, double phase = 0) {
    EXPECT_TRUE(run_rounds(*peers[0], 3));
    const double alone = seconds_a_round(6);
    const TimePoint ended = net.now();
    const TimePoint comes = ended + from_seconds(phase * alone);
    run([&] { return net.now() >= comes; }, seconds(60));
    pause = {};
    const std::uint64_t first = peers[0]->round().value();
    const TimePoint begun = net.now();
    SwarmPeer& joiner = add(number);
    joiner.join(peers[0]->ticket());
    EXPECT_TRUE(run([&] { return joiner.in_round(); }, seconds(3600)));
    Cost cost;
    cost.round_alone = alone;
    cost.seconds = to_seconds(net.now() - begun);
    // The view change belongs to it.
    EXPECT_TRUE(run_rounds(*peers[0], 1));
    const auto rounds = static_cast<double>(peers[0]->round().value() - first);
    cost.slowdown = to_seconds(net.now() - ended) / rounds / alone;
    return cost;
  }

  SimNetwork net{{}};
  SwarmCoreOptions options = swarm_options(0);
  std::size_t elements = 3000;
  std::size_t extra = 0;
  std::uint64_t line = 0;
  Duration compute = milliseconds(4);
  // The pause of the members that are added from now on.
  Duration pause{};
  std::uint64_t starts = 0;
  std::vector<std::unique_ptr<SwarmPeer>> peers;
};

// 4 members with 100 MB of state, and a line of `line` each. A newcomer has to get the state, and
// the sums of all rounds that end meanwhile, over its own line; so it can be in after 1.2 times the
// time that the state alone needs, and 2 s, only where those sums are small beside the line, and
// rounds short: at the worst it waits for the end of one until a snapshot can be made, and for the
// end of another one until it is let in.
class JoinTest : public SwarmStateTest {
 protected:
  static constexpr std::size_t kState = 100'000'000;
  // What a newcomer costs, where a round's vector has so many bytes.
  void join(std::size_t vector_bytes, double phase = 0) {
    options.rounds.all_reduce.segment_bytes = 64 * 1024;
    options.rounds.all_reduce.bucket_bytes = 1 << 20;
    options.links.enabled = false;
    elements = vector_bytes / sizeof(float);
    extra = kState - vector_bytes;
    start(4);
    cost = join_one(4, phase);
    // It comes in between two rounds: the one that has just begun is begun again.
    for (const auto& peer : peers) {
      for (const SwarmEvent& event : peer->events) {
        if (event.kind != SwarmEventKind::kRoundRerun) continue;
        EXPECT_LE(event.seconds, 0.05);
      }
    }
    RecordProperty("round", std::to_string(cost.round_alone));
    RecordProperty("seconds", std::to_string(cost.seconds));
    RecordProperty("slowdown", std::to_string(cost.slowdown));
  }
  double transfer() const { return static_cast<double>(kState) / static_cast<double>(line); }

  Cost cost;
};

// 100 Mbit/s. Rounds use a fifth of the lines; their sums a seventh of the newcomer's.
TEST_F(JoinTest, OverLinesOf100MbitANewcomerIsInWithinItsBound) {
  line = 12'500'000;
  compute = milliseconds(500);
  join(1'000'000);
  EXPECT_LE(cost.seconds, 1.2 * transfer() + 2);
  EXPECT_LE(cost.slowdown, 1.10);
}

// 100 Mbit/s with four times as large gradients: rounds of 1.24 s use two fifths of the lines,
// their sums a quarter of the newcomer's. With no rounds on the lines, state and sums would take 8
// s / (1 - 0.26) = 10.8 s, to which the waits for two rounds come: the bound cannot hold. In the
// three fifths of the time in which nothing of a round moves 9.5 MB pass in each round, 4 MB of
// which are its sums; so it takes twice as long, and the rounds do not.
TEST_F(JoinTest, WhereRoundsNeedTheLinesTheNewcomerIsLaterAndTheyAreNot) {
  line = 12'500'000;
  compute = milliseconds(1000);
  join(4'000'000);
  EXPECT_LE(cost.seconds, 2.6 * transfer());
  EXPECT_LE(cost.slowdown, 1.10);
}

// 300 Mbit/s and rounds 5 s apart, the newcomer at any moment of one.
class JoinPhaseTest : public JoinTest, public ::testing::WithParamInterface<double> {
 protected:
  void SetUp() override { line = 37'500'000; }
  double phase() const { return GetParam(); }
};

// The members wait before they begin their rounds: it comes in at once when it has the state.
TEST_P(JoinPhaseTest, WhileMembersPauseANewcomerIsInWithinItsBound) {
  compute = milliseconds(50);
  pause = milliseconds(4500);
  join(8'000'000, phase());
  EXPECT_NEAR(cost.round_alone, 5, 0.3);
  EXPECT_LE(cost.seconds, 1.2 * transfer() + 2);
  EXPECT_LE(cost.slowdown, 1.10);
}

// They compute all the time, and send a half of their sums in the middle of it: until then they
// give it the state that they compute with, so that it comes in with the next round.
TEST_P(JoinPhaseTest, WhileMembersComputeANewcomerIsInARoundLaterAtMost) {
  compute = milliseconds(4600);
  join(8'000'000, phase());
  EXPECT_NEAR(cost.round_alone, 5, 0.3);
  EXPECT_LE(cost.seconds, 1.2 * transfer() + 2 + cost.round_alone);
  const bool quiet = phase() < 0.4;
  EXPECT_LE(cost.seconds, (quiet ? 1 : 2) * cost.round_alone - phase() * cost.round_alone + 1);
  EXPECT_LE(cost.slowdown, 1.10);
}

INSTANTIATE_TEST_SUITE_P(PartsOfARound, JoinPhaseTest, ::testing::Values(0.0, 0.3, 0.7),
                         [](const auto& each) {
                           return "After" + std::to_string(static_cast<int>(each.param * 100)) +
                                  "Percent";
                         });

// LinkRates that rounds fill from end to end: the newcomer gets a share, and comes in.
TEST_F(SwarmStateTest, RoundsThatFillTheLinesGoOn) {
  options.rounds.all_reduce.segment_bytes = 64 * 1024;
  options.rounds.all_reduce.bucket_bytes = 1 << 20;
  options.links.enabled = false;
  line = 12'500'000;
  elements = 1'000'000;
  extra = 12'000'000;
  compute = milliseconds(2);
  start(4);
  const Cost cost = join_one(4);
  RecordProperty("seconds", std::to_string(cost.seconds));
  RecordProperty("slowdown", std::to_string(cost.slowdown));
  EXPECT_LE(cost.seconds, 20);
  EXPECT_LE(cost.slowdown, 1.25);
}

// Half way all links of a newcomer that takes 20 MiB break at once.
class BrokenTransferTest : public SwarmStateTest {
 protected:
  SwarmPeer& begin_and_break() {
    line = 2'000'000;
    extra = 20 << 20;
    compute = milliseconds(500);
    start(3);
    SwarmPeer& joiner = add(3);
    joiner.join(peers[0]->ticket());
    EXPECT_TRUE(run([&] { return joiner.saw(SwarmEventKind::kLinkUp); }, seconds(10)));
    wait(seconds(6));
    had = joiner.transport.total_stats().bytes_received;
    EXPECT_GT(had, 5U << 20);
    for (int i = 0; i < 3; ++i) net.break_link(joiner.id, peers[static_cast<std::size_t>(i)]->id);
    return joiner;
  }
  // What was under way is lost, but what was here is not sent again.
  void expect_taken_up(const SwarmPeer& joiner) {
    ASSERT_TRUE(run([&] { return joiner.in_round(); }, seconds(120))) << joiner.describe();
    const std::uint64_t in_all = joiner.transport.total_stats().bytes_received;
    EXPECT_LT(in_all, (20U << 20) + had * 3 / 4);
    const std::string told = joiner.text_of(SwarmEventKind::kStateReceived);
    EXPECT_NE(told.find("of its blocks were here before"), std::string::npos) << told;
  }
  void wait(Duration time) {
    const TimePoint end = net.now() + time;
    run([&] { return net.now() >= end; }, time + seconds(4));
  }

  std::uint64_t had = 0;
};

TEST_F(BrokenTransferTest, GoesOnWhereItWasOnceTheLinksAreBack) {
  SwarmPeer& joiner = begin_and_break();
  expect_taken_up(joiner);
}

TEST_F(BrokenTransferTest, GoesOnWhereItWasAfterSecondsWithoutAnyLink) {
  SwarmPeer& joiner = begin_and_break();
  net.partition({{joiner.id}, {peers[0]->id, peers[1]->id, peers[2]->id}});
  wait(seconds(8));
  net.unblock_all();
  expect_taken_up(joiner);
}

class ResumeTest : public SwarmStateTest {
 protected:
  const RunId lost_run = sha256(as_bytes(std::string_view("the run before")));
  // Who was in its last view, as `number` remembers it.
  std::map<std::uint32_t, std::pair<std::uint64_t, std::vector<std::uint32_t>>> last_views;
  Hash256 lost_key = sha256(as_bytes(std::string_view("its key")));

  VoterRecord record_of(std::uint32_t number) {
    VoterRecord record;
    record.run = record.view_run = lost_run;
    record.self = swarm_peer_id(number);
    record.incarnation = 1;
    record.key = lost_key;
    record.view = last_views[number].first;
    for (const std::uint32_t member : last_views[number].second) {
      record.members.push_back(swarm_peer_id(member));
    }
    return record;
  }
  std::string waits_of(const SwarmPeer& peer) {
    std::string all;
    for (const SwarmEvent& event : peer.events) {
      if (event.kind == SwarmEventKind::kStartWaiting) all += event.text + "\n";
    }
    return all;
  }

  // A peer that has a checkpoint of the state after `round`.
  SwarmPeer& back(std::uint32_t number, std::uint64_t round, bool founder) {
    options.resume_round = founder ? Round(round) : Round();
    options.membership.founded_at = options.resume_round;
    options.gather_states = founder;
    options.held_round = founder ? Round() : Round(round);
    options.held_run = round > 0 ? lost_run : RunId{};
    options.membership.past = record_of(number);
    SwarmPeer& peer = add(number);
    const Status loaded = peer.trainer.load(trained(elements, round).serialise());
    EXPECT_TRUE(loaded.ok());
    peer.set.on_state = [](const TestTrainer& trainer) {
      EXPECT_EQ(trainer.hash().total, trained(trainer.elements(), trainer.round()).hash().total);
    };
    if (founder) peer.found();
    return peer;
  }
};

TEST_F(ResumeTest, TheNewestStateOfThoseThatComeBackWins) {
  options.start_members = 3;
  SwarmPeer& founder = back(0, 10, true);
  SwarmPeer& second = back(1, 7, false);
  second.join(founder.ticket());
  ASSERT_FALSE(run([&] { return founder.in_round(); }, seconds(3)));
  SwarmPeer& third = back(2, 14, false);
  third.join(founder.ticket());
  ASSERT_TRUE(run(
      [&] {
        return founder.core->view().size() == 3 && founder.round().value() >= 20 &&
               third.round() == founder.round();
      },
      seconds(60)));
  EXPECT_EQ(founder.first_trained, 15U);
  EXPECT_TRUE(founder.saw(SwarmEventKind::kStateReceived));
  EXPECT_TRUE(second.saw(SwarmEventKind::kStateReceived));
  EXPECT_FALSE(third.saw(SwarmEventKind::kStateReceived)) << "it had the state already";
  for (const auto& peer : peers) EXPECT_FALSE(peer->saw(SwarmEventKind::kStateMismatch));
}

TEST_F(ResumeTest, TheFoundersOwnStateWinsIfNobodyHasANewerOne) {
  options.start_members = 3;
  SwarmPeer& founder = back(0, 10, true);
  back(1, 10, false).join(founder.ticket());
  back(2, 0, false).join(founder.ticket());
  ASSERT_TRUE(run([&] { return founder.core->view().size() == 3 && founder.round().value() >= 20; },
                  seconds(60)));
  EXPECT_EQ(founder.first_trained, 11U);
  EXPECT_FALSE(founder.saw(SwarmEventKind::kStateReceived));
}

TEST_F(ResumeTest, WhoeverComesAfterTheStartTakesTheGroupsState) {
  options.start_members = 2;
  SwarmPeer& founder = back(0, 10, true);
  back(1, 8, false).join(founder.ticket());
  ASSERT_TRUE(run([&] { return founder.round().value() >= 13; }, seconds(60)));
  SwarmPeer& late = back(2, 500, false);
  late.join(founder.ticket());
  ASSERT_TRUE(run([&] { return late.in_round(); }, seconds(60)));
  EXPECT_LT(late.round().value(), 500U);
  EXPECT_TRUE(late.saw(SwarmEventKind::kStateReceived));
}

TEST_F(ResumeTest, TheNewestOneMayDieWhileItsStateIsTaken) {
  line = 250'000;
  elements = 500'000;
  options.start_members = 3;
  SwarmPeer& founder = back(0, 10, true);
  back(1, 12, false).join(founder.ticket());
  SwarmPeer& third = back(2, 14, false);
  third.join(founder.ticket());
  const TimePoint half = net.now() + seconds(4);
  run([&] { return net.now() >= half; }, seconds(10));
  third.crash(SimCrash::kKilled);
  ASSERT_TRUE(run([&] { return founder.in_round(); }, seconds(200)));
  EXPECT_EQ(founder.first_trained, 13U);
}

TEST_F(ResumeTest, NobodyIsWaitedForLongerThanTheStart) {
  options.start_members = 3;
  options.start_timeout = seconds(5);
  SwarmPeer& founder = back(0, 10, true);
  back(1, 12, false).join(founder.ticket());
  ASSERT_TRUE(run([&] { return founder.round().value() >= 13; }, seconds(20)));
  EXPECT_EQ(founder.first_trained, 13U);
}

TEST_F(ResumeTest, AllAreGatheredWhateverTheTurnsOfNewcomers) {
  options.start_members = 7;
  options.membership.joins_at_once = 1;
  SwarmPeer& founder = back(0, 10, true);
  for (std::uint32_t i = 1; i < 7; ++i) back(i, 10 + i, false).join(founder.ticket());
  ASSERT_TRUE(run([&] { return founder.round().value() >= 20; }, seconds(60)));
  EXPECT_EQ(founder.first_trained, 17U);
  EXPECT_EQ(founder.core->view().size(), 7);
}

TEST_F(ResumeTest, ForWhomIsWaitedFollowsFromTheRecords) {
  options.start_members = 1;
  // The founder died first; the others went on without it, and the last one alone.
  last_views[0] = {5, {0, 1, 2}};
  last_views[1] = {6, {1, 2}};
  last_views[2] = {7, {2}};
  SwarmPeer& founder = back(0, 10, true);
  back(1, 20, false).join(founder.ticket());
  ASSERT_FALSE(run([&] { return founder.in_round(); }, seconds(5)));
  EXPECT_NE(waits_of(founder).find("waits for " + swarm_peer_id(2).short_name()), std::string::npos)
      << waits_of(founder);
  back(2, 30, false).join(founder.ticket());
  ASSERT_TRUE(run([&] { return founder.round().value() >= 32; }, seconds(60)));
  EXPECT_EQ(founder.first_trained, 31U);
}

TEST_F(ResumeTest, NobodyIsWaitedForWhoHadGoneBefore) {
  options.start_members = 1;
  last_views[0] = {5, {0, 1, 2}};
  last_views[2] = {7, {2}};
  SwarmPeer& founder = back(0, 10, true);
  back(2, 30, false).join(founder.ticket());
  ASSERT_TRUE(run([&] { return founder.round().value() >= 32; }, seconds(8)));
}

TEST_F(ResumeTest, AStateThatIsNotProvedIsNotTaken) {
  options.start_members = 3;
  SwarmPeer& founder = back(0, 10, true);
  back(1, 12, false).join(founder.ticket());
  lost_key = Hash256{1};
  SwarmPeer& stranger = back(2, 400, false);
  stranger.join(founder.ticket());
  ASSERT_TRUE(run([&] { return founder.round().value() >= 20; }, seconds(60)));
  EXPECT_EQ(founder.first_trained, 13U);
  EXPECT_NE(waits_of(founder).find("cannot prove that it was a member"), std::string::npos);
  EXPECT_TRUE(run([&] { return stranger.in_round(); }, seconds(60)));
  EXPECT_LT(stranger.round().value(), 400U);
}

TEST_F(ResumeTest, TheRunsThatThisOneGoesOnFromAreRemembered) {
  options.start_members = 2;
  SwarmPeer& founder = back(0, 10, true);
  SwarmPeer& second = back(1, 12, false);
  second.join(founder.ticket());
  ASSERT_TRUE(run([&] { return founder.round().value() >= 14; }, seconds(60)));
  for (const SwarmPeer* peer : {&founder, &second}) {
    const VoterRecord record = peer->core->record();
    ASSERT_EQ(record.earlier.size(), 1U);
    EXPECT_EQ(record.earlier[0].run, lost_run);
    EXPECT_EQ(record.earlier[0].until, Round(12));
    EXPECT_EQ(record.generation, 1U);
    EXPECT_FALSE(is_of_history(record, lost_run, Round(13)));
  }
}

}  // namespace
}  // namespace weft::swarm_state_test
