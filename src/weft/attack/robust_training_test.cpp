// Seven peers on sockets train one model, and two of them lie: they send their gradients the other
// way round, or falsify what they make of the others'. Prints a table: setting, accuracy, cost.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/attack/lying_member.h"
#include "weft/attack/lying_owner.h"
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
constexpr std::string_view kLie = "sign_flip:scale=4";
constexpr int kSteps = 80;
constexpr Round kFalsifiesFrom = Round(20);

struct Setting {
  std::string rule;
  // The last members send false gradients.
  int sign_flippers = 0;
  // The one before them lies about the chunk that it owns.
  std::optional<OwnerLie> owner_lie = std::nullopt;
  int verifiers = 1;
};

Recipe recipe_with(const Setting& setting) {
  const std::string& rule = setting.rule;
  Recipe recipe;
  recipe.model.name = "mlp";
  recipe.model.hidden_units = 32;
  recipe.data.name = "synthetic";
  recipe.run.steps = kSteps;
  recipe.run.global_batch = 20 * kPeers;
  recipe.run.on_not_finite = "go_on";
  recipe.group.discovery = "off";
  recipe.group.hosts = "apart";
  recipe.group.start_members = kPeers;
  recipe.group.start_timeout_s = 60;
  recipe.aggregate.rule = rule;
  recipe.aggregate.liars = rule == "mean" ? 0 : kLiars;
  recipe.aggregate.verifiers = setting.verifiers;
  return recipe;
}

struct Member {
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<GroupExchange> group;
  // What a liar has in between; null where members are honest.
  std::unique_ptr<RoundExchange> lies;
  RunResult result;
  // What its log says of members that were expelled.
  std::vector<std::string> expelled;
};

// Its summary is in `member` when the run is over.
void take_part(Member& member, bool founder) {
  const SystemClock clock;
  auto log = EventLog::open("", clock, [&member](const Event& event) {
    if (event.text("reason").find("accuse it") == std::string::npos) return;
    if (event.kind == "peer_left") member.expelled.push_back(describe(event));
  });
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

struct Outcome {
  // The test accuracy of the model that all honest members hold; negative where it went wrong.
  double accuracy = -1;
  // What the first member's log says of members that were expelled.
  std::vector<std::string> expelled;
  // What the first member needed for each step.
  double megabytes_sent = 0;
  double milliseconds = 0;
};

Outcome train(const Setting& setting) {
  const Recipe recipe = recipe_with(setting);
  EXPECT_TRUE(check_recipe(recipe).ok()) << check_recipe(recipe).message();
  const int falsifier = setting.owner_lie ? kPeers - setting.sign_flippers - 1 : -1;
  const SystemClock clock;
  std::vector<Member> members(kPeers);
  std::string ticket;
  for (int i = 0; i < kPeers; ++i) {
    Member& member = members[static_cast<std::size_t>(i)];
    member.trainer = std::move(Trainer::make(recipe, {}, clock)).value();
    SwarmOptions options = options_of(recipe, *member.trainer);
    if (i == falsifier) options.make_core = make_lying_owner({*setting.owner_lie, kFalsifiesFrom});
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
        return {};
      }
      member.group = make_swarm_exchange(std::move(joined).value());
    }
    if (i >= kPeers - setting.sign_flippers) {
      member.lies = make_lying_member(*member.group, *Attack::parse(kLie));
    }
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
  for (int i = 0; i < kPeers; ++i) {
    const Member& member = members[static_cast<std::size_t>(i)];
    if (i == falsifier) {
      EXPECT_FALSE(member.result.status.ok()) << "it is out before the end";
      continue;
    }
    EXPECT_TRUE(member.result.status.ok()) << member.result.status.message();
    EXPECT_THAT(member.expelled, testing::SizeIs(setting.owner_lie ? 1 : 0));
    hashes.insert(member.result.summary.state_hash);
  }
  EXPECT_EQ(hashes.size(), 1U) << "one model";
  const Summary& summary = members[0].result.summary;
  return {summary.test_accuracy.value_or(-1), members[0].expelled,
          static_cast<double>(summary.bytes_sent) / 1e6 / kSteps, summary.seconds * 1e3 / kSteps};
}

// Prints a line of the table as well.
Outcome told(const std::string& name, const Setting& setting) {
  Outcome outcome = train(setting);
  write_error(fmt::format("| {} | {} | {} | {:.2f} % | {:.3f} | {:.1f} |\n", setting.rule,
                          setting.verifiers, name, 100 * outcome.accuracy, outcome.megabytes_sent,
                          outcome.milliseconds));
  for (const std::string& text : outcome.expelled) write_error("    " + text + "\n");
  return outcome;
}

TEST(RobustTraining, ARuleHoldsAgainstWhatBreaksTheMean) {
  write_error("| rule | verifiers | members | test accuracy | MB/step | ms/step |\n");
  const std::string rule = "nnm trimmed_mean";
  const double clean = told("honest", {"mean"}).accuracy;
  EXPECT_GT(clean, 0.6);
  EXPECT_GT(told("honest", {rule, 0, {}, 0}).accuracy, clean - 0.02);
  EXPECT_GT(told("honest", {rule}).accuracy, clean - 0.02);
  EXPECT_GT(told("send gradients times -4", {rule, kLiars}).accuracy, clean - 0.02);
  EXPECT_LT(told("send gradients times -4", {"mean", kLiars}).accuracy, clean - 0.2);
}

TEST(RobustTraining, AnOwnerThatFalsifiesItsChunkIsExpelledWithItsReason) {
  const std::string rule = "nnm trimmed_mean";
  const double clean = told("honest", {"mean"}).accuracy;
  for (const OwnerLie lie : {OwnerLie::kAddsConstant, OwnerLie::kFlipsBit}) {
    const std::string name = lie == OwnerLie::kAddsConstant ? "adds 1000" : "flips a bit";
    const Outcome outcome = told("one gradients times -4, one " + name, {rule, kLiars - 1, lie});
    EXPECT_GT(outcome.accuracy, clean - 0.02);
    EXPECT_THAT(outcome.expelled,
                testing::ElementsAre(testing::HasSubstr("falsified its chunk of round 20")));
  }
}

}  // namespace
}  // namespace weft::robust_training_test
