// Collectives beside the rounds, over simulated links and time.
#include "weft/collective/engine/group_core.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/testing/test_seeds.h"
#include "weft/collective/engine/test_group_world.h"

namespace weft::group_core_test {
namespace {

// A program of calls, the same at all members, and what each member must get.
struct Program {
  struct Step {
    GroupCall call;  // without input
    std::vector<std::vector<float>> inputs;
  };

  Program(int member_count, int count, std::uint64_t seed) : members(member_count), rng(seed) {
    for (int i = 0; i < count; ++i) add(i);
  }

  void add(int number) {
    Step step;
    step.call.kind = static_cast<CollectiveKind>(rng.below(5));
    step.call.channel = static_cast<std::uint16_t>(number % 3);
    step.call.priority = static_cast<Priority>(rng.below(3));
    step.call.algorithm = rng.below(2) == 0 ? Algorithm::kAuto : Algorithm::kRing;
    const auto part = static_cast<std::int64_t>(rng.below(3000));
    step.call.elements = step.call.kind == CollectiveKind::kBarrier ? 0 : part * members;
    step.call.root = Rank(static_cast<int>(rng.below(static_cast<std::uint64_t>(members))));
    for (int rank = 0; rank < members; ++rank) {
      std::vector<float> input(static_cast<std::size_t>(step.call.elements));
      for (float& x : input) x = static_cast<float>(rng.below(1000));
      step.inputs.push_back(std::move(input));
    }
    steps.push_back(std::move(step));
  }

  // What rank gives to call i, and its own part of an all-gather.
  GroupCall call(std::size_t i, int rank) const {
    const Step& step = steps[i];
    GroupCall made = step.call;
    const std::span<const float> input(step.inputs[static_cast<std::size_t>(rank)]);
    const std::size_t part = input.size() / static_cast<std::size_t>(members);
    if (made.kind == CollectiveKind::kAllGather) {
      made.input = input.subspan(part * static_cast<std::size_t>(rank), part);
    } else if (made.kind != CollectiveKind::kBroadcast || made.root == Rank(rank)) {
      made.input = input;
    }
    return made;
  }

  void expect(std::size_t i, int rank, std::span<const float> got) const {
    const Step& step = steps[i];
    const std::size_t size = step.inputs[0].size();
    const std::size_t part = size / static_cast<std::size_t>(members);
    std::size_t begin = 0;
    std::size_t end = size;
    if (step.call.kind == CollectiveKind::kReduceScatter) {
      begin = part * static_cast<std::size_t>(rank);
      end = begin + part;
    }
    for (std::size_t at = begin; at < end; ++at) {
      float want = 0;
      if (step.call.kind == CollectiveKind::kAllGather) {
        want = step.inputs[at / part][at];
      } else if (step.call.kind == CollectiveKind::kBroadcast) {
        want = step.inputs[static_cast<std::size_t>(step.call.root.value())][at];
      } else {
        for (const auto& input : step.inputs) want += input[at];
      }
      ASSERT_EQ(got[at], want) << to_string(step.call.kind) << ", element " << at;
    }
  }

  int members;
  Rng rng;
  std::vector<Step> steps;
};

// Runs the program at all members, at times that differ; calls of one channel in order.
void run_program(World& world, const Program& program, std::uint64_t seed,
                 const std::function<void()>& fault) {
  Rng rng(seed);
  const auto members = static_cast<std::size_t>(program.members);
  std::vector<std::vector<std::uint64_t>> numbers(members);
  for (std::size_t rank = 0; rank < members; ++rank) {
    numbers[rank].resize(program.steps.size());
    TimePoint at = world.net.now();
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      at += std::chrono::microseconds(rng.below(3000));
      world.net.call_at(at, [&, rank, i] {
        const int number = static_cast<int>(rank);
        numbers[rank][i] = world.peer(number).begin(program.call(i, number));
      });
    }
  }
  for (int i = 0; i < 12; ++i) {
    world.net.call_at(world.net.now() + std::chrono::microseconds(rng.below(60000)), fault);
  }
  ASSERT_TRUE(world.run([&] {
    return std::ranges::all_of(world.peers, [&](const auto& peer) {
      return peer->outcomes.size() == program.steps.size();
    });
  }));
  for (std::size_t rank = 0; rank < members; ++rank) {
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const int number = static_cast<int>(rank);
      const GroupOutcome* outcome = world.peer(number).outcome(numbers[rank][i]);
      ASSERT_NE(outcome, nullptr);
      ASSERT_TRUE(outcome->status.ok()) << outcome->status.to_string();
      program.expect(i, number, std::as_const(*outcome->values).span());
    }
  }
  // Nothing is kept for ever.
  EXPECT_TRUE(world.run([&] {
    return std::ranges::all_of(world.peers,
                               [](const auto& peer) { return peer->core->open() == 0; });
  }));
}

