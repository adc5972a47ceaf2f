// What a newcomer does when members die while it is on its way in, and how long that takes.
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"
#include "weft/wire/frame_type.h"

namespace weft::newcomer_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Some members, and a newcomer that is none yet.
struct Group {
  Group(std::uint64_t seed, std::uint32_t members, const MembershipOptions& base)
      : net(SimNetworkOptions{.seed = seed}) {
    for (std::uint32_t i = 0; i <= members; ++i) add(i, seed, base);
    peers[0]->found();
    for (std::uint32_t i = 1; i < members; ++i) {
      peers[i]->join(peers[0]->ticket());
      run(seconds(1));
    }
  }
  Group(std::uint64_t seed, std::uint32_t members) : Group(seed, members, test_membership({})) {}

  void add(std::uint32_t number, std::uint64_t seed, MembershipOptions options) {
    options.self = test_peer_id(number);
    peers.push_back(std::make_unique<TestPeer>(net, std::move(options), seed));
  }
  TestPeer& newcomer() { return *peers.back(); }
  void run(Duration duration) { net.run_until(net.now() + duration); }
  bool run_until(const std::function<bool()>& done, Duration limit) {
    const TimePoint end = net.now() + limit;
    while (!done() && net.now() < end) run(microseconds(500));
    return done();
  }

  SimNetwork net;
  std::vector<std::unique_ptr<TestPeer>> peers;
};

// A member that dies, and when: so long after the newcomer began.
struct Death {
  std::size_t victim = 0;
  SimCrash how = SimCrash::kKilled;
  Duration after{};
};

// From the death on, or from when the newcomer had the state, until it was a member.
Duration time_to_get_in(std::uint64_t seed, std::size_t sponsor, const Death& death,
                        Duration state_takes) {
  Group group(seed, 4);
  TestPeer& late = group.newcomer();
  late.hold_sync = true;
  const TimePoint start = group.net.now();
  late.join(group.peers[sponsor]->ticket());
  bool dead = false;
  const auto step = [&] {
    const Duration since = group.net.now() - start;
    if (!dead && since >= death.after) {
      dead = true;
      group.net.crash(group.peers[death.victim]->id, death.how);
    }
    if (late.hold_sync && since >= state_takes) {
      late.let_sync();
    }
    return late.state() == MembershipState::kMember;
  };
  EXPECT_TRUE(group.run_until(step, seconds(60)));
  return group.net.now() - std::max(start + death.after, start + state_takes);
}

// The worst over seeds, sponsors and moments.
Duration worst_time(SimCrash how, Duration state_takes, std::size_t victim_after_sponsor,
                    const std::vector<Duration>& moments) {
  Duration worst{};
  for (std::size_t sponsor = 0; sponsor < 4; ++sponsor) {
    const std::size_t victim = (sponsor + victim_after_sponsor) % 4;
    std::uint64_t seed = 1;
    for (const Duration after : moments) {
      for (int i = 0; i < 3; ++i) {
        worst = std::max(worst, time_to_get_in(seed++, sponsor, {victim, how, after}, state_takes));
      }
    }
  }
  return worst;
}

// The longest that the members take for a change: the dead one's link is dialled again, others may
// have to gather their news, and the dead one may have been the one that was proposing.
Duration change_limit() {
  const MembershipOptions options = test_membership({});
  return options.heartbeat_interval + 2 * options.takeover_timeout + milliseconds(150);
}

std::vector<Duration> moments(Duration first, Duration step, int count) {
  std::vector<Duration> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.push_back(first + i * step);
  return all;
}

TEST(Newcomer, IsInSoonWhenItsSponsorIsKilled) {
  EXPECT_LT(worst_time(SimCrash::kKilled, {}, 0, moments({}, milliseconds(1), 25)), change_limit());
  EXPECT_LT(worst_time(SimCrash::kKilled, milliseconds(300), 0, moments({}, milliseconds(40), 20)),
            change_limit());
}

TEST(Newcomer, IsInSoonWhenAnotherMemberIsKilled) {
  for (const std::size_t victim : {1U, 2U, 3U}) {
    EXPECT_LT(worst_time(SimCrash::kKilled, {}, victim, moments({}, milliseconds(2), 12)),
              change_limit());
  }
}

// As long as a sponsor's link does not break, the newcomer asks the others over its own links.
TEST(Newcomer, IsInSoonAfterTheBreakWhenItsSponsorFallsSilent) {
  const Duration limit =
      SimNetworkOptions{}.break_after + test_membership({}).heartbeat_interval + milliseconds(100);
  EXPECT_LT(worst_time(SimCrash::kPowerLoss, seconds(3), 0,
                       moments(milliseconds(300), milliseconds(300), 20)),
            limit);
}

