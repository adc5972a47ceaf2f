#include "weft/optim/optimizer.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "weft/array/bad_argument.h"

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

// Each parameter that no group freezes. With RangeUnit::kSettings the gap behind belongs to it.
std::vector<ArenaRange> trained_parameters(const Layout& layout, const OptimizerOptions& options,
                                           RangeUnit unit) {
  std::vector<ArenaRange> ranges;
  for (int i = 0; i < layout.size(); ++i) {
    bool frozen = false;
    ArenaRange range = settings_of(layout[i], options, frozen);
    if (frozen) continue;
    range.entry = i;
    range.begin = layout[i].offset;
    range.end = i + 1 < layout.size() ? layout[i + 1].offset : layout.num_elements();
    if (unit == RangeUnit::kParameter) range.end = range.begin + layout[i].shape.num_elements();
    ranges.push_back(range);
  }
  return ranges;
}

bool same_settings(const ArenaRange& a, const ArenaRange& b) {
  return a.rate_factor == b.rate_factor && a.weight_decay == b.weight_decay && a.steps == b.steps;
}

std::int64_t row_width(const LayoutEntry& entry) {
  const std::int64_t height = entry.shape.size() > 0 ? entry.shape[0] : 0;
  return height > 0 ? entry.shape.num_elements() / height : 0;
}

// `values` as an Array of the CPU, for as long as they live; not to be written.
Array borrowed(std::span<const float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Array::on(Storage::wrap(const_cast<float*>(values.data()), values.size_bytes(), nullptr),
                   0, {count}, {1}, DType::kF32);
}

