// The end of a run as members tell it and newcomers hear it.
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"
#include "weft/wire/end_message.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/join_message.h"

namespace weft::membership_end_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr Round kLast(40);

// Asks for the recipe as soon as it has a link.
class RecipeAsker final : public TransportHandler {
 public:
  RecipeAsker(SimNetwork& network, const PeerId& self, const Ticket& by)
      : id(self), ticket(by), transport(network.start(self)) {
    transport.set_handler(*this);
  }
  void on_link_up(const LinkInfo& link) override {
    const RecipeRequestMessage request{
        make_proof(ticket, ProofPurpose::kRecipe, {id, link.peer, link.exporter})};
    EXPECT_TRUE(
        transport
            .send(link.peer, Lane::kControl, {frame_type::kRecipeRequest, request.encode(), {}})
            .ok());
  }
  void on_link_down(const PeerId& /*peer*/, const Status& /*why*/) override {}
  void on_frame(const PeerId& /*from*/, Lane /*lane*/, const FrameView& frame) override {
    answered = answered || frame.type == frame_type::kRecipe;
  }
  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}

  PeerId id;
  Ticket ticket;
  SimTransport& transport;
  bool answered = false;
};

class MembershipEnd : public testing::Test {
 protected:
  TestPeer& add(std::uint32_t number, void (*change)(MembershipOptions&) = nullptr) {
    MembershipOptions options = test_membership(test_peer_id(number));
    if (change != nullptr) change(options);
    return *peers_.emplace_back(std::make_unique<TestPeer>(net_, options));
  }
  // A view of `count`.
  void form(std::uint32_t count) {
    add(0).found();
    for (std::uint32_t i = 1; i < count; ++i) {
      add(i).join(peers_[0]->ticket());
      run(seconds(1));
    }
    ASSERT_EQ(peers_[0]->view().size(), static_cast<int>(count));
  }
  void run(Duration time) { net_.run_until(net_.now() + time); }
  void end_at(std::size_t peer, Duration serves) {
    peers_[peer]->membership->run_over(kLast, net_.now() + serves, net_.now());
  }
  void stop_at(std::size_t peer) { peers_[peer]->membership->stop_serving(net_.now()); }
  bool awaits(std::size_t peer) { return peers_[peer]->membership->awaits_newcomers(net_.now()); }

  SimNetwork net_{SimNetworkOptions{}};
  std::vector<std::unique_ptr<TestPeer>> peers_;
};

TEST_F(MembershipEnd, ANewcomerIsLetInToTakeTheStateButNotAdmitted) {
  form(2);
  end_at(0, seconds(8));
  end_at(1, seconds(8));
  TestPeer& late = add(9);
  late.join(peers_[0]->ticket());
  run(seconds(3));
  EXPECT_EQ(late.state(), MembershipState::kSyncing);
  EXPECT_EQ(late.run_over, kLast);
  EXPECT_EQ(peers_[0]->view().size(), 2);
  EXPECT_FALSE(late.join_failed.has_value());
  stop_at(0);
  run(milliseconds(100));
  EXPECT_FALSE(late.join_failed.has_value()) << "the other one still gives the state";
  stop_at(1);
  run(milliseconds(100));
  ASSERT_TRUE(late.join_failed.has_value());
  EXPECT_THAT(late.join_failed->message(), HasSubstr("has ended"));
}

TEST_F(MembershipEnd, WhoAsksAMemberThatServesNoMoreIsTold) {
  form(1);
  end_at(0, seconds(8));
  stop_at(0);
  TestPeer& late = add(9);
  late.join(peers_[0]->ticket());
  run(milliseconds(200));
  ASSERT_TRUE(late.join_failed.has_value());
  EXPECT_THAT(late.join_failed->message(), HasSubstr("has ended"));
}

TEST_F(MembershipEnd, WhoWaitsItsTurnIsAwaitedAndLetInAtTheEnd) {
  form(1);
  for (const std::uint32_t number : {5U, 6U, 7U}) {
    TestPeer& joiner = add(number);
    joiner.hold_sync = true;
    joiner.join(peers_[0]->ticket());
    run(seconds(1));
  }
  EXPECT_EQ(peers_.back()->state(), MembershipState::kJoining) << "two at a time";
  EXPECT_TRUE(awaits(0));
  end_at(0, seconds(8));
  run(seconds(1));
  EXPECT_EQ(peers_.back()->state(), MembershipState::kSyncing);
  EXPECT_FALSE(awaits(0));
}

TEST_F(MembershipEnd, WhoHasAskedForTheRecipeIsAwaitedForAWhile) {
  form(1);
  EXPECT_FALSE(awaits(0));
  RecipeAsker asker(net_, test_peer_id(9), peers_[0]->ticket());
  asker.transport.connect({peers_[0]->id, {net_.endpoint(peers_[0]->id)}});
  run(milliseconds(100));
  EXPECT_TRUE(asker.answered);
  EXPECT_TRUE(awaits(0));
  run(seconds(11));
  EXPECT_FALSE(awaits(0));
}

TEST_F(MembershipEnd, ADeadMemberEndsNothingOnceTheRunIsOver) {
  form(3);
  for (std::size_t i = 0; i < 3; ++i) end_at(i, seconds(8));
  const std::size_t views = peers_[0]->views.size();
  net_.crash(peers_[1]->id, SimCrash::kKilled);
  net_.crash(peers_[2]->id, SimCrash::kKilled);
  run(seconds(20));
  EXPECT_EQ(peers_[0]->views.size(), views);
  EXPECT_FALSE(peers_[0]->isolated.has_value());
}

TEST_F(MembershipEnd, ANewcomerWhoseMembersAreKilledLearnsThatNobodyListens) {
  form(1);
  TestPeer& late = add(9);
  late.hold_sync = true;
  late.join(peers_[0]->ticket());
  run(seconds(1));
  ASSERT_EQ(late.state(), MembershipState::kSyncing);
  net_.crash(peers_[0]->id, SimCrash::kKilled);
  run(seconds(7));
  ASSERT_TRUE(late.join_failed.has_value());
  EXPECT_THAT(late.join_failed->message(), HasSubstr("gone"));
}

TEST_F(MembershipEnd, ANewcomerWhoseMembersVanishAfterTheEndDoesNotWaitForThem) {
  form(1);
  TestPeer& late = add(9);
  late.join(peers_[0]->ticket());
  late.hold_sync = true;
  end_at(0, seconds(8));
  run(seconds(1));
  ASSERT_EQ(late.run_over, kLast);
  net_.crash(peers_[0]->id, SimCrash::kPowerLoss);
  run(seconds(9));
  ASSERT_TRUE(late.join_failed.has_value());
  EXPECT_THAT(late.join_failed->message(), HasSubstr("has ended"));
}

TEST_F(MembershipEnd, AStrangerSaysNothingOfTheEnd) {
  form(2);
  TestPeer& late = add(9);
  late.hold_sync = true;
  late.join(peers_[0]->ticket());
  run(seconds(1));
  TestPeer& stranger = add(11);
  stranger.transport.connect({late.id, {net_.endpoint(late.id)}});
  run(milliseconds(100));
  stranger.send(late.id, {frame_type::kRunOver, RunOverMessage{Round(3), 0}.encode(), {}});
  run(seconds(1));
  EXPECT_FALSE(late.run_over.has_value());
  EXPECT_FALSE(late.join_failed.has_value());
}

}  // namespace
}  // namespace weft::membership_end_test