TEST(GroupCore, ManyCallsOfAllKindsAtOnceOnSeveralChannels) {
  for (const std::uint64_t seed : TestSeeds(1, 12)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const int members = 2 + static_cast<int>(seed % 4);
    World world(members, sim(seed));
    const Program program(members, 24, seed);
    run_program(world, program, seed, [] {});
    for (const auto& peer : world.peers) EXPECT_TRUE(peer->downs.empty());
  }
}

TEST(GroupCore, LinksBreakAndComeBackAndEveryCallEndsWell) {
  for (const std::uint64_t seed : TestSeeds(1, 40)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const int members = 2 + static_cast<int>(seed % 4);
    World world(members, sim(seed));
    const Program program(members, 18, seed);
    Rng rng(seed);
    run_program(world, program, seed, [&] {
      const auto bound = static_cast<std::uint64_t>(members);
      const auto a = static_cast<int>(rng.below(bound));
      const auto b = (a + 1 + static_cast<int>(rng.below(bound - 1))) % members;
      world.net.break_link(peer_id(a), peer_id(b));
    });
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(GroupCore, PointToPointBothWaysAtOnce) {
  World world(3, sim(4));
  const std::vector<float> forth(70000, 3.5F);
  const std::vector<float> back(10, 7.0F);
  GroupCall give;
  give.partner = Rank(2);
  give.gives = true;
  give.elements = 70000;
  give.input = forth;
  GroupCall take = give;
  take.partner = Rank(0);
  take.gives = false;
  take.input = {};
  const std::uint64_t taken = world.peer(2).begin(take);
  GroupCall answer = give;
  answer.partner = Rank(0);
  answer.elements = 10;
  answer.input = back;
  world.peer(2).begin(answer);
  const std::uint64_t given = world.peer(0).begin(give);
  GroupCall wait = take;
  wait.partner = Rank(2);
  wait.elements = 10;
  const std::uint64_t answered = world.peer(0).begin(wait);
  ASSERT_TRUE(world.run([&] {
    return world.peer(0).outcome(answered) != nullptr && world.peer(2).outcome(taken) != nullptr;
  }));
  EXPECT_EQ(std::as_const(*world.peer(2).outcome(taken)->values).span()[69999], 3.5F);
  EXPECT_EQ(std::as_const(*world.peer(0).outcome(answered)->values).span()[9], 7.0F);
  EXPECT_TRUE(world.peer(0).outcome(given)->status.ok());
  EXPECT_TRUE(world.run([&] { return world.peer(0).core->open() == 0; }));
}

TEST(GroupCore, AViewChangeEndsAllCallsAndTheNextViewWorks) {
  World world(4, sim(5));
  const std::vector<float> ones(4000, 1.0F);
  GroupCall call;
  call.elements = 4000;
  call.input = ones;
  // The fourth never calls.
  for (int rank = 0; rank < 3; ++rank) world.peer(rank).begin(call);
  world.net.run_until(world.net.now() + milliseconds(50));
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(world.peer(rank).outcomes.empty());
  // One hears of the view before the others and is ahead of them.
  world.install(2, 3);
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(world.peer(rank).outcomes.size(), 1U);
    EXPECT_EQ(world.peer(rank).outcomes[0].status.code(), Code::kAborted);
    world.peer(rank).begin(call);
  }
  ASSERT_TRUE(world.run([&] { return world.peer(2).outcomes.size() == 2; }));
  ASSERT_TRUE(world.peer(2).outcomes[1].status.ok());
  EXPECT_EQ(std::as_const(*world.peer(2).outcomes[1].values).span()[17], 3.0F);
  // Whoever counts ranks in the old view is told.
  world.peer(0).core->begin({ViewNumber(1), {}}, call, world.net.now());
  world.peer(0).pump();
  EXPECT_EQ(world.peer(0).outcomes.back().status.code(), Code::kAborted);
}

TEST(GroupCore, WhoDoesNotComeIsNamedAtTheDeadlineAndTheNextCallWorks) {
  World world(3, sim(6));
  const std::vector<float> ones(9000, 1.0F);
  GroupCall call;
  call.elements = 9000;
  call.input = ones;
  call.algorithm = Algorithm::kRing;
  call.deadline = world.net.now() + seconds(1);
  world.peer(0).begin(call);
  world.peer(1).begin(call);
  world.net.run_until(world.net.now() + seconds(2));
  ASSERT_EQ(world.peer(0).outcomes.size(), 1U);
  const Status& late = world.peer(0).outcomes[0].status;
  EXPECT_EQ(late.code(), Code::kTimeout);
  EXPECT_THAT(late.message(), testing::HasSubstr(peer_id(2).short_name()));
  // It comes at last, alone; then all go on in step.
  call.deadline = world.net.now() + seconds(1);
  world.peer(2).begin(call);
  call.deadline = world.net.now() + seconds(20);
  for (int rank = 0; rank < 3; ++rank) world.peer(rank).begin(call);
  ASSERT_TRUE(world.run([&] {
    return world.peer(0).outcomes.size() == 2 && world.peer(1).outcomes.size() == 2 &&
           world.peer(2).outcomes.size() == 2;
  }));
  EXPECT_TRUE(world.peer(0).outcomes[1].status.ok());
  EXPECT_TRUE(world.peer(1).outcomes[1].status.ok());
  EXPECT_FALSE(world.peer(2).outcomes.empty());
}

TEST(GroupCore, CallsThatDoNotFitTogetherAreSaidInWords) {
  World world(2, sim(7));
  const std::vector<float> ones(4000, 1.0F);
  GroupCall call;
  call.elements = 4000;
  call.input = ones;
  call.deadline = world.net.now() + seconds(5);
  world.peer(0).begin(call);
  call.kind = CollectiveKind::kReduceScatter;
  world.peer(1).begin(call);
  ASSERT_TRUE(world.run([&] { return !world.peer(1).outcomes.empty(); }));
  const Status& status = world.peer(1).outcomes[0].status;
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::AllOf(testing::HasSubstr("all-reduce"),
                                               testing::HasSubstr("reduce-scatter")));
  EXPECT_TRUE(world.peer(0).downs.empty()) << "no reason to end the link";
}