// One value an entry.
Layout counts_layout(const Layout& layout) {
  Layout counts;
  for (const LayoutEntry& entry : layout.entries()) counts.add(entry.name, {}, entry.kind);
  return counts;
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
    : arena_(arena.share()),
      options_(std::move(options)),
      unit_(unit),
      parameters_(trained_parameters(arena.layout(), options_, unit)) {}

void Optimizer::count_steps() {
  step_counts_ = arena_.add_state("steps", counts_layout(arena_.layout()));
}

// Rows that are left for this step are its parameter's whole gradient.
bool Optimizer::is_present(int entry, bool own_gradients) const {
  if (!own_gradients) return arena_.use(entry)->trained;
  return !rows_.contains(entry) && arena_.has_gradient(entry);
}

// What the next step moves, in as few ranges as settings and unit allow.
std::vector<ArenaRange> Optimizer::present_ranges(bool own_gradients) {
  std::vector<ArenaRange> ranges;
  // In f32 like all state: beyond 2^24 a count stays there, where no arithmetic tells the
  // difference.
  Array counts = step_counts_.to(Device::cpu());
  for (ArenaRange range : parameters_) {
    if (!is_present(range.entry, own_gradients)) continue;
    if (counts.defined()) {
      float& count = counts.data<float>()[arena_.state_layout("steps")[range.entry].offset];
      range.steps = static_cast<std::int64_t>(count++);
    }
    const bool joins = unit_ == RangeUnit::kSettings && !ranges.empty() &&
                       ranges.back().end == range.begin && same_settings(ranges.back(), range);
    if (joins) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
  if (!step_counts_.on_host()) step_counts_.copy_from(counts.to(step_counts_.device()));
  return ranges;
}

// A model that was never bound has gradients of its own, and a step here would train nothing.
void Optimizer::check_fed() {
  if (is_fed_) return;
  is_fed_ = arena_.is_watched() || !rows_.empty() || arena_.size() == 0 ||
            has_value_other_than_0(arena_.gradient_buffer());
  if (is_fed_) return;
  throw std::logic_error(
      "[step] expected gradients in the arena, got none: no module is bound to it, and all of its "
      "gradients are 0; call bind() of the model with this arena before the backward, or give the "
      "gradients to step(gradients)");
}

void Optimizer::step() {
  check_fed();
  std::vector<ArenaRange> sparse;
  for (const ArenaRange& range : parameters_) {
    const auto found = rows_.find(range.entry);
    if (found == rows_.end()) continue;
    const std::shared_ptr<ParameterUse> use = arena_.use(range.entry);
    // Where nobody watches there may be a gradient beside the rows.
    if (leaves_zeros_alone() && range.weight_decay == 0.0 && use->watched && !use->written) {
      if (use->trained) sparse.push_back(range);
      continue;
    }
    add_to_gradient(range.entry, found->second);
    rows_.erase(found);
  }
  move(arena_.gradient_buffer(), true);
  for (const ArenaRange& range : sparse) move_rows(range, rows_.at(range.entry));
  note_writes(sparse);
  rows_.clear();
}

void Optimizer::step(const Array& gradients) { move(gradients, false); }

void Optimizer::step(std::span<const float> gradients) {
  move(borrowed(gradients).to(arena_.device()), false);
}

void Optimizer::move(const Array& gradients, bool own_gradients) {
  const Array& parameters = arena_.parameter_buffer();
  if (gradients.size() != parameters.size()) {
    throw_bad_argument("step", fmt::format("{} gradients, as the arena has", parameters.size()),
                       std::to_string(gradients.size()));
  }
  const std::vector<ArenaRange> ranges = present_ranges(own_gradients);
  for (const ArenaRange& range : ranges) {
    Array moved = range.of(parameters);
    apply(range, range.of(gradients), moved);
  }
  note_writes(ranges);
  ++steps_;
}

// One note for each stretch, over gaps between parameters too: a storage remembers few.
void Optimizer::note_writes(std::span<const ArenaRange> written) {
  const Array& buffer = arena_.parameter_buffer();
  const auto note = [&buffer](std::int64_t begin, std::int64_t end) {
    const auto at = [&buffer](std::int64_t element) {
      return static_cast<std::size_t>(buffer.offset() + element) * sizeof(float);
    };
    buffer.storage()->note_write(at(begin), at(end), "optimizer step");
  };
  for (std::size_t i = 0; i < written.size();) {
    const std::int64_t begin = written[i].begin;
    std::int64_t end = written[i].end;
    for (++i; i < written.size() && written[i].begin - end < Layout::kAlignment; ++i) {
      end = written[i].end;
    }
    note(begin, end);
  }
}

Status Optimizer::add_rows(int parameter, std::span<const std::int64_t> rows,
                           std::span<const float> values) {
  if (parameter < 0 || parameter >= arena_.size()) {
    return invalid_argument(fmt::format("add_rows: expected a parameter from 0 to {}, got {}",
                                        arena_.size() - 1, parameter));
  }
  const LayoutEntry& entry = arena_.layout()[parameter];
  const std::int64_t height = entry.shape.size() > 0 ? entry.shape[0] : 0;
  const std::int64_t width = row_width(entry);
  if (static_cast<std::int64_t>(values.size()) != static_cast<std::int64_t>(rows.size()) * width) {
    return invalid_argument(fmt::format("add_rows: {}: expected {} rows of {} values, got {}",
                                        entry.name, rows.size(), width, values.size()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t least = i == 0 ? 0 : rows[i - 1] + 1;
    if (rows[i] >= least && rows[i] < height) continue;
    return invalid_argument(fmt::format("add_rows: {}: expected rising rows below {}, got {}",
                                        entry.name, height, rows[i]));
  }
  const bool known = std::any_of(parameters_.begin(), parameters_.end(),
                                 [&](const ArenaRange& range) { return range.entry == parameter; });
  if (!known || !arena_.use(parameter)->trained) return {};
  const Rows added = {{rows.begin(), rows.end()}, {values.begin(), values.end()}};
  const auto [place, is_first] = rows_.try_emplace(parameter, added);
  if (is_first) return {};
  // Two lists of rows may name the same one: their sum is the gradient.
  add_to_gradient(parameter, place->second);
  add_to_gradient(parameter, added);
  place->second = {};
  return {};
}

void Optimizer::add_to_gradient(int entry, const Rows& rows) {
  Array gradient = arena_.gradient(entry);
  Array here = gradient.to(Device::cpu());
  const std::int64_t width = row_width(arena_.layout()[entry]);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    float* const to = here.data<float>() + rows.rows[i] * width;
    const float* const from = rows.values.data() + static_cast<std::int64_t>(i) * width;
    for (std::int64_t column = 0; column < width; ++column) to[column] += from[column];
  }
  if (!gradient.on_host()) gradient.copy_from(here.to(gradient.device()));
  arena_.use(entry)->written = true;
}

void Optimizer::move_rows(const ArenaRange& range, const Rows& rows) {
  const std::int64_t width = row_width(arena_.layout()[range.entry]);
  const Array gradients = borrowed(rows.values).to(arena_.device());
  ArenaRange part = range;
  // Rows behind each other move together.
  for (std::size_t i = 0; i < rows.rows.size();) {
    const std::size_t first = i++;
    while (i < rows.rows.size() && rows.rows[i] == rows.rows[i - 1] + 1) ++i;
    part.begin = range.begin + rows.rows[first] * width;
    part.end = range.begin + (rows.rows[i - 1] + 1) * width;
    Array moved = part.of(arena_.parameter_buffer());
    const auto begin = static_cast<std::int64_t>(first) * width;
    apply(part, gradients.slice(0, begin, begin + part.size()), moved);
  }
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
