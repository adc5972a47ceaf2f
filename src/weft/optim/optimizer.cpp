#include "weft/optim/optimizer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

// The settings of one parameter; begin and end are not set.
ArenaRange settings_of(const LayoutEntry& entry, const OptimizerOptions& options, bool& frozen) {
  ArenaRange range;
  const bool weight = entry.kind == ParameterKind::kWeight;
  range.weight_decay = weight || options.decay_biases_and_norms ? options.weight_decay : 0.0;
  frozen = entry.kind == ParameterKind::kBuffer;
  for (const ParameterGroup& group : options.groups) {
    if (!belongs_to(group, entry)) continue;
    range.rate_factor = group.rate_factor;
    range.weight_decay = group.weight_decay.value_or(range.weight_decay);
    frozen = frozen || group.frozen;
    break;
  }
  return range;
}

// The arena without its buffers and frozen parameters, as few ranges as `unit` allows.
std::vector<ArenaRange> trained_ranges(const Layout& layout, const OptimizerOptions& options,
                                       RangeUnit unit) {
  std::vector<ArenaRange> ranges;
  for (int i = 0; i < layout.size(); ++i) {
    bool frozen = false;
    ArenaRange range = settings_of(layout[i], options, frozen);
    if (frozen) continue;
    range.entry = i;
    range.begin = layout[i].offset;
    if (unit == RangeUnit::kParameter) {
      range.end = range.begin + layout[i].shape.num_elements();
      ranges.push_back(range);
      continue;
    }
    range.end = i + 1 < layout.size() ? layout[i + 1].offset : layout.num_elements();
    const bool same = !ranges.empty() && ranges.back().end == range.begin &&
                      ranges.back().rate_factor == range.rate_factor &&
                      ranges.back().weight_decay == range.weight_decay;
    if (same) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

}  // namespace

#define WEFT_PLUGIN(name) extern const OptimizerDef name##_optimizer;
#include "optimizer_table.inc"
#undef WEFT_PLUGIN

std::span<const OptimizerDef* const> optimizer_table() {
  static constexpr const OptimizerDef* kTable[] = {
#define WEFT_PLUGIN(name) &name##_optimizer,
#include "optimizer_table.inc"
#undef WEFT_PLUGIN
  };
  return kTable;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerDef* def : optimizer_table()) names.emplace_back(def->name);
  return names;
}

Optimizer::Optimizer(ParameterArena& arena, OptimizerOptions options, RangeUnit unit)
    : arena_(arena),
      options_(std::move(options)),
      ranges_(trained_ranges(arena.layout(), options_, unit)) {}

void Optimizer::step(std::span<const float> gradients) {
  const std::span<float> parameters = arena_.parameters();
  WEFT_CHECK(gradients.size() == parameters.size());
  for (const ArenaRange& range : ranges_) {
    const auto begin = static_cast<std::size_t>(range.begin);
    const auto size = static_cast<std::size_t>(range.size());
    apply(range, gradients.subspan(begin, size), parameters.subspan(begin, size));
  }
  ++steps_;
}

