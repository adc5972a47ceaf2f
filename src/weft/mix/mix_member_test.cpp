// Members over TLS on this machine.
#include "weft/mix/mix_member.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/mix/mix_method.h"

namespace weft::mix_member_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::size_t kMixElements = 300'000;  // two pieces

MixMemberOptions mix_options(const std::string& method, std::uint32_t members) {
  MixMemberOptions options;
  options.member.listen = "127.0.0.1:0";
  options.member.run = RunId{5};
  options.member.recipe_text = "a recipe";
  options.member.recipe_hash = Hash256{1, 2};
  options.member.layout_hash = Hash256{3};
  options.core.members = members;
  options.core.versions = 5;
  options.core.tensors = {{0, kMixElements, true}};
  options.method = std::make_shared<const MixMethod>(*MixMethod::parse({.method = method}));
  return options;
}

// A member whose work moves its model by its number, in a thread of its own, to the end.
class Training {
 public:
  explicit Training(MixMemberOptions options) {
    auto started = MixMember::start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.status().to_string();
    member_ = std::move(started).value();
  }
  MixMember& member() { return *member_; }
  void begin() {
    thread_ = Thread([this] { train(); });
  }
  void wait() { thread_.join(); }
  // After wait().
  const MixVector& result() const { return result_; }
  const Status& status() const { return status_; }
  std::uint32_t number() const { return number_; }

 private:
  void train() {
    const SystemClock clock;
    const TimePoint until = clock.now() + seconds(60);
    while (clock.now() < until && result_ == nullptr && status_.ok()) {
      const Result<MixTurn> turn = member_->wait_turn(milliseconds(100));
      status_ = turn.status();
      if (!turn.ok()) return;
      number_ = turn->self;
      result_ = turn->result;
      if (turn->phase == MixPhase::kNumbered) {
        member_->begin(std::make_shared<const std::vector<float>>(kMixElements, 0.0F));
      } else if (turn->work) {
        std::vector<float> model = *turn->work->model;
        for (float& value : model) value += static_cast<float>(1 + number_);
        member_->worked(turn->work->id,
                        std::make_shared<const std::vector<float>>(std::move(model)), {1, 1, 1, 1});
      }
    }
    static_cast<void>(member_->leave(seconds(5)));
  }

  std::unique_ptr<MixMember> member_;
  MixVector result_;
  Status status_;
  std::uint32_t number_ = 0;
  Thread thread_;
};

TEST(MixMember, MembersAreNumberedAndTrainToTheEnd) {
  for (const char* const method : {"fedavg", "local_sgd"}) {
    Training founder(mix_options(method, 3));
    const Result<Ticket> ticket = founder.member().ticket(std::chrono::hours(1));
    ASSERT_TRUE(ticket.ok()) << ticket.status().to_string();
    MixMemberOptions joining = mix_options(method, 3);
    joining.member.ticket = *ticket;
    Training second(joining);
    joining.member.identity = PeerIdentity::generate();
    Training third(joining);
    for (Training* const each : {&founder, &second, &third}) each->begin();
    for (Training* const each : {&founder, &second, &third}) each->wait();
    EXPECT_EQ(founder.number(), 0U);
    EXPECT_EQ(second.number() + third.number(), 3U);
    EXPECT_EQ(second.number() < third.number(), second.member().self() < third.member().self());
    for (Training* const each : {&founder, &second, &third}) {
      ASSERT_NE(each->result(), nullptr) << method << ": " << each->status().to_string();
      // Five versions, each the mean of 1, 2 and 3 further.
      EXPECT_NEAR(each->result()->back(), 10, 1e-4) << method;
      EXPECT_EQ(*each->result(), *founder.result()) << method;
    }
  }
}

TEST(MixMember, WhoComesLateIsRefusedForGood) {
  Training founder(mix_options("fedavg", 1));
  const Result<Ticket> ticket = founder.member().ticket(std::chrono::hours(1));
  ASSERT_TRUE(ticket.ok());
  MixMemberOptions joining = mix_options("fedavg", 1);
  joining.member.ticket = *ticket;
  Training late(joining);
  EXPECT_FALSE(late.member().ticket(std::chrono::hours(1)).ok());
  late.begin();
  late.wait();
  EXPECT_EQ(late.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(late.status().message(), HasSubstr("the run has begun with its 1 member,"));
}

TEST(MixMember, AFounderGivesUpWhereTooFewCome) {
  MixMemberOptions options = mix_options("dpsgd", 3);
  options.start_timeout = milliseconds(200);
  Training founder(options);
  founder.begin();
  founder.wait();
  EXPECT_EQ(founder.status().code(), Code::kTimeout);
  EXPECT_THAT(founder.status().message(), HasSubstr("expected 3 members"));
}

TEST(MixMember, AFounderWaitsAnewForThoseThatComeAfterAMember) {
  MixMemberOptions options = mix_options("fedavg", 3);
  options.start_timeout = seconds(6);
  Training founder(options);
  const Result<Ticket> ticket = founder.member().ticket(std::chrono::hours(1));
  ASSERT_TRUE(ticket.ok()) << ticket.status().to_string();
  MixMemberOptions joining = options;
  joining.member.identity = PeerIdentity::generate();
  joining.member.ticket = *ticket;
  const auto still_gathers = [&](Duration limit) {
    const Result<MixTurn> turn = founder.member().wait_turn(limit);
    return turn.ok() && turn->phase == MixPhase::kGathering;
  };
  EXPECT_TRUE(still_gathers(seconds(4)));
  Training second(joining);
  EXPECT_TRUE(still_gathers(seconds(3)));  // 7 s since it began
  joining.member.identity = PeerIdentity::generate();
  Training third(joining);
  for (Training* const each : {&founder, &second, &third}) each->begin();
  for (Training* const each : {&founder, &second, &third}) each->wait();
  for (Training* const each : {&founder, &second, &third}) {
    ASSERT_NE(each->result(), nullptr) << each->status().to_string();
    EXPECT_EQ(*each->result(), *founder.result());
  }
}

}  // namespace
}  // namespace weft::mix_member_test
