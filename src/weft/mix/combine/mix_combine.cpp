#include "weft/mix/combine/mix_combine.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/check.h"
#include "weft/mix/combine/mix_combine_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const MixCombineDef name##_combine;
#include "combine_table.inc"
#undef WEFT_PLUGIN

static constexpr const MixCombineDef* kCombines[] = {
#define WEFT_PLUGIN(name) &name##_combine,
#include "combine_table.inc"
#undef WEFT_PLUGIN
};

std::span<const MixCombineDef* const> mix_combines() { return kCombines; }

namespace {

// A rule of the robust family.
class RobustCombine final : public MixCombineState {
 public:
  RobustCombine(Aggregator rule, int liars, std::uint64_t seed)
      : rule_(std::move(rule)), round_{liars, seed} {}

  void combine(const MixInput& input, std::span<float> out) override {
    ++round_.seed;
    // Fewer came than the rule needs: it would promise what it cannot keep.
    if (!rule_.check(static_cast<int>(input.deltas.size()), round_.liars).ok()) {
      std::ranges::fill(out, 0.0F);
      return;
    }
    rule_.aggregate(input.deltas, round_, out);
    const double scale = std::reduce(input.weights.begin(), input.weights.end());
    for (float& value : out) value = static_cast<float>(scale * static_cast<double>(value));
  }

 private:
  const Aggregator rule_;
  AggregateRound round_;
};

}  // namespace

void weighted_sum(std::span<const std::span<const float>> deltas, std::span<const double> weights,
                  std::span<float> out) {
  WEFT_CHECK(deltas.size() == weights.size());
  constexpr std::size_t kBlock = 2048;
  double sums[kBlock];
  for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - begin);
    std::fill_n(sums, count, 0.0);
    for (std::size_t j = 0; j < deltas.size(); ++j) {
      const float* const delta = deltas[j].data() + begin;
      const double weight = weights[j];
      for (std::size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<double>(delta[i]);
    }
    for (std::size_t i = 0; i < count; ++i) out[begin + i] = static_cast<float>(sums[i]);
  }
}

Result<MixCombine> MixCombine::parse(std::string_view text, int liars) {
  MixCombine combine;
  combine.liars_ = liars;
  if (find_plugin<MixCombineDef>(text, kCombines) != nullptr) {
    WEFT_TRY_ASSIGN(combine.plugin_, parse_plugin<MixCombineDef>(text, kCombines));
    return combine;
  }
  Result<Aggregator> rule = Aggregator::parse(text);
  if (!rule.ok()) {
    std::vector<std::string_view> names;
    for (const MixCombineDef* const def : kCombines) names.push_back(def->name);
    return invalid_argument(
        fmt::format("{}, or one of {}", rule.status().message(), fmt::join(names, ", ")));
  }
  combine.rule_ = std::move(rule).value();
  return combine;
}

std::string MixCombine::text() const { return is_robust() ? rule_.text() : plugin_.text(); }

bool MixCombine::counts_liars() const { return is_robust() || plugin_.def->least != nullptr; }

bool MixCombine::remembers() const { return !is_robust() && plugin_.def->remembers; }

bool MixCombine::needs_server() const { return !is_robust() && plugin_.def->needs_server; }

bool MixCombine::gives_beside() const { return !is_robust() && plugin_.def->gives_beside; }

Status MixCombine::check(int inputs) const {
  if (is_robust()) return rule_.check(inputs, liars_);
  const int least = plugin_.def->least != nullptr ? plugin_.def->least(liars_) : 1;
  if (inputs >= least) return {};
  return invalid_argument(fmt::format("{}: expected at least {} members against {} liars, got {}",
                                      text(), least, liars_, inputs));
}

bool MixCombine::needs_probe() const { return !is_robust() && plugin_.def->needs_probe; }

bool MixCombine::needs_judge() const { return !is_robust() && plugin_.def->needs_judge; }

bool MixCombine::tells_histories() const { return !is_robust() && plugin_.def->tells_histories; }

std::unique_ptr<MixCombineState> MixCombine::make(std::uint64_t seed) const {
  if (is_robust()) return std::make_unique<RobustCombine>(rule_, liars_, seed);
  return plugin_.def->make(plugin_.options, liars_);
}

}  // namespace weft
