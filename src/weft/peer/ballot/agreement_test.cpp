#include "weft/peer/agreement.h"

#include <algorithm>
#include <deque>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/peer/test_peer.h"

namespace weft::agreement_test {
namespace {

View view_of(int size, std::uint64_t base = 0) {
  View view;
  view.id.number = ViewNumber(4);
  view.base_round = Round(base);
  for (int i = 0; i < size; ++i) {
    view.members.push_back({test_peer_id(static_cast<std::uint32_t>(i)), 1, {}});
  }
  return view;
}

RoundStatus done(std::uint64_t round) { return {Round(round), {}}; }

// A value that can be told from others by its members.
ViewValue value_of(const View& view, std::size_t members) {
  ViewValue value;
  value.members.assign(view.members.begin(),
                       view.members.begin() + static_cast<std::ptrdiff_t>(members));
  return value;
}

PromiseMessage promised(Agreement& by, const PrepareMessage& message, std::uint64_t round = 0) {
  return std::get<PromiseMessage>(by.on_prepare(message, done(round)));
}

class AgreementTest : public ::testing::Test {
 protected:
  void start(int size, std::uint64_t base = 0) {
    view = view_of(size, base);
    for (const Member& member : view.members) voters.emplace_back(view, member.id);
  }
  const PeerId& id(std::size_t i) const { return view.members[i].id; }

