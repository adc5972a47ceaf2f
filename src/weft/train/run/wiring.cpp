#include "weft/train/run/wiring.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/log.h"
#include "weft/codec/codec.h"
#include "weft/data/image_folder.h"
#include "weft/data/open_path.h"
#include "weft/data/text_file.h"
#include "weft/net/tls_transport.h"
#include "weft/swarm/matrix_layout.h"
#include "weft/train/data/data_files.h"
#include "weft/train/data/rows_data.h"
#include "weft/train/recipe/recipe_data.h"
#include "weft/train/step/gossip_step.h"
#include "weft/train/step/mix_learner.h"
#include "weft/train/step/mix_step.h"
#include "weft/train/step/train_step.h"

namespace weft {

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Result<Dataset> open_text(const Recipe& recipe, Split split, const std::string& path,
                          TextOptions options) {
  WEFT_TRY_ASSIGN(const std::string text, read_text(path));
  WEFT_TRY(check_length(path, static_cast<std::int64_t>(text.size()), "bytes"));
  options.context = 1;
  WEFT_TRY_ASSIGN(Dataset dataset, make_text_dataset(path, text, split, options));
  return with_recipe_context(recipe, std::move(dataset), split);
}

// As many bytes of pixels are decoded once and kept; more are decoded for each batch.
constexpr std::int64_t kPixelBytesKept = std::int64_t{1} << 29;

Result<Dataset> open_images(const Recipe& recipe, Split split, const std::string& path) {
  ImageFolderOptions options;
  options.channels = recipe.data.channels;
  options.height = recipe.data.image_size;
  options.width = recipe.data.image_width == 0 ? recipe.data.image_size : recipe.data.image_width;
  options.mixed = recipe.data.split == "random";
  WEFT_TRY_ASSIGN(const ImageListing listing, list_images(path, split, options.mixed));
  const std::int64_t bytes = options.channels * options.height * options.width;
  options.in_memory = static_cast<std::int64_t>(listing.files.size()) <= kPixelBytesKept / bytes;
  return open_image_folder(path, split, options);
}

// The test split is the last tenth, or a file of its own in a folder.
Result<Dataset> open_tokens(const Recipe& recipe, Split split, const std::string& path) {
  TokenFileOptions options;
  options.token_bytes = recipe.data.token_bytes;
  options.vocabulary = recipe.data.vocabulary;
  options.context = 1;
  const bool own_split = is_folder(path);
  const std::string file = own_split ? token_split_file(path, split) : path;
  WEFT_TRY_ASSIGN(Dataset all, open_token_file(file, options));
  const std::int64_t size = all.tokens.size();
  WEFT_TRY(check_length(file, size, "tokens"));
  if (own_split) {
    all.split = split;
    return with_recipe_context(recipe, std::move(all), split);
  }
  const std::int64_t cut = size - size / 10;
  const auto bytes = [&](std::int64_t tokens) {
    return static_cast<std::size_t>(tokens * all.tokens.token_bytes);
  };
  TokenSpan part = all.tokens;
  part.bytes = split == Split::kTrain ? all.tokens.bytes.slice(0, bytes(cut))
                                      : all.tokens.bytes.slice(bytes(cut), bytes(size - cut));
  WEFT_TRY_ASSIGN(Dataset dataset,
                  make_token_dataset(path, part, options.vocabulary, options.context));
  dataset.split = split;
  return with_recipe_context(recipe, std::move(dataset), split);
}

// With `described`, as the model that it describes takes the data.
Result<Dataset> open_named(const Recipe& recipe, Split split, const DataPlaces& places,
                           const DataDescription* described) {
  const std::string& name = recipe.data.name;
  if (name == "synthetic") {
    const std::int64_t samples = recipe.data.synthetic_samples;
    SyntheticOptions options;
    options.seed = static_cast<std::uint64_t>(recipe.run.seed);
    options.size = split == Split::kTrain ? samples : std::max<std::int64_t>(1, samples / 4);
    return make_synthetic_dataset(options, split);
  }
  WEFT_TRY_ASSIGN(const DataFiles files, find_data_files(recipe, places));
  TextOptions text;
  text.tokenizer = files.tokenizer.empty() ? recipe.data.tokenizer : files.tokenizer;
  text.context = recipe.data.context;
  if (described != nullptr) text.given = described->tokenizer;
  if (name == "text") return open_text(recipe, split, files.data, text);
  if (name == "images") return open_images(recipe, split, files.data);
  if (name == "tokens") return open_tokens(recipe, split, files.data);
  if (name == "rows") {
    return described != nullptr ? open_described_rows(recipe, split, files.data, *described)
                                : open_rows(recipe, split, files.data);
  }
  return open_dataset(name, split, places, text);
}

}  // namespace

