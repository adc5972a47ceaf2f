// kardam: late deltas of members of whom some lie, one at a time.
//
// Two filters. The growth filter compares how fast the deltas of one member change with the model,
// |d - d'| / |x - x'|, with what is usual: a delta that differs more from the one that was used
// last than the (n - f) / n quantile of the members' own largest growths does not count. The
// frequency filter lets no f members own more than f of the last 2 f + 1 that count. So that
// nothing stops for good, a delta counts after as many in a row as there are members have not. What
// is late should count less: that is the trigger's task ("buffer:size=1:staleness=1" is the paper's
// 1 / (1 + t)).
//
// Members' ids are taken as proved and as costly as a machine: one that has many moves the
// quantile. Memory: two vectors for each member, and the models of the newest versions.
// IMPLEMENTATION: Damaskinos, El Mhamdi, Guerraoui, Patra and Taziki, "Asynchronous Byzantine
// machine learning (the case of SGD)", ICML 2018, sections 3 and 4. The largest of a member's last
// 26 growths stands for it, as in the authors' code; deltas take the place of gradients, and the
// scale cancels out.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "weft/mix/combine/mix_combine_def.h"

namespace weft {
namespace {

constexpr std::size_t kGrowthsKept = 26;
// A delta from an older version has no place where it was computed; its growth is not known.
constexpr std::size_t kModelsKept = 64;
// Growths that are equal but for the rounding of deltas are equal.
constexpr double kGrowthRounding = 1 + 1e-4;

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double away = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += away * away;
  }
  return sum;
}

// A delta, and the model that it was computed at or applied to.
struct PlacedDelta {
  std::vector<float> delta;
  std::vector<float> model;
};

// Nothing where the model has not moved.
std::optional<double> growth(const PlacedDelta& from, std::span<const float> delta,
                             std::span<const float> model) {
  const double moved = squared_distance(from.model, model);
  if (!(moved > 0)) return std::nullopt;
  return std::sqrt(squared_distance(from.delta, delta) / moved);
}

class KardamCombine final : public MixCombineState {
 public:
  explicit KardamCombine(int liars) : liars_(static_cast<std::size_t>(liars)) {}

  void combine(const MixInput& input, std::span<float> out) override {
    keep_model(input);
    std::vector<std::span<const float>> deltas;
    std::vector<double> weights;
    for (std::size_t i = 0; i < input.deltas.size(); ++i) {
      if (!counts(input, i)) continue;
      deltas.push_back(input.deltas[i]);
      weights.push_back(input.weights[i]);
    }
    weighted_sum(deltas, weights, out);
  }

 private:
  struct Known {
    std::optional<PlacedDelta> last;
    std::deque<double> growths;
  };

  void keep_model(const MixInput& input) {
    models_[input.version].assign(input.reference.begin(), input.reference.end());
    while (models_.size() > kModelsKept) models_.erase(models_.begin());
  }

  bool counts(const MixInput& input, std::size_t index) {
    const std::uint32_t member = input.from[index];
    const std::span<const float> delta = input.deltas[index];
    learn(member, delta, input.bases[index]);
    const bool finite =
        std::ranges::all_of(delta, [](float value) { return std::isfinite(value); });
    const bool waited = refused_ >= input.members;
    if (!finite || (!waited && !(is_usual(input, delta) && is_not_too_often(member)))) {
      ++refused_;
      return false;
    }
    refused_ = 0;
    used_ = {{delta.begin(), delta.end()}, {input.reference.begin(), input.reference.end()}};
    counted_.push_back(member);
    if (counted_.size() > 2 * liars_) counted_.pop_front();
    return true;
  }

  // How the member's deltas change with the model, whether they count or not.
  void learn(std::uint32_t member, std::span<const float> delta, std::uint64_t base) {
    const auto model = models_.find(base);
    if (model == models_.end()) return;
    Known& known = known_[member];
    if (known.last) {
      if (const auto found = growth(*known.last, delta, model->second)) {
        known.growths.push_back(std::isfinite(*found) ? *found : HUGE_VAL);
        if (known.growths.size() > kGrowthsKept) known.growths.pop_front();
      }
    }
    known.last = {{delta.begin(), delta.end()}, model->second};
  }

  // The growth that all but f of n members stay within; nothing: too little is known.
  std::optional<double> usual_growth() const {
    std::vector<double> largest;
    for (const auto& [member, known] : known_) {
      if (!known.growths.empty()) largest.push_back(std::ranges::max(known.growths));
    }
    if (largest.size() <= liars_) return std::nullopt;
    std::ranges::sort(largest);
    return largest[largest.size() - liars_ - 1];
  }

  bool is_usual(const MixInput& input, std::span<const float> delta) const {
    if (!used_) return true;
    const std::optional<double> found = growth(*used_, delta, input.reference);
    const std::optional<double> usual = usual_growth();
    return !found || !usual || *found <= kGrowthRounding * *usual;
  }

  bool is_not_too_often(std::uint32_t member) const {
    std::map<std::uint32_t, std::size_t> times = {{member, 1}};
    for (const std::uint32_t each : counted_) ++times[each];
    std::vector<std::size_t> counts;
    counts.reserve(times.size());
    for (const auto& [each, count] : times) counts.push_back(count);
    std::ranges::sort(counts, std::greater<>());
    std::size_t most = 0;
    for (std::size_t i = 0; i < std::min(liars_, counts.size()); ++i) most += counts[i];
    return most <= liars_;
  }

  const std::size_t liars_;
  std::map<std::uint64_t, std::vector<float>> models_;
  std::map<std::uint32_t, Known> known_;
  std::optional<PlacedDelta> used_;
  // Who sent the last 2 f that counted.
  std::deque<std::uint32_t> counted_;
  // In a row.
  std::size_t refused_ = 0;
};

}  // namespace

extern const MixCombineDef kardam_combine = {
    .name = "kardam",
    .summary =
        "Each delta counts if it changes with the model as others do, and no member too "
        "often (Damaskinos et al. 2018, Kardam).",
    .make = [](std::span<const double> /*options*/, int liars) -> std::unique_ptr<MixCombineState> {
      return std::make_unique<KardamCombine>(liars);
    },
    .remembers = true,
    .needs_server = true,
    .least = [](int liars) { return 3 * liars + 1; },
};

}  // namespace weft
