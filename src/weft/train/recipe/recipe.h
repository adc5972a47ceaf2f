// Recipe: every setting that the members of a run must share, read from TOML.
//
// One table (recipe_keys.cpp) describes each key: name with its unit, place in Recipe, range or
// choices, help. Parsing, overrides, range errors, the canonical text and the documentation all
// derive from it. The canonical text (every key, sorted, defaults filled in) is hashed into the run
// id, so two peers cannot train with different settings unnoticed.
// Settings that may differ between machines (threads, addresses, output folder) are not part of it.
//
// Where it stands: app reads the flags -> Recipe -> wiring. A joiner gets the canonical text from
// a member. Precedence: flags > environment WEFT_SECTION_KEY > file > default.
// Threads: values. Fails: kInvalidArgument with file and line, the value and the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/gossip/topology/topology.h"
#include "weft/mix/mix_method.h"
#include "weft/peer/membership_defaults.h"
#include "weft/train/update/outer_step.h"

namespace weft {

struct Recipe {
  struct Model {
    std::string name = "cnn";
    bool dropout = false;
    std::int64_t hidden_units = 256;
    // 0: the model's own
    std::int64_t layers = 0;
    std::int64_t embedding_width = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    bool checkpoint_blocks = false;
  } model;
  struct Data {
    std::string name = "fashion-mnist";
    std::int64_t train_samples_max = 0;
    std::int64_t test_samples_max = 0;
    std::int64_t synthetic_samples = 2048;
    std::string path = "";
    std::string target = "";
    std::string columns_ignored = "";
    bool classify = true;
    bool header = true;
    bool is_private = false;
    std::string separator = "auto";
    std::string decimal = "auto";
    std::string split = "last";
    std::int64_t image_size = 32;
    std::int64_t image_width = 0;
    std::int64_t channels = 3;
    std::string tokenizer = "character";
    std::int64_t context = 128;
    std::string order = "auto";
    std::string partition = "shared";
    std::string transforms = "";
    std::int64_t token_bytes = 2;
    std::int64_t vocabulary = 65536;
  } data;
  struct Optimizer {
    std::string name = "sgd";
    double learning_rate = 0.05;
    double momentum = 0.9;
    double dampening = 0.0;
    bool nesterov = false;
    double weight_decay = 0.0;
    bool decay_biases_and_norms = true;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    bool amsgrad = false;
    double smoothing = 0.99;
    bool centered = false;
    bool relative_step = true;
    bool scale_parameter = true;
    double clip_threshold = 1.0;
    double rest_rate_factor = 0.015;
    std::string groups = "";
    std::int64_t base_batch = 0;
    double clip_norm = 0.0;
    double clip_value = 0.0;
  } optimizer;
  struct Schedule {
    std::string name = "cosine";
    std::int64_t warmup_steps = 0;
    double final_fraction = 0.0;
    std::int64_t drop_every_steps = 1000;
    double drop_factor = 0.1;
    std::string milestones = "";
    double power = 1.0;
    std::int64_t cycle_steps = 1000;
    std::int64_t cycle_growth = 1;
    double rise_fraction = 0.3;
    double start_fraction = 0.04;
  } schedule;
  struct Run {
    std::string name = "run";
    std::int64_t steps = 500;
    std::int64_t global_batch = 256;
    std::int64_t seed = 1;
    bool evaluate = true;
    std::int64_t evaluate_every_steps = 0;
    std::int64_t early_stop_patience = 0;
    double label_smoothing = 0.0;
    std::int64_t micro_batch = 0;
    bool capture = true;
    std::string precision = "f32";
    double loss_scale = 1024.0;
    double round_seconds_min = 0.0;
    std::string on_not_finite = "stop";
  } run;
  struct Group {
    std::int64_t heartbeat_interval_ms =
        membership_defaults::kHeartbeatInterval / std::chrono::milliseconds(1);
    std::int64_t suspicion_timeout_ms =
        membership_defaults::kSuspicionTimeout / std::chrono::milliseconds(1);
    double quorum_timeout_s = to_seconds(membership_defaults::kQuorumTimeout);
    bool lone_survivor = false;
    std::string on_quorum_lost = "exit";
    std::string on_split = "pause";
    double split_after_s = to_seconds(membership_defaults::kSplitAfter);
    double merge_timeout_s = to_seconds(membership_defaults::kMergeTimeout);
    double unreached_timeout_s = to_seconds(membership_defaults::kUnreachedTimeout);
    double linger_s = to_seconds(swarm_defaults::kLinger);
    std::int64_t mesh_members = swarm_defaults::kMeshMembers;
    std::int64_t joins_at_once = membership_defaults::kJoinsAtOnce;
    double join_stall_s = to_seconds(membership_defaults::kJoinStallTimeout);
    std::int64_t start_members = swarm_defaults::kStartMembers;
    double start_timeout_s = to_seconds(swarm_defaults::kStartTimeout);
    double compute_timeout_s = 0;
    std::int64_t bucket_bytes = swarm_defaults::kBucketBytes;
    std::int64_t segment_bytes = swarm_defaults::kSegmentBytes;
    std::int64_t result_log_bytes = swarm_defaults::kResultLogBytesMax;
    std::int64_t ticket_valid_h = 24;
    std::string discovery = "lan";
    std::string rendezvous;
    std::string invite = "ticket";
    std::string allow;
    std::string wire = "f32";
    std::string hosts = "together";
    std::string ring = "measured";
    bool audit = false;
    std::string shares = "equal";
    std::string wait = "all";
    std::int64_t deadline_ms = 0;
    double deadline_factor = 2.0;
    std::string late = "drop";
    std::int64_t staleness_max = 4;
    std::string exchange = "exact";
  } group;
  // With group.exchange = "gossip".
  struct Gossip {
    std::string topology = "random_regular";
    std::int64_t degree = 4;
    std::int64_t deadline_ms = 2000;
    std::int64_t expiry_rounds = 64;
    std::string weights = "metropolis";
    std::string rule = "mean";
  } gossip;
  // With group.exchange = "mix": a method and its parts; see mix/mix_method.h.
  struct Mix {
    std::string method = "fedavg";
    std::string plan;
    std::string trigger;
    std::string combine;
    std::string outer;
    std::string local;
    std::int64_t mixes = 0;
    std::string part;
    std::string start = "same";
  } mix;
  // What becomes of the members' gradients; see aggregate/aggregator.h.
  struct Aggregate {
    std::string rule = "mean";
    std::int64_t liars = 0;
    std::int64_t verifiers = 1;
    double member_momentum = 0.0;
  } aggregate;
  struct Local {
    std::int64_t steps = 1;
    std::string outer = "nesterov";
    double outer_rate = 0.7;
    double outer_momentum = 0.9;
    bool overlap = false;
  } local;
  struct Checkpoint {
    std::int64_t every_steps = 0;
    std::int64_t keep = 2;
    bool keep_best = false;
  } checkpoint;
};

// The place of a key's value in a Recipe; the alternative is the key's type.
using RecipeSlot = std::variant<std::int64_t*, double*, bool*, std::string*>;

struct RecipeKey {
  std::string_view name;  // "run.steps"
  RecipeSlot (*slot)(Recipe& recipe);
  double min;                // numbers: the smallest and largest value allowed
  double max;                // texts: the most characters, 0 for 200
  std::string_view choices;  // text: "a|b|c", empty = any text
  std::string_view help;
};

// Every key, sorted by name.
std::span<const RecipeKey> recipe_keys();

// One value given outside the file; `source` is where the person set it: "--set", "WEFT_RUN_STEPS".
struct RecipeSetting {
  std::string key;
  std::string value;
  std::string source;
};

// Parses TOML text. `file_name` is only for messages: "r.toml:4: unknown key ...".
Result<Recipe> parse_recipe(std::string_view text, std::string_view file_name);
Result<Recipe> load_recipe(const std::string& path);

Status apply_setting(Recipe& recipe, const RecipeSetting& setting);
// Splits "key=value" of --set.
Result<RecipeSetting> parse_setting(std::string_view text);
// The settings among environment variables ("WEFT_RUN_STEPS", "300"); a variable that begins with
// the name of a section but names no key is an error. Others are ignored.
Result<std::vector<RecipeSetting>> settings_of_environment(
    std::span<const std::pair<std::string, std::string>> variables);

OuterOptions outer_options(const Recipe::Local& local);

// Whether members average with neighbours.
bool gossips(const Recipe& recipe);
// gossip.topology with gossip.degree and run.seed.
Result<Topology> gossip_topology(const Recipe& recipe);
// GossipOptions::weight_degree of gossip.weights. REQUIRES: check_recipe().
std::size_t gossip_weight_degree(const Recipe& recipe);
// Whether members leave out what is farthest from their own parameters. REQUIRES: check_recipe().
bool gossips_robustly(const Recipe& recipe);
// What a loose exchange has no use for, or breaks; part of check_recipe().
Status check_gossip(const Recipe& recipe);

// Whether members train by a method of loose exchange.
bool mixes(const Recipe& recipe);
// The [mix] section with aggregate.liars and run.seed.
Result<MixMethod> mix_method(const Recipe& recipe);
// What such a method has no use for; part of check_recipe().
Status check_mix(const Recipe& recipe);

// aggregate.rule names another rule than the mean. REQUIRES: check_recipe().
bool aggregates(const Recipe& recipe);
// aggregate.member_momentum; what "auto" takes where the recipe has none.
double aggregate_momentum(const Recipe& recipe);
// What cannot go together with such a rule, by one table; part of check_recipe().
Status check_aggregate(const Recipe& recipe);
// Markdown table of the rules and their options, as the rules declare them.
std::string aggregator_table();
// The codecs that group.wire may name, and the gates of group.late, in the same form.
std::string codec_table();
std::string gate_table();
// The topologies that gossip.topology may name.
std::string topology_table();

// Rules between keys, such as suspicion_timeout_ms against heartbeat_interval_ms.
Status check_recipe(const Recipe& recipe);

// Valid TOML: one "section.key = value" per line, sorted and complete.
std::string canonical_text(const Recipe& recipe);
Hash256 recipe_hash(const Recipe& recipe);

// The first key in which the two differ, other than those that leave the mathematics of a step
// alone (length, name, pace, evaluation, [group], [checkpoint]); empty if none. A checkpoint can be
// resumed only without such a difference.
std::string first_difference(const Recipe& a, const Recipe& b);

// One key's value as the canonical text writes it.
std::string recipe_value(const Recipe& recipe, const RecipeKey& key);
// Markdown table of every key: name, default, range, help.
std::string recipe_key_table();

}  // namespace weft