Result<ModelOptions> model_options(const Recipe& recipe, const DataDescription& data) {
  ModelOptions options;
  options.seed = static_cast<std::uint64_t>(recipe.run.seed);
  options.dropout = recipe.model.dropout;
  options.hidden_units = recipe.model.hidden_units;
  options.layers = recipe.model.layers;
  options.embedding_width = recipe.model.embedding_width;
  options.heads = recipe.model.heads;
  options.kv_heads = recipe.model.kv_heads;
  options.checkpoint_blocks = recipe.model.checkpoint_blocks;
  const ModelDef* def = find_model(recipe.model.name);
  if (def == nullptr) return options;  // make_model says so
  const bool wants_tokens = def->input == ModelInput::kTokens;
  if (data.kind == DatasetKind::kRows) {
    if (recipe.model.name != "mlp") {
      return invalid_argument(
          fmt::format("model.name: expected mlp for {}, which holds rows of numbers, got {}",
                      data.name, def->name));
    }
    options.channels = data.features();
    options.height = 1;
    options.width = 1;
    options.classes =
        data.has_values() ? static_cast<std::int64_t>(data.target_columns.size()) : data.classes;
    return options;
  }
  if (wants_tokens != (data.kind == DatasetKind::kTokens)) {
    return invalid_argument(fmt::format("model.name: {} takes {}, but {} holds {}", def->name,
                                        wants_tokens ? "tokens" : "images", data.name,
                                        to_string(data.kind)));
  }
  if (wants_tokens) {
    options.vocabulary = data.vocabulary;
    options.context = data.context;
    return options;
  }
  WEFT_TRY_ASSIGN(const Transforms transforms, recipe_transforms(recipe));
  const ImageSize size = transforms.output_size({data.channels, data.height, data.width});
  options.channels = size.channels;
  options.height = size.height;
  options.width = size.width;
  options.classes = data.classes;
  return options;
}

Result<OptimizerOptions> optimizer_options(const Recipe& recipe) {
  const Recipe::Optimizer& wanted = recipe.optimizer;
  OptimizerOptions options;
  options.name = wanted.name;
  options.learning_rate = wanted.learning_rate;
  if (wanted.base_batch > 0) {
    options.learning_rate =
        linearly_scaled_rate(wanted.learning_rate, recipe.run.global_batch, wanted.base_batch);
  }
  options.weight_decay = wanted.weight_decay;
  options.momentum = wanted.momentum;
  options.dampening = wanted.dampening;
  options.nesterov = wanted.nesterov;
  options.beta1 = wanted.beta1;
  options.beta2 = wanted.beta2;
  options.epsilon = wanted.epsilon;
  options.amsgrad = wanted.amsgrad;
  options.smoothing = wanted.smoothing;
  options.centered = wanted.centered;
  options.relative_step = wanted.relative_step;
  options.scale_parameter = wanted.scale_parameter;
  options.clip_threshold = wanted.clip_threshold;
  options.rest_rate_factor = wanted.rest_rate_factor;
  options.decay_biases_and_norms = wanted.decay_biases_and_norms;
  WEFT_TRY_ASSIGN(options.groups, parse_parameter_groups(wanted.groups));
  return options;
}

