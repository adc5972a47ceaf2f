#include "weft/optim/optimizer.h"

#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

// The arena without its buffers, as few ranges as possible.
std::vector<ArenaRange> trained_ranges(const Layout& layout) {
  std::vector<ArenaRange> ranges;
  for (int i = 0; i < layout.size(); ++i) {
    if (layout[i].kind == ParameterKind::kBuffer) continue;
    const std::int64_t begin = layout[i].offset;
    const std::int64_t end = i + 1 < layout.size() ? layout[i + 1].offset : layout.num_elements();
    if (!ranges.empty() && ranges.back().end == begin) {
      ranges.back().end = end;
    } else {
      ranges.push_back({begin, end});
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

Optimizer::Optimizer(ParameterArena& arena, OptimizerOptions options)
    : arena_(arena), options_(std::move(options)), ranges_(trained_ranges(arena.layout())) {}

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
  if (options.nesterov && (options.momentum == 0.0 || options.dampening != 0.0)) {
    return invalid_argument(
        fmt::format("optimizer nesterov: expected momentum above 0 and dampening 0, got {} and {}",
                    options.momentum, options.dampening));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerOptions& options,
                                                  ParameterArena& arena) {
  for (const OptimizerDef* def : optimizer_table()) {
    if (def->name != options.name) continue;
    WEFT_TRY(check_options(options));
    return def->make(options, arena);
  }
  return invalid_argument(fmt::format("optimizer: expected one of {}, got \"{}\"",
                                      fmt::join(optimizer_names(), ", "), options.name));
}

}  // namespace weft