TEST(GroupCore, CallsThatCannotBeAreRefusedAtOnce) {
  World world(2, sim(8));
  const auto refused = [&](GroupCall call) {
    const std::uint64_t number = world.peer(0).begin(std::move(call));
    const GroupOutcome* outcome = world.peer(0).outcome(number);
    return outcome != nullptr && outcome->status.code() == Code::kInvalidArgument;
  };
  const std::vector<float> ones(3, 1.0F);
  GroupCall odd;
  odd.kind = CollectiveKind::kReduceScatter;
  odd.elements = 3;
  odd.input = ones;
  EXPECT_TRUE(refused(odd));
  GroupCall length;
  length.elements = 4;
  length.input = ones;
  EXPECT_TRUE(refused(length));
  GroupCall self;
  self.partner = Rank(0);
  EXPECT_TRUE(refused(self));
  GroupCall root;
  root.kind = CollectiveKind::kBroadcast;
  root.root = Rank(2);
  EXPECT_TRUE(refused(root));
  GroupCall krum;
  krum.aggregator = *Aggregator::parse("krum");
  krum.aggregate_round.liars = 1;
  krum.elements = 3;
  krum.input = ones;
  EXPECT_TRUE(refused(krum)) << "two members";
  GroupCall broadcast;
  broadcast.kind = CollectiveKind::kBroadcast;
  broadcast.aggregator = *Aggregator::parse("median");
  broadcast.elements = 3;
  broadcast.input = ones;
  EXPECT_TRUE(refused(broadcast));
}

TEST(GroupCore, ALiarAmongFiveMovesNoRobustAllReduce) {
  World world(5, sim(9));
  std::vector<std::vector<float>> inputs(5, std::vector<float>(3000));
  Rng rng(3);
  for (std::vector<float>& input : inputs) {
    for (float& value : input) value = static_cast<float>(rng.uniform());
  }
  inputs[2].assign(3000, -1e6F);
  GroupCall call;
  call.aggregator = *Aggregator::parse("nnm trimmed_mean");
  call.aggregate_round.liars = 1;
  call.elements = 3000;
  for (int rank = 0; rank < 5; ++rank) {
    call.input = inputs[static_cast<std::size_t>(rank)];
    world.peer(rank).begin(call);
  }
  ASSERT_TRUE(world.run([&] {
    return std::ranges::none_of(world.peers,
                                [](const auto& peer) { return peer->outcomes.empty(); });
  }));
  std::vector<float> first;
  for (int rank = 0; rank < 5; ++rank) {
    const GroupOutcome& outcome = world.peer(rank).outcomes[0];
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
    const std::span<const float> result = std::as_const(*outcome.values).span();
    if (rank == 0) first.assign(result.begin(), result.end());
    EXPECT_TRUE(std::ranges::equal(result, first)) << "member " << rank;
  }
  for (const float value : first) ASSERT_TRUE(value >= 0 && value <= 1) << value;
}