  View view;
  std::deque<Agreement> voters;
};

TEST_F(AgreementTest, QuorumDecides) {
  start(3);
  const PrepareMessage prepare = voters[0].start(2);
  EXPECT_FALSE(voters[0].on_promise(id(0), promised(voters[0], prepare)));
  EXPECT_TRUE(voters[0].on_promise(id(1), promised(voters[1], prepare)));
  const AcceptMessage accept = voters[0].propose(value_of(view, 2));
  EXPECT_FALSE(
      voters[0].on_accepted(id(0), std::get<AcceptedMessage>(voters[0].on_accept(accept))));
  const auto second = std::get<AcceptedMessage>(voters[1].on_accept(accept));
  EXPECT_TRUE(voters[0].on_accepted(id(1), second));
  EXPECT_FALSE(voters[0].on_accepted(id(1), second));
  EXPECT_EQ(voters[0].decided()->members.size(), 2U);
}

TEST_F(AgreementTest, BaseIsTheLeastDoneAndNeverBelowTheView) {
  start(3, 10);
  PrepareMessage prepare = voters[0].start(2);
  voters[0].on_promise(id(0), promised(voters[0], prepare, 13));
  voters[0].on_promise(id(1), promised(voters[1], prepare, 12));
  EXPECT_EQ(voters[0].propose(value_of(view, 2)).value.base_round, Round(12));
  prepare = voters[2].start(2);
  prepare = voters[2].start(2);
  voters[2].on_promise(id(2), promised(voters[2], prepare, 13));
  voters[2].on_promise(id(0), promised(voters[0], prepare, 3));
  EXPECT_EQ(voters[2].propose(value_of(view, 2)).value.base_round, Round(10));
}

TEST_F(AgreementTest, LaterProposerFinishesWhatMayHaveBeenDecided) {
  start(3);
  const PrepareMessage first = voters[0].start(2);
  voters[0].on_promise(id(0), promised(voters[0], first, 5));
  voters[0].on_promise(id(1), promised(voters[1], first, 5));
  const AcceptMessage accept = voters[0].propose(value_of(view, 2));
  (void)voters[1].on_accept(accept);
  // Voter 0 dies here; its value has one acceptance, or two.
  (void)voters[2].start(2);
  const PrepareMessage second = voters[2].start(2);
  voters[2].on_promise(id(2), promised(voters[2], second, 9));
  ASSERT_TRUE(voters[2].on_promise(id(1), promised(voters[1], second, 9)));
  EXPECT_EQ(voters[2].propose(value_of(view, 3)).value, accept.value);
}

TEST_F(AgreementTest, OldBallotsAreRejectedAndTheirProposerStartsAbove) {
  start(3);
  const PrepareMessage low = voters[0].start(2);
  (void)voters[1].start(2);
  const PrepareMessage high = voters[1].start(2);
  (void)voters[2].on_prepare(high, done(0));
  const auto answer = voters[2].on_prepare(low, done(0));
  const auto& rejected = std::get<RejectedMessage>(answer);
  EXPECT_EQ(rejected.promised, high.ballot);
  EXPECT_TRUE(voters[0].on_rejected(rejected));
  EXPECT_FALSE(voters[0].proposing());
  EXPECT_FALSE(voters[0].on_rejected(rejected));
  EXPECT_GT(voters[0].start(2).ballot, high.ballot);
}

TEST_F(AgreementTest, StrangersAndOtherBallotsDoNotCount) {
  start(3);
  const PrepareMessage prepare = voters[0].start(2);
  voters[0].on_promise(id(0), promised(voters[0], prepare));
  PromiseMessage promise = promised(voters[1], prepare);
  EXPECT_FALSE(voters[0].on_promise(test_peer_id(77), promise));
  promise.ballot.counter += 1;
  EXPECT_FALSE(voters[0].on_promise(id(1), promise));
}

TEST_F(AgreementTest, RepeatedPromiseCountsOnce) {
  start(5);
  const PrepareMessage prepare = voters[0].start(3);
  const PromiseMessage promise = promised(voters[1], prepare);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(voters[0].on_promise(id(1), promise));
}

TEST_F(AgreementTest, HighestCounterDoesNotWrap) {
  start(3);
  PrepareMessage hostile;
  hostile.view = view.id;
  hostile.ballot = {UINT64_MAX, PeerId()};
  (void)voters[0].on_prepare(hostile, done(0));
  EXPECT_EQ(voters[0].start(2).ballot.counter, UINT64_MAX);
}

// Messages of several proposers in random order, doubled and lost at random: whatever happens, two
// different values are never decided.
TEST(Agreement, DuelsNeverDecideTwice) {
  int decisions = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed);
    const int size = 2 + static_cast<int>(rng.below(6));
    const View view = view_of(size);
    std::deque<Agreement> voters;
    for (const Member& member : view.members) voters.emplace_back(view, member.id);
    struct Mail {
      std::size_t from, to;
      std::variant<PrepareMessage, PromiseMessage, AcceptMessage, AcceptedMessage, RejectedMessage>
          message;
    };
    std::vector<Mail> mail;
    const auto to_all = [&](std::size_t from, const auto& message) {
      for (std::size_t to = 0; to < voters.size(); ++to) mail.push_back({from, to, message});
    };
    std::vector<ViewValue> decided;
    for (int step = 0; step < 400; ++step) {
      if (mail.empty() || rng.chance(0.03)) {
        const auto proposer = static_cast<std::size_t>(rng.below(voters.size()));
        to_all(proposer, voters[proposer].start(view.quorum()));
        continue;
      }
      const auto pick = static_cast<std::size_t>(rng.below(mail.size()));
      const Mail one = mail[pick];
      if (!rng.chance(0.1)) mail.erase(mail.begin() + static_cast<std::ptrdiff_t>(pick));
      if (rng.chance(0.1)) continue;
      Agreement& voter = voters[one.to];
      const PeerId from = view.members[one.from].id;
      if (const auto* prepare = std::get_if<PrepareMessage>(&one.message)) {
        std::visit(
            [&](const auto& m) {
              mail.push_back({one.to, one.from, m});
            },
            voter.on_prepare(*prepare, done(0)));
      } else if (const auto* promise = std::get_if<PromiseMessage>(&one.message)) {
        if (voter.on_promise(from, *promise)) {
          ViewValue fresh = value_of(
              view, 1 + static_cast<std::size_t>(rng.below(static_cast<std::uint64_t>(size))));
          fresh.departures.push_back({view.members[one.to].id, seed, DepartureCause::kLeft, ""});
          to_all(one.to, voter.propose(fresh));
        }
      } else if (const auto* accept = std::get_if<AcceptMessage>(&one.message)) {
        std::visit(
            [&](const auto& m) {
              mail.push_back({one.to, one.from, m});
            },
            voter.on_accept(*accept));
      } else if (const auto* accepted = std::get_if<AcceptedMessage>(&one.message)) {
        if (voter.on_accepted(from, *accepted)) decided.push_back(*voter.decided());
      } else if (const auto* rejected = std::get_if<RejectedMessage>(&one.message)) {
        (void)voter.on_rejected(*rejected);
      }
    }
    decisions += static_cast<int>(decided.size());
    for (const ViewValue& value : decided) ASSERT_EQ(value, decided.front()) << "seed " << seed;
  }
  EXPECT_GT(decisions, 1000);
}

}  // namespace
}  // namespace weft::agreement_test