Result<ScheduleOptions> schedule_options(const Recipe& recipe) {
  const Recipe::Schedule& wanted = recipe.schedule;
  ScheduleOptions options;
  options.name = wanted.name;
  options.total_steps = recipe.run.steps;
  options.warmup_steps = std::min(wanted.warmup_steps, recipe.run.steps / 2);
  options.final_fraction = wanted.final_fraction;
  options.drop_every_steps = wanted.drop_every_steps;
  options.drop_factor = wanted.drop_factor;
  options.power = wanted.power;
  options.cycle_steps = wanted.cycle_steps;
  options.cycle_growth = wanted.cycle_growth;
  options.rise_fraction = wanted.rise_fraction;
  options.start_fraction = wanted.start_fraction;
  WEFT_TRY_ASSIGN(options.milestones, parse_milestones(wanted.milestones));
  WEFT_TRY(check_schedule(options));
  return options;
}

static Result<Dataset> open_cut(const Recipe& recipe, Split split, const DataPlaces& places,
                                const DataDescription* described) {
  WEFT_TRY_ASSIGN(Dataset dataset, open_named(recipe, split, places, described));
  const std::int64_t most =
      split == Split::kTrain ? recipe.data.train_samples_max : recipe.data.test_samples_max;
  if (most > 0 && most < dataset.size) dataset.keep_first(most);
  if (dataset.kind == DatasetKind::kImages) dataset.transforms = recipe.data.transforms;
  return dataset;
}

Result<Dataset> open_recipe_dataset(const Recipe& recipe, Split split, const DataPlaces& places) {
  return open_cut(recipe, split, places, nullptr);
}

Result<Dataset> open_described_dataset(const Recipe& recipe, Split split, const DataPlaces& places,
                                       const DataDescription& described) {
  WEFT_TRY_ASSIGN(Dataset dataset, open_cut(recipe, split, places, &described));
  if (const std::string other = data_difference(described, dataset); !other.empty()) {
    return invalid_argument(
        fmt::format("{}: expected data as the model was trained on, got other {}; give the data of "
                    "its run with --data",
                    dataset.name, other));
  }
  if (dataset.kind == DatasetKind::kImages) {
    dataset.mean = described.mean;
    dataset.deviation = described.deviation;
  }
  return dataset;
}

Result<Transforms> recipe_transforms(const Recipe& recipe) {
  return Transforms::parse(words_of(recipe.data.transforms));
}

Result<BatchLoaderOptions> loader_options(const Recipe& recipe, const Dataset& data) {
  BatchLoaderOptions options;
  options.seed = static_cast<std::uint64_t>(recipe.run.seed);
  options.batch_size = recipe.run.global_batch;
  options.order = data.kind == DatasetKind::kTokens ? SampleOrder::kRandom : SampleOrder::kShuffled;
  if (recipe.data.order != "auto") {
    WEFT_TRY_ASSIGN(options.order, sample_order_from(recipe.data.order));
  }
  WEFT_TRY_ASSIGN(Transforms transforms, recipe_transforms(recipe));
  if (!transforms.empty()) {
    options.transforms = std::make_shared<const Transforms>(std::move(transforms));
  }
  return options;
}

LocalOptions local_options(const Recipe& recipe) {
  LocalOptions options;
  options.steps = recipe.local.steps;
  options.total_steps = recipe.run.steps;
  options.outer = outer_options(recipe.local);
  options.overlap = recipe.local.overlap;
  return options;
}

std::unique_ptr<RoundStep> make_round_step(const Recipe& recipe, ParameterArena& arena) {
  if (gossips(recipe)) return std::make_unique<GossipStep>(arena);
  if (mixes(recipe)) return std::make_unique<MixStep>(recipe);
  if (recipe.local.steps > 1) return std::make_unique<LocalSteps>(arena, local_options(recipe));
  return std::make_unique<TrainStep>(arena, aggregate_momentum(recipe));
}

Round last_round(const Recipe& recipe) {
  const Round trained = round_after(recipe.run.steps, recipe.local.steps);
  return recipe.run.evaluate ? trained.next() : trained;
}

