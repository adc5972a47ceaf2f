// Members over TLS on this machine.
#include "weft/gossip/gossip_member.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/net/event_loop.h"
#include "weft/net/tls_transport.h"
#include "weft/wire/frame_type.h"

namespace weft::gossip_member_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kTestElements = 300'000;  // two pieces

GossipMemberOptions member_options(std::size_t start_members) {
  GossipMemberOptions options;
  options.member.listen = "127.0.0.1:0";
  options.member.run = RunId{5};
  options.gossip.elements = kTestElements;
  options.gossip.start_members = start_members;
  // Keys are drawn: with fewer rings four members might all be in the same one.
  options.gossip.topology = *Topology::parse("random_regular:degree=64", 1);
  options.gossip.deadline = seconds(2);
  options.member.recipe_text = "a recipe";
  options.member.recipe_hash = Hash256{1, 2};
  options.member.layout_hash = Hash256{3};
  return options;
}

// One member with its parameters and the rounds that it took, driven from outside.
class Runner {
 public:
  Runner(GossipMemberOptions options, float value) : values_(options.gossip.elements, value) {
    Result<std::unique_ptr<GossipMember>> started = GossipMember::start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.status().to_string();
    if (started.ok()) member_ = std::move(started).value();
  }
  GossipMember& member() { return *member_; }
  float value() const { return values_[kTestElements / 2]; }
  // Any thread: of the latest round, and how many there were.
  std::size_t last_mixed() const { return last_mixed_; }
  std::size_t rounds() const { return rounds_; }
  void stop() { member_.reset(); }

  // True once it may begin; adopts what was fetched.
  bool wait_idle(Duration limit) {
    const SystemClock clock;
    const TimePoint until = clock.now() + limit;
    while (clock.now() < until) {
      Result<GossipTurn> turn = member_->wait_turn(milliseconds(100));
      if (!turn.ok()) {
        status_ = turn.status();
        return false;
      }
      if (!turn->fetched.empty()) {
        values_ = std::move(turn->fetched);
        fetched_ = true;
      }
      if (turn->phase == GossipPhase::kIdle) return true;
    }
    return false;
  }
  bool take_round() {
    if (!wait_idle(seconds(20))) return false;
    if (!member_->begin(values_).ok()) return false;
    const Result<GossipMix> mix = member_->finish(values_);
    if (!mix.ok()) return false;
    ++rounds_;
    last_mixed_ = mix->mixed;
    return true;
  }
  bool take_rounds(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      if (!take_round()) return false;
    }
    return true;
  }
  bool fetched() const { return fetched_; }
  const Status& status() const { return status_; }

 private:
  std::vector<float> values_;
  std::unique_ptr<GossipMember> member_;
  Atomic<std::size_t> last_mixed_ = 0;
  Atomic<std::size_t> rounds_ = 0;
  bool fetched_ = false;
  Status status_;
};