TEST(GroupCore, UrgentCallsOvertakeALongOne) {
  SimNetworkOptions options = sim(9);
  options.bytes_per_second = 10'000'000;
  World world(3, options);
  constexpr std::int64_t kLong = 4'000'000;
  const std::vector<float> large(kLong, 1.0F);
  const std::vector<float> small(3000, 2.0F);
  GroupCall slow;
  slow.channel = 1;
  slow.priority = Priority::kBackground;
  slow.elements = kLong;
  slow.input = large;
  slow.algorithm = Algorithm::kRing;
  GroupCall quick;
  quick.channel = 2;
  quick.priority = Priority::kUrgent;
  quick.elements = 3000;
  quick.input = small;
  quick.algorithm = Algorithm::kRing;
  std::uint64_t slow_call = 0, quick_call = 0;
  const TimePoint begun = world.net.now();
  for (int rank = 0; rank < 3; ++rank) slow_call = world.peer(rank).begin(slow);
  world.net.run_until(begun + milliseconds(200));
  for (int rank = 0; rank < 3; ++rank) quick_call = world.peer(rank).begin(quick);
  ASSERT_TRUE(world.run([&] { return world.peer(2).outcome(quick_call) != nullptr; }));
  EXPECT_EQ(world.peer(2).outcome(slow_call), nullptr);
  // Four hops, each behind at most a window of the long one; the long one takes two seconds.
  EXPECT_LT(world.net.now() - begun, milliseconds(200 + 4 * 170));
  ASSERT_TRUE(world.run([&] { return world.peer(2).outcome(slow_call) != nullptr; }));
  EXPECT_TRUE(world.peer(2).outcome(slow_call)->status.ok());
}

TEST(GroupCore, HostileFramesEndTheLinkAndNothingElse) {
  World world(3, sim(10));
  Rng rng(3);
  const ViewId view = world.peer(0).core->view().id;
  GroupCore& core = *world.peer(0).core;
  const std::vector<float> ones(900, 1.0F);
  for (int round = 0; round < 300; ++round) {
    GroupCall call;
    call.elements = 900;
    call.input = ones;
    call.channel = static_cast<std::uint16_t>(rng.below(3));
    call.deadline = world.net.now() + milliseconds(1 + rng.below(3));
    world.peer(0).begin(call);
    for (int i = 0; i < 40; ++i) {
      GroupCallId id{view, static_cast<GroupScope>(rng.below(3)),
                     static_cast<std::uint16_t>(rng.below(3)), rng.below(400)};
      if (rng.below(8) == 0) id.view.number = ViewNumber(rng.below(4));
      Bytes head;
      std::uint8_t type = frame_type::kGroupDone;
      const auto form = static_cast<std::uint8_t>(rng.below(256));
      switch (rng.below(3)) {
        case 0:
          head = GroupDoneMessage{id}.encode();
          break;
        case 1:
          type = frame_type::kGroupReady;
          head = GroupReadyMessage{id, form, rng.below(2) == 0 ? 900 : rng.below(2000),
                                   Bytes(rng.below(12))}
                     .encode();
          break;
        default:
          type = frame_type::kGroupSegment;
          head = GroupSegmentHead{id.scope, id.channel,
                                  SegmentHead{{id.view, Round(id.sequence)},
                                              static_cast<CollectiveOp>(rng.below(4)),
                                              form,
                                              900,
                                              static_cast<std::uint32_t>(rng.below(5))}}
                     .encode();
      }
      const Bytes body(type == frame_type::kGroupSegment ? 4 * rng.below(1000) : 0);
      const PeerId from = peer_id(static_cast<int>(1 + rng.below(3)));
      static_cast<void>(core.body_destination(from, head, body.size()).size());
      const Code code = core.on_frame(from, {type, head, body}).code();
      ASSERT_THAT(code, testing::AnyOf(Code::kOk, Code::kCorrupt));
    }
    world.net.run_until(world.net.now() + milliseconds(5));
  }
  EXPECT_LT(core.open(), 257U);
}

}  // namespace
}  // namespace weft::group_core_test
