#include "weft/train/update/outer_step.h"

#include <cmath>
#include <cstdint>

#include "weft/base/check.h"

namespace weft {
namespace {

constexpr const char* kMomentum = "outer_momentum";

// The conditions of Jury for z^3 + a2 z^2 + a1 z + a0.
bool roots_are_inside(double a2, double a1, double a0) {
  return std::abs(a0) < 1 && 1 + a2 + a1 + a0 > 0 && 1 - a2 + a1 - a0 > 0 &&
         1 - a0 * a0 > std::abs(a0 * a2 - a1);
}

}  // namespace

OuterStep::OuterStep(ParameterArena& arena, const OuterOptions& options)
    : arena_(arena), options_(options) {
  if (options.nesterov) momentum_ = arena.add_state(kMomentum);
}

void OuterStep::apply(std::span<const float> sums, double weight) {
  const std::span<float> parameters = arena_.parameters();
  WEFT_CHECK(sums.size() == parameters.size());
  if (!(weight > 0)) return;
  const auto scale = static_cast<float>(1.0 / weight);
  const auto rate = static_cast<float>(options_.rate);
  const auto decay = static_cast<float>(options_.momentum);
  const std::span<float> momentum =
      momentum_.defined() ? momentum_.flat<float>() : std::span<float>();
  for (const LayoutEntry& entry : arena_.layout().entries()) {
    const auto begin = static_cast<std::size_t>(entry.offset);
    const std::size_t end = begin + static_cast<std::size_t>(entry.shape.num_elements());
    if (entry.kind == ParameterKind::kBuffer) {
      for (std::size_t i = begin; i < end; ++i) parameters[i] -= scale * sums[i];
    } else if (momentum.empty()) {
      for (std::size_t i = begin; i < end; ++i) parameters[i] -= rate * (scale * sums[i]);
    } else {
      for (std::size_t i = begin; i < end; ++i) {
        const float gradient = scale * sums[i];
        momentum[i] = decay * momentum[i] + gradient;
        parameters[i] -= rate * (gradient + decay * momentum[i]);
      }
    }
  }
}

std::vector<std::string> OuterStep::state_names() const {
  return momentum_.defined() ? std::vector<std::string>{kMomentum} : std::vector<std::string>{};
}

bool overlap_is_stable(const OuterOptions& options) {
  const double decay = options.nesterov ? options.momentum : 0.0;
  for (int tenths = 1; tenths <= 10; ++tenths) {
    const double moved = options.rate * tenths / 10.0;
    if (!roots_are_inside(-(1 + decay), decay + moved * (1 + decay), -moved * decay)) return false;
  }
  return true;
}

}  // namespace weft