// Lets members take rounds, each in a thread of its own, until it goes.
class Running {
 public:
  explicit Running(const std::vector<Runner*>& runners) {
    for (Runner* const runner : runners) {
      threads_.emplace_back([this, runner] {
        while (!ended_ && runner->take_round()) {
        }
      });
    }
  }
  ~Running() {
    ended_ = true;
    threads_.clear();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Atomic<bool> ended_ = false;
  std::vector<Thread> threads_;
};

bool all_mix(const std::vector<Runner*>& runners, std::size_t others) {
  const SystemClock clock;
  return poll_until(clock, clock.now() + seconds(30), milliseconds(5), [&] {
    return std::all_of(runners.begin(), runners.end(),
                       [&](Runner* runner) { return runner->last_mixed() == others; });
  });
}

TEST(GossipMember, ThreeMeetByATicketAndAFourthComesLate) {
  Runner founder(member_options(3), 1);
  const Result<Ticket> ticket = founder.member().ticket(std::chrono::hours(1));
  ASSERT_TRUE(ticket.ok());
  GossipMemberOptions joining = member_options(3);
  joining.member.ticket = *ticket;
  Runner second(joining, 2);
  joining.member.identity = PeerIdentity::generate();
  Runner third(joining, 6);
  {
    const Running running({&founder, &second, &third});
    EXPECT_TRUE(all_mix({&founder, &second, &third}, 2));
  }
  EXPECT_FALSE(second.fetched());
  EXPECT_GT(founder.rounds(), 0U);

  // The ticket of a member that was let in is as good.
  const Result<Ticket> theirs = third.member().ticket(std::chrono::hours(1));
  ASSERT_TRUE(theirs.ok());
  joining.member.ticket = *theirs;
  joining.member.identity = PeerIdentity::generate();
  Runner late(joining, -100);
  ASSERT_TRUE(late.wait_idle(seconds(20)));
  EXPECT_TRUE(late.fetched());
  EXPECT_GE(late.value(), 1.0F);
  {
    const Running running({&founder, &second, &third, &late});
    EXPECT_TRUE(all_mix({&founder, &second, &third, &late}, 3));
  }
  EXPECT_EQ(founder.member().status()->others.size(), 3U);
  // Nobody began outside of these, so no mean may lie there.
  for (Runner* one : {&founder, &second, &third, &late}) {
    EXPECT_GE(one->value(), 1.0F);
    EXPECT_LE(one->value(), 6.0F);
  }

  // The founder is no special one.
  founder.stop();
  const Running running({&second, &third, &late});
  EXPECT_TRUE(all_mix({&second, &third, &late}, 2));
}

TEST(GossipMember, AForgedTicketIsRefusedWithItsReason) {
  Runner founder(member_options(1), 1);
  const Result<Ticket> ticket = founder.member().ticket(std::chrono::hours(1));
  ASSERT_TRUE(ticket.ok());
  GossipMemberOptions joining = member_options(1);
  joining.member.ticket = *ticket;
  joining.member.ticket->secret[0] ^= 1U;
  Runner stranger(joining, 2);
  EXPECT_FALSE(stranger.wait_idle(seconds(20)));
  EXPECT_EQ(stranger.status().code(), Code::kInvalidArgument);
  EXPECT_NE(stranger.status().message().find("ticket"), std::string::npos);
  EXPECT_TRUE(founder.member().status()->others.empty());
  EXPECT_TRUE(founder.take_rounds(3));
}

TEST(GossipMember, ANewcomerGivesUpWhereNobodyAnswers) {
  Ticket ticket;
  {
    Runner founder(member_options(1), 1);
    ticket = *founder.member().ticket(std::chrono::hours(1));
  }
  GossipMemberOptions joining = member_options(1);
  joining.member.ticket = ticket;
  joining.member.join_timeout = seconds(1);
  Runner lonely(joining, 2);
  EXPECT_FALSE(lonely.wait_idle(seconds(20)));
  EXPECT_EQ(lonely.status().code(), Code::kUnavailable);
  EXPECT_NE(lonely.status().message().find("newer ticket"), std::string::npos);
}

// A stranger with a link of its own, that says what it likes.
class Stranger final : public TransportHandler {
 public:
  explicit Stranger(const PeerAddress& member) {
    Result<ListenOptions> listen = parse_listen("127.0.0.1:0");
    transport_ = std::move(make_tls_transport(loop_, identity_, *listen)).value();
    transport_->set_handler(*this);
    transport_->connect(member);
    member_ = member.id;
  }
  bool linked_within(Duration limit) {
    return loop_.run_until([&] { return up_; }, limit);
  }
  bool ended_within(Duration limit) {
    return loop_.run_until([&] { return down_; }, limit);
  }
  void say(std::uint8_t type, Bytes head) {
    static_cast<void>(transport_->send(member_, Lane::kControl, {type, std::move(head), {}}));
  }
  void on_link_up(const LinkInfo& /*link*/) override { up_ = true; }
  void on_link_down(const PeerId& /*peer*/, const Status& /*why*/) override { down_ = true; }
  void on_frame(const PeerId& /*from*/, Lane /*lane*/, const FrameView& frame) override {
    heard_.push_back(frame.type);
  }
  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}
  const std::vector<std::uint8_t>& heard() const { return heard_; }

 private:
  EventLoop loop_;
  PeerIdentity identity_ = PeerIdentity::generate();
  std::unique_ptr<Transport> transport_;
  PeerId member_;
  bool up_ = false;
  bool down_ = false;
  std::vector<std::uint8_t> heard_;
};

TEST(GossipMember, AStrangerWithoutAProofReachesNothing) {
  Runner founder(member_options(1), 1);
  const Result<Ticket> ticket = founder.member().ticket(std::chrono::hours(1));
  ASSERT_TRUE(ticket.ok());
  const std::vector<std::pair<std::uint8_t, Bytes>> words = {
      {frame_type::kGossipParametersRequest, GossipParametersRequestMessage{1}.encode()},
      {frame_type::kGossipBook, GossipBookMessage{}.encode()},
      {frame_type::kMemberProof, Bytes(32, 7)},
      {frame_type::kGossipWelcome, Bytes(32, 0)},
      {frame_type::kJoinRequest, Bytes(5, 7)},
  };
  for (const auto& [type, head] : words) {
    Stranger stranger(ticket->members[0]);
    ASSERT_TRUE(stranger.linked_within(seconds(10)));
    stranger.say(type, head);
    // A welcome alone proves nothing and is no fault: a request afterwards is.
    if (type == frame_type::kGossipWelcome) stranger.say(words[0].first, words[0].second);
    EXPECT_TRUE(stranger.ended_within(seconds(10))) << static_cast<int>(type);
    // What the member shows of itself, and no more.
    for (const std::uint8_t heard : stranger.heard()) {
      EXPECT_EQ(heard, frame_type::kMemberProof) << static_cast<int>(type);
    }
  }
  EXPECT_TRUE(founder.take_rounds(3));
  EXPECT_TRUE(founder.member().status()->others.empty());
}

}  // namespace
}  // namespace weft::gossip_member_test
