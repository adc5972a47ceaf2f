// Seven peers on sockets train one model, and two of them send their gradients the other way round.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/attack/sign_flip.h"
#include "weft/base/hash.h"
#include "weft/base/log.h"
#include "weft/base/thread.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/peer/ticket.h"
#include "weft/train/event/event_log.h"
#include "weft/train/exchange/swarm_exchange.h"
#include "weft/train/run/run_loop.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"

namespace weft::robust_training_test {
namespace {

constexpr int kPeers = 7;
constexpr int kLiars = 2;
// So that two liars outweigh five others in a mean.
constexpr float kFactor = 4;

Recipe recipe_with(const std::string& rule) {
  Recipe recipe;
  recipe.model.name = "mlp";
  recipe.model.hidden_units = 32;
  recipe.data.name = "synthetic";
  recipe.run.steps = 80;
  recipe.run.global_batch = 20 * kPeers;
  recipe.run.on_not_finite = "go_on";
  recipe.group.discovery = "off";
  recipe.group.hosts = "apart";
  recipe.group.start_members = kPeers;
  recipe.group.start_timeout_s = 60;
  recipe.aggregate.rule = rule;
  recipe.aggregate.liars = rule == "mean" ? 0 : kLiars;
  return recipe;
}

struct Member {
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<GroupExchange> group;
  // What a liar has in between; null where members are honest.
  std::unique_ptr<RoundExchange> lies;
  RunResult result;
};

// Its summary is in `member` when the run is over.
void take_part(Member& member, bool founder) {
  const SystemClock clock;
  auto log = EventLog::open("", clock, {});
  RunLoopOptions options;
  options.started = clock.now();
  options.founder = founder;
  options.stop_asked = [] { return false; };
  RoundExchange& rounds = member.lies ? *member.lies : *member.group;
  member.result =
      RunLoop(*member.trainer, {rounds, *member.group}, **log, nullptr, clock, options).run();
}

SwarmOptions options_of(const Recipe& recipe, const Trainer& trainer) {
  PeerSettings settings;
  settings.listen = "127.0.0.1:0";
  return swarm_options(recipe, trainer.layout(), settings);
}

// The accuracy of the model that all members hold at the end; negative where it went wrong.
double train(const std::string& rule, int liars) {
  const Recipe recipe = recipe_with(rule);
  EXPECT_TRUE(check_recipe(recipe).ok()) << check_recipe(recipe).message();
  const SystemClock clock;
  std::vector<Member> members(kPeers);
  std::string ticket;
  for (int i = 0; i < kPeers; ++i) {
    Member& member = members[static_cast<std::size_t>(i)];
    member.trainer = std::move(Trainer::make(recipe, {}, clock)).value();
    SwarmOptions options = options_of(recipe, *member.trainer);
    if (i == 0) {
      Hash256 nonce{};
      random_bytes(nonce);
      options.membership.run = make_run_id(recipe_hash(recipe), nonce);
      random_bytes(options.membership.invitation_key);
      member.group = make_swarm_exchange(std::move(Swarm::found(std::move(options))).value());
      ticket = member.group->ticket(std::chrono::hours(1)).value();
    } else {
      const Ticket parsed = parse_ticket(ticket).value();
      options.membership.run = parsed.run;
      auto joined = Swarm::join(std::move(options), parsed);
      if (!joined.ok()) {
        ADD_FAILURE() << joined.status().message();
        return -1;
      }
      member.group = make_swarm_exchange(std::move(joined).value());
    }
    if (i >= kPeers - liars) member.lies = make_sign_flip(*member.group, kFactor);
  }
  {
    std::vector<Thread> threads;
    threads.reserve(members.size());
    for (Member& member : members) {
      threads.emplace_back(
          [&member, founder = &member == members.data()] { take_part(member, founder); });
    }
  }
  std::set<std::string> hashes;
  for (const Member& member : members) {
    EXPECT_TRUE(member.result.status.ok()) << member.result.status.message();
    hashes.insert(member.result.summary.state_hash);
  }
  EXPECT_EQ(hashes.size(), 1U) << "one model";
  const double accuracy = members[0].result.summary.test_accuracy.value_or(-1);
  log(LogLevel::kInfo, "{}, {} of {} lie: test accuracy {:.2f} %", rule, liars, kPeers,
      100 * accuracy);
  return accuracy;
}

TEST(RobustTraining, ARuleHoldsAgainstWhatBreaksTheMean) {
  const double clean = train("mean", 0);
  EXPECT_GT(clean, 0.6);
  EXPECT_GT(train("nnm trimmed_mean", 0), clean - 0.02);
  EXPECT_GT(train("nnm trimmed_mean", kLiars), clean - 0.02);
  EXPECT_LT(train("mean", kLiars), clean - 0.2);
}

}  // namespace
}  // namespace weft::robust_training_test
