// A default that a recipe's key and an option of the library both have is the same in both, or
// stands in a list here with the reason why not.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include <gtest/gtest.h>

#include "weft/collective/swarm/member_options.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/data/text_file.h"
#include "weft/gossip/gossip_core.h"
#include "weft/nn/zoo.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/local_step.h"
#include "weft/train/step/member_part.h"

namespace weft::recipe_defaults_test {
namespace {

// A number, a truth value as 0 or 1, or a word.
using Value = std::variant<double, std::string>;

Value of_recipe(const RecipeKey& key) {
  Recipe recipe;
  return std::visit(
      [](auto* slot) -> Value {
        using Kind = std::remove_pointer_t<decltype(slot)>;
        if constexpr (std::is_same_v<Kind, std::string>) {
          return *slot;
        } else {
          return static_cast<double>(*slot);
        }
      },
      key.slot(recipe));
}

double number(std::integral auto value) { return static_cast<double>(value); }
double ms(Duration duration) { return 1e3 * to_seconds(duration); }

using Values = std::map<std::string_view, Value>;

void add_group(Values& all) {
  const SwarmOptions swarm;
  const MembershipOptions& membership = swarm.membership;
  const PartOptions part;
  all.insert({
      {"group.bucket_bytes", number(swarm.bucket_bytes)},
      {"group.compute_timeout_s", to_seconds(swarm.compute_timeout)},
      {"group.deadline_factor", part.deadline_factor},
      {"group.deadline_ms", ms(part.deadline)},
      {"group.heartbeat_interval_ms", ms(membership.heartbeat_interval)},
      {"group.hosts", swarm.by_host ? "together" : "apart"},
      {"group.invite", membership.invite == InviteMode::kTicket ? "ticket" : "another"},
      {"group.join_stall_s", to_seconds(membership.join_stall_timeout)},
      {"group.joins_at_once", number(membership.joins_at_once)},
      {"group.late", part.gate.text()},
      {"group.linger_s", to_seconds(swarm.linger)},
      {"group.lone_survivor", number(membership.lone_survivor)},
      {"group.merge_timeout_s", to_seconds(membership.merge_timeout)},
      {"group.mesh_members", number(swarm.mesh_members)},
      {"group.on_split", membership.on_split == SplitPolicy::kPause ? "pause" : "merge"},
      {"group.quorum_timeout_s", to_seconds(membership.quorum_timeout)},
      {"group.result_log_bytes", number(swarm.result_log_bytes_max)},
      {"group.ring", swarm.measured_ring ? "measured" : "fixed"},
      {"group.segment_bytes", number(swarm.segment_bytes)},
      {"group.shares", part.by_speed ? "speed" : "equal"},
      {"group.split_after_s", to_seconds(membership.split_after)},
      {"group.staleness_max", number(part.staleness_max)},
      {"group.start_members", number(swarm.start_members)},
      {"group.start_timeout_s", to_seconds(swarm.start_timeout)},
      {"group.suspicion_timeout_ms", ms(membership.suspicion_timeout)},
      {"group.unreached_timeout_s", to_seconds(membership.unreached_timeout)},
      {"group.wait", part.waits ? "all" : "deadline"},
      {"group.wire", std::string(to_string(swarm.wire))},
  });
}

void add_gossip(Values& all) {
  const GossipOptions gossip;
  all.insert({
      {"gossip.deadline_ms", ms(gossip.deadline)},
      {"gossip.degree", number(gossip.topology.degree_max(64))},
      {"gossip.expiry_rounds", number(gossip.book.expiry_rounds)},
      {"gossip.topology", gossip.topology.text()},
      {"gossip.weights", gossip.weight_degree == 0 ? "metropolis" : "uniform"},
  });
}

void add_learning(Values& all) {
  const OptimizerOptions optimizer;
  const ScheduleOptions schedule;
  const ModelOptions model;
  const LocalOptions local;
  all.insert({
      {"data.context", number(TextOptions().context)},
      {"data.tokenizer", TextOptions().tokenizer},
      {"local.outer", local.outer.nesterov ? "nesterov" : "plain"},
      {"local.outer_momentum", local.outer.momentum},
      {"local.outer_rate", local.outer.rate},
      {"local.overlap", number(local.overlap)},
      {"local.steps", number(local.steps)},
      {"model.checkpoint_blocks", number(model.checkpoint_blocks)},
      {"model.dropout", number(model.dropout)},
      {"model.embedding_width", number(model.embedding_width)},
      {"model.heads", number(model.heads)},
      {"model.hidden_units", number(model.hidden_units)},
      {"model.kv_heads", number(model.kv_heads)},
      {"model.layers", number(model.layers)},
      {"optimizer.amsgrad", number(optimizer.amsgrad)},
      {"optimizer.beta1", optimizer.beta1},
      {"optimizer.beta2", optimizer.beta2},
      {"optimizer.centered", number(optimizer.centered)},
      {"optimizer.clip_threshold", optimizer.clip_threshold},
      {"optimizer.dampening", optimizer.dampening},
      {"optimizer.decay_biases_and_norms", number(optimizer.decay_biases_and_norms)},
      {"optimizer.epsilon", optimizer.epsilon},
      {"optimizer.name", optimizer.name},
      {"optimizer.nesterov", number(optimizer.nesterov)},
      {"optimizer.relative_step", number(optimizer.relative_step)},
      {"optimizer.rest_rate_factor", optimizer.rest_rate_factor},
      {"optimizer.scale_parameter", number(optimizer.scale_parameter)},
      {"optimizer.smoothing", optimizer.smoothing},
      {"optimizer.weight_decay", optimizer.weight_decay},
      {"schedule.cycle_growth", number(schedule.cycle_growth)},
      {"schedule.cycle_steps", number(schedule.cycle_steps)},
      {"schedule.drop_every_steps", number(schedule.drop_every_steps)},
      {"schedule.drop_factor", schedule.drop_factor},
      {"schedule.final_fraction", schedule.final_fraction},
      {"schedule.power", schedule.power},
      {"schedule.rise_fraction", schedule.rise_fraction},
      {"schedule.start_fraction", schedule.start_fraction},
      {"schedule.warmup_steps", number(schedule.warmup_steps)},
  });
}

// Keys of the sections that are options of the library, and why they have a default of their own.
const std::map<std::string_view, std::string_view>& own_defaults() {
  static const std::map<std::string_view, std::string_view> reasons = {
      {"gossip.rule", "an enumeration of the library, which the key names"},
      {"group.allow", "names nobody"},
      {"group.audit", "what a run writes down"},
      {"group.discovery", "a program is found on the network only where it asks for that"},
      {"group.exchange", "the swarm and gossip are two classes of the library"},
      {"group.on_quorum_lost", "a program decides itself when it gives up; a run ends with a code"},
      {"group.rendezvous", "names no table"},
      {"group.ticket_valid_h", "a program says it with each ticket"},
      {"model.name", "names one"},
      {"optimizer.base_batch", "belongs to run.global_batch"},
      {"optimizer.clip_norm", "the step clips, not the optimizer"},
      {"optimizer.clip_value", "the step clips, not the optimizer"},
      {"optimizer.groups", "names none"},
      {"optimizer.learning_rate", "suits the recipe's model, momentum and schedule"},
      {"optimizer.momentum", "suits the recipe's model, rate and schedule"},
      {"schedule.milestones", "names none"},
      {"schedule.name", "a run has an end that the rate can fall to; a program need not"},
  };
  return reasons;
}

TEST(RecipeDefaults, AreThoseOfTheLibrary) {
  Values library;
  add_group(library);
  add_gossip(library);
  add_learning(library);
  const std::set<std::string_view> shared = {"gossip", "group",     "local",
                                             "model",  "optimizer", "schedule"};
  std::size_t met = 0;
  for (const RecipeKey& key : recipe_keys()) {
    SCOPED_TRACE(key.name);
    const auto found = library.find(key.name);
    if (found != library.end()) {
      ++met;
      EXPECT_TRUE(of_recipe(key) == found->second) << "the recipe and the library differ";
      EXPECT_FALSE(own_defaults().contains(key.name));
    } else if (shared.contains(key.name.substr(0, key.name.find('.')))) {
      EXPECT_TRUE(own_defaults().contains(key.name))
          << "compare it with the option of the library, or say why it is none";
    }
  }
  EXPECT_EQ(met, library.size()) << "a name here is no key";
}

TEST(RecipeDefaults, AreThoseOfProgramsInASwarm) {
  const SwarmGroupOptions group;
  const SwarmOptions swarm;
  EXPECT_EQ(group.wire, to_string(swarm.wire));
  EXPECT_EQ(group.start_members, swarm.start_members);
  EXPECT_EQ(Duration(group.start_timeout), swarm.start_timeout);
  EXPECT_EQ(Duration(group.suspicion_timeout), swarm.membership.suspicion_timeout);
  EXPECT_EQ(group.lone_survivor, swarm.membership.lone_survivor);
}

}  // namespace
}  // namespace weft::recipe_defaults_test