Status Optimizer::step_rows(int parameter, std::span<const std::int64_t> rows,
                            std::span<const float> values) {
  WEFT_CHECK(parameter >= 0 && parameter < arena_.size());
  const LayoutEntry& entry = arena_.layout()[parameter];
  bool frozen = false;
  ArenaRange range = settings_of(entry, options_, frozen);
  range.entry = parameter;
  if (!leaves_zeros_alone() || range.weight_decay != 0.0) {
    return invalid_argument(fmt::format(
        "step_rows: expected sgd without momentum or adagrad, both without weight decay, got {}",
        options_.name));
  }
  if (frozen) return {};
  const std::int64_t height = entry.shape.size() > 0 ? entry.shape[0] : 0;
  const std::int64_t width = height > 0 ? entry.shape.num_elements() / height : 0;
  if (static_cast<std::int64_t>(values.size()) != static_cast<std::int64_t>(rows.size()) * width) {
    return invalid_argument(fmt::format("step_rows: {}: expected {} rows of {} values, got {}",
                                        entry.name, rows.size(), width, values.size()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t least = i == 0 ? 0 : rows[i - 1] + 1;
    if (rows[i] >= least && rows[i] < height) continue;
    return invalid_argument(fmt::format("step_rows: {}: expected rising rows below {}, got {}",
                                        entry.name, height, rows[i]));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    range.begin = entry.offset + rows[i] * width;
    range.end = range.begin + width;
    const auto size = static_cast<std::size_t>(width);
    apply(range, values.subspan(i * size, size),
          arena_.parameters().subspan(static_cast<std::size_t>(range.begin), size));
  }
  return {};
}

namespace {

Status require(bool holds, const char* key, const char* expected, double got) {
  if (holds) return {};
  return invalid_argument(fmt::format("optimizer {}: expected {}, got {}", key, expected, got));
}

Status check_options(const OptimizerOptions& options) {
  const auto decay = [](double value) { return value >= 0.0 && value < 1.0; };
  const char* const not_negative = "a number of at least 0";
  const char* const fraction = "a number in [0, 1)";
  WEFT_TRY(
      require(options.learning_rate >= 0.0, "learning_rate", not_negative, options.learning_rate));
  WEFT_TRY(
      require(options.weight_decay >= 0.0, "weight_decay", not_negative, options.weight_decay));
  WEFT_TRY(require(options.epsilon >= 0.0, "epsilon", not_negative, options.epsilon));
  WEFT_TRY(require(decay(options.momentum), "momentum", fraction, options.momentum));
  WEFT_TRY(require(options.dampening >= 0.0 && options.dampening <= 1.0, "dampening",
                   "a number in [0, 1]", options.dampening));
  WEFT_TRY(require(decay(options.beta1), "beta1", fraction, options.beta1));
  WEFT_TRY(require(decay(options.beta2), "beta2", fraction, options.beta2));
  WEFT_TRY(require(decay(options.smoothing), "smoothing", fraction, options.smoothing));
  WEFT_TRY(require(options.clip_threshold > 0.0, "clip_threshold", "a number above 0",
                   options.clip_threshold));
  WEFT_TRY(require(options.rest_rate_factor >= 0.0, "rest_rate_factor", not_negative,
                   options.rest_rate_factor));
  if (options.nesterov && (options.momentum == 0.0 || options.dampening != 0.0)) {
    return invalid_argument(
        fmt::format("optimizer nesterov: expected momentum above 0 and dampening 0, got {} and {}",
                    options.momentum, options.dampening));
  }
  return {};
}

// A group that fits nothing is a slip of the pen.
Status check_groups(const OptimizerOptions& options, const Layout& layout) {
  for (const ParameterGroup& group : options.groups) {
    const std::vector<LayoutEntry>& entries = layout.entries();
    const bool fits = std::any_of(entries.begin(), entries.end(), [&](const LayoutEntry& entry) {
      return entry.kind != ParameterKind::kBuffer && belongs_to(group, entry);
    });
    if (fits) continue;
    return invalid_argument(fmt::format(
        "optimizer groups: expected a pattern that fits a parameter, got \"{}\"; \"{}\" is one",
        group.pattern, entries.empty() ? std::string() : entries.front().name));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerOptions& options,
                                                  ParameterArena& arena) {
  for (const OptimizerDef* def : optimizer_table()) {
    if (def->name != options.name) continue;
    WEFT_TRY(check_options(options));
    WEFT_TRY(check_groups(options, arena.layout()));
    return def->make(options, arena);
  }
  return invalid_argument(fmt::format("optimizer: expected one of {}, got \"{}\"",
                                      fmt::join(optimizer_names(), ", "), options.name));
}

}  // namespace weft