// Lets the newcomer in at member 0, which is cut off from the others and does not know it yet.
void join_at_one_cut_off(Group& group) {
  std::vector<PeerId> ids;
  for (const auto& peer : group.peers) ids.push_back(peer->id);
  group.net.partition({{ids[0], ids[3]}, {ids[1], ids[2]}});
  group.newcomer().join(group.peers[0]->ticket());
  group.run(seconds(1));
  ASSERT_EQ(group.newcomer().state(), MembershipState::kSyncing);
  group.run(seconds(9));
  ASSERT_EQ(group.peers[0]->state(), MembershipState::kIsolated);
  ASSERT_EQ(group.peers[1]->view().size(), 2);
}

TEST(Newcomer, LeavesASponsorThatHasNoQuorum) {
  Group group(3, 3);
  join_at_one_cut_off(group);
  group.net.unblock_all();
  group.net.partition({{group.peers[0]->id}, {group.peers[1]->id, group.peers[2]->id}});
  group.run(seconds(8));
  EXPECT_EQ(group.newcomer().state(), MembershipState::kMember);
  EXPECT_EQ(group.peers[1]->view().size(), 3);
}

TEST(Newcomer, GivesUpWhereNobodyHasAQuorum) {
  Group group(4, 3);
  join_at_one_cut_off(group);
  group.run(test_membership({}).join_timeout);
  ASSERT_TRUE(group.newcomer().join_failed.has_value());
  EXPECT_EQ(group.newcomer().state(), MembershipState::kOutside);
}

TEST(Newcomer, IsToldOfFormerMembersAndFindsTheRunThroughThem) {
  Group group(5, 3);
  TestPeer& late = group.newcomer();
  const PeerId first = group.peers[0]->id;
  const PeerId second = group.peers[1]->id;
  group.net.crash(group.peers[2]->id, SimCrash::kKilled);
  group.run(seconds(1));
  late.join(group.peers[0]->ticket());
  group.run(seconds(1));
  ASSERT_EQ(late.view().size(), 3);
  // Cut off, it knows the others as members; all of them leave after the dead one has come back.
  group.net.partition({{late.id}, {first, second, group.peers[2]->id}});
  group.run(seconds(4));
  MembershipOptions back = test_membership({});
  back.incarnation = 100;
  group.add(2, 5, back);
  TestPeer& again = *group.peers.back();
  again.join(group.peers[0]->ticket());
  group.run(seconds(2));
  ASSERT_EQ(again.view().size(), 3);
  for (const std::size_t i : {0U, 1U}) {
    group.peers[i]->leave();
    group.run(seconds(1));
    group.net.crash(group.peers[i]->id, SimCrash::kKilled);
  }
  ASSERT_EQ(again.view().size(), 1);
  group.run(seconds(4));
  ASSERT_EQ(late.state(), MembershipState::kIsolated);
  group.net.unblock_all();
  group.run(seconds(6));
  EXPECT_EQ(late.state(), MembershipState::kRemoved);
}

// The member has accepted the view with the newcomer, and whoever could tell it that this is
// decided is gone, but for the newcomer itself.
TEST(Newcomer, TellsAMemberThatHasAcceptedItOfItsView) {
  Group group(8, 2);
  TestPeer& late = group.newcomer();
  TestPeer& first = *group.peers[0];
  TestPeer& second = *group.peers[1];
  late.join(first.ticket());
  while (first.view().size() < 3 && group.net.step()) {
  }
  ASSERT_EQ(first.view().size(), 3);
  ASSERT_EQ(second.view().size(), 2);
  group.net.block(first.id, second.id);
  ASSERT_TRUE(group.run_until([&] { return late.view().size() == 3; }, seconds(5)));
  group.net.crash(first.id, SimCrash::kPowerLoss);
  group.run(seconds(8));
  EXPECT_EQ(second.state(), MembershipState::kMember);
  EXPECT_EQ(second.view(), late.view());
  EXPECT_EQ(second.view().size(), 2);
  EXPECT_TRUE(second.view().contains(late.id));
}

TEST(Newcomer, StrangersTellNobodyThatTheRunHasGoneOn) {
  Group group(6, 3);
  TestPeer& stranger = group.newcomer();
  TestPeer& member = *group.peers[1];
  const ViewId before = member.view().id;
  stranger.connect({member.id, {group.net.endpoint(member.id)}});
  group.run(milliseconds(100));
  ViewNoticeMessage lie;
  lie.previous = before;
  lie.value.members = {Member{stranger.id, 1, {}}, *member.view().find(member.id)};
  lie.view = next_view_id(test_membership({}).run, lie.previous, lie.value);
  stranger.send(member.id, Frame{frame_type::kViewNotice, lie.encode(), {}});
  lie.value.members.pop_back();
  lie.view = next_view_id(test_membership({}).run, lie.previous, lie.value);
  stranger.send(member.id, Frame{frame_type::kViewNotice, lie.encode(), {}});
  const RemovedMessage removed{lie.view, 1, "says a stranger"};
  stranger.send(member.id, Frame{frame_type::kRemoved, removed.encode(), {}});
  group.run(seconds(1));
  EXPECT_EQ(member.state(), MembershipState::kMember);
  EXPECT_EQ(member.view().id, before);
  EXPECT_FALSE(member.removed.has_value());
}

}  // namespace
}  // namespace weft::newcomer_test