static PresenceOptions presence_options(const Recipe& recipe, const PeerSettings& settings) {
  const Recipe::Group& group = recipe.group;
  PresenceOptions options;
  options.on_lan = group.discovery == "lan";
  // Where others are told of another address, they may reach this peer after all: by a tunnel.
  options.this_machine_only =
      is_of_this_machine_only(settings.listen) && settings.advertise.empty();
  options.name = fmt::format("{} ({})", recipe.run.name, recipe.model.name);
  if (group.invite == "open") options.invite = DiscoveryInvite::kOpen;
  if (group.invite == "allowlist") options.invite = DiscoveryInvite::kAllowlist;
  if (!group.rendezvous.empty() && settings.rendezvous) {
    options.make_table = settings.rendezvous(group.rendezvous);
  }
  return options;
}

static constexpr Duration kComputeTimeoutMax = std::chrono::hours(24);

SwarmOptions swarm_options(const Recipe& recipe, const Layout& layout,
                           const PeerSettings& settings) {
  const Recipe::Group& group = recipe.group;
  SwarmOptions options;
  options.identity = settings.identity;
  options.listen = settings.listen;
  log(LogLevel::kInfo, "listens at {}; recipe {}; members are {} on the local network",
      settings.listen, to_hex(recipe_hash(recipe)).substr(0, 16),
      group.discovery == "lan" ? "found" : "not found");
  options.map_port = settings.map_port;
  options.advertise = settings.advertise;
  options.recipe_text = canonical_text(recipe);
  options.vector_elements_max = layout.num_elements();
  options.segment_bytes = static_cast<std::size_t>(group.segment_bytes);
  options.bucket_bytes = static_cast<std::size_t>(group.bucket_bytes);
  // The recipe was checked, so the word is one.
  if (const Result<Codec> codec = Codec::parse(group.wire); codec.ok()) {
    set_codec(codec->with_layout(matrix_layout(layout)), options);
  }
  if (const auto rule = Aggregator::parse(recipe.aggregate.rule); rule.ok()) {
    options.aggregator = *rule;
  }
  options.liars = static_cast<int>(recipe.aggregate.liars);
  if (aggregates(recipe)) options.verifiers = static_cast<int>(recipe.aggregate.verifiers);
  options.measured_ring = group.ring == "measured";
  options.by_host = group.hosts == "together";
  options.mesh_members = static_cast<int>(group.mesh_members);
  options.reports = true;
  options.compute_timeout = from_seconds(group.compute_timeout_s);
  // Nothing is known of the first rounds but how many steps they have.
  options.compute_timeout_first =
      std::min<Duration>(kComputeTimeoutMax, recipe.local.steps * options.compute_timeout_first);
  options.result_log_bytes_max = static_cast<std::uint64_t>(group.result_log_bytes);
  options.last_round = last_round(recipe);
  options.start_members = static_cast<int>(group.start_members);
  options.start_timeout = from_seconds(group.start_timeout_s);
  options.linger = from_seconds(group.linger_s);
  options.exit_on_quorum_lost = group.on_quorum_lost == "exit";
  options.samples_a_round = static_cast<std::uint64_t>(recipe.run.global_batch) *
                            static_cast<std::uint64_t>(recipe.local.steps);
  options.presence = presence_options(recipe, settings);
  MembershipOptions& membership = options.membership;
  membership.layout_hash = layout.hash();
  membership.recipe_hash = recipe_hash(recipe);
  membership.heartbeat_interval = from_milliseconds(group.heartbeat_interval_ms);
  membership.suspicion_timeout = from_milliseconds(group.suspicion_timeout_ms);
  membership.quorum_timeout = from_seconds(group.quorum_timeout_s);
  membership.on_split = group.on_split == "merge" ? SplitPolicy::kMerge : SplitPolicy::kPause;
  membership.split_after = from_seconds(group.split_after_s);
  membership.merge_timeout = from_seconds(group.merge_timeout_s);
  membership.unreached_timeout = from_seconds(group.unreached_timeout_s);
  membership.joins_at_once = static_cast<int>(group.joins_at_once);
  membership.join_stall_timeout = from_seconds(group.join_stall_s);
  membership.lone_survivor = group.lone_survivor;
  if (const auto invite = parse_invite_mode(group.invite); invite.ok()) membership.invite = *invite;
  if (const auto allowed = parse_allow_list(group.allow); allowed.ok()) {
    membership.allowed = *allowed;
  }
  return options;
}

