#include "weft/train/update/loss_scale.h"

#include <algorithm>
#include <bit>

#include "weft/op/arithmetic.h"

namespace weft {
namespace {

constexpr const char* kState = "loss_scale";

Layout state_layout() {
  Layout layout;
  layout.add("scale", {1}, ParameterKind::kBuffer);
  layout.add("good_steps", {1}, ParameterKind::kBuffer);
  return layout;
}

bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  bool finite = true;
  for (const float value : values) {
    finite &= (std::bit_cast<std::uint32_t>(value) & kExponent) != kExponent;
  }
  return finite;
}

}  // namespace

LossScale::LossScale(ParameterArena& arena, double first) {
  const Layout layout = state_layout();
  Array state = arena.add_state(kState, layout);
  scale_ = state.slice(0, layout[0].offset, layout[0].offset + 1).reshape({});
  good_steps_ = state.slice(0, layout[1].offset, layout[1].offset + 1);
  *scale_.data<float>() = static_cast<float>(first);
}

double LossScale::value() const { return static_cast<double>(*scale_.data<float>()); }

Tensor LossScale::scaled(const Tensor& loss) const { return loss * Tensor(scale_); }

void LossScale::unscale(std::span<float> gradient) const {
  const auto factor = static_cast<float>(1.0 / value());
  for (float& element : gradient) element *= factor;
}

bool LossScale::update(std::span<const float> gradients) {
  float& scale = *scale_.data<float>();
  float& good_steps = *good_steps_.data<float>();
  const bool finite = all_finite(gradients);
  if (!finite) {
    scale = std::max(1.0F, scale / 2);
    good_steps = 0;
  } else if (++good_steps >= static_cast<float>(kGoodSteps)) {
    scale = std::min(static_cast<float>(kMax), scale * 2);
    good_steps = 0;
  }
  return finite;
}

}  // namespace weft