static LooseMemberOptions loose_member_options(const Recipe& recipe, const Layout& layout,
                                               const PeerSettings& settings) {
  const Recipe::Group& group = recipe.group;
  LooseMemberOptions options;
  options.identity = settings.identity;
  options.listen = settings.listen;
  options.advertise = settings.advertise;
  options.map_port = settings.map_port;
  options.recipe_text = canonical_text(recipe);
  options.recipe_hash = recipe_hash(recipe);
  options.layout_hash = layout.hash();
  options.presence = presence_options(recipe, settings);
  if (const auto invite = parse_invite_mode(group.invite); invite.ok()) options.invite = *invite;
  if (const auto allowed = parse_allow_list(group.allow); allowed.ok()) options.allowed = *allowed;
  return options;
}

GossipMemberOptions gossip_options(const Recipe& recipe, const Layout& layout,
                                   const PeerSettings& settings) {
  const Recipe::Group& group = recipe.group;
  GossipMemberOptions options;
  options.member = loose_member_options(recipe, layout, settings);
  GossipOptions& gossip = options.gossip;
  gossip.elements = static_cast<std::uint64_t>(layout.num_elements());
  gossip.last_round = round_after(recipe.run.steps, recipe.local.steps);
  // The recipe was checked, so the text names one.
  if (const auto topology = gossip_topology(recipe); topology.ok()) gossip.topology = *topology;
  gossip.weight_degree = gossip_weight_degree(recipe);
  if (gossips_robustly(recipe)) gossip.mixing = MixingRule::kNearest;
  gossip.liars = static_cast<std::size_t>(recipe.aggregate.liars);
  gossip.deadline = from_milliseconds(recipe.gossip.deadline_ms);
  gossip.book.expiry_rounds = static_cast<std::uint64_t>(recipe.gossip.expiry_rounds);
  gossip.start_members = static_cast<std::size_t>(group.start_members);
  gossip.start_timeout = from_seconds(group.start_timeout_s);
  return options;
}

Result<MixMemberOptions> mix_options(const Recipe& recipe, const Layout& layout,
                                     const PeerSettings& settings) {
  const Recipe::Group& group = recipe.group;
  WEFT_TRY_ASSIGN(MixMethod method, mix_method(recipe));
  WEFT_TRY_ASSIGN(const Codec codec, Codec::parse(group.wire));
  const auto members = static_cast<std::uint32_t>(group.start_members);
  WEFT_TRY(method.combine.check(static_cast<int>(members)).with_context("mix.combine"));
  if (members > kMixMembersMax) {
    return invalid_argument(
        fmt::format("group.start_members: expected at most {} with group.exchange = \"mix\", whose "
                    "members know each other from the beginning, got {}",
                    kMixMembersMax, members));
  }
  MixMemberOptions options;
  options.member = loose_member_options(recipe, layout, settings);
  options.start_timeout = from_seconds(group.start_timeout_s);
  const std::uint64_t rounds = round_after(recipe.run.steps, recipe.local.steps).value();
  options.core = {.members = members,
                  .versions = rounds * method.mixes,
                  .steps = static_cast<std::uint32_t>(recipe.local.steps),
                  .seed = static_cast<std::uint64_t>(recipe.run.seed),
                  .tensors = mix_tensors(layout)};
  if (method.outputs_only) {
    WEFT_TRY_ASSIGN(options.core.outputs, mix_outputs(layout));
  }
  if (!codec.is_exact()) options.codec = codec;
  options.patience = from_milliseconds(group.suspicion_timeout_ms);
  options.method = std::make_shared<const MixMethod>(std::move(method));
  return options;
}

}  // namespace weft
