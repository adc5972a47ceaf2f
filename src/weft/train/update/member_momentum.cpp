#include "weft/train/update/member_momentum.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace weft {

std::string MemberMomentum::state_name() { return "member_momentum"; }

MemberMomentum::MemberMomentum(ParameterArena& arena, double decay)
    : arena_(arena),
      decay_(static_cast<float>(decay)),
      momentum_(arena.add_state(state_name())),
      prepared_(static_cast<std::size_t>(arena.layout().num_elements())) {}

void MemberMomentum::begin(Round round) {
  const std::span<const float> now = std::as_const(momentum_).flat<float>();
  std::copy(now.begin(), now.end(), prepared_.begin());
  round_ = round;
}

void MemberMomentum::replace(ParameterId id) {
  const std::span<float> gradient = arena_.gradient(id).flat<float>();
  if (!std::all_of(gradient.begin(), gradient.end(),
                   [](float value) { return std::isfinite(value); })) {
    return;
  }
  const auto offset = static_cast<std::size_t>(arena_.layout()[id.value()].offset);
  const std::span<float> next = std::span(prepared_).subspan(offset, gradient.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    next[i] = decay_ * next[i] + (1.0F - decay_) * gradient[i];
    gradient[i] = next[i];
  }
}

void MemberMomentum::applied(Round round) {
  if (round_ == round) {
    const std::span<float> now = momentum_.flat<float>();
    std::copy(prepared_.begin(), prepared_.end(), now.begin());
  }
  round_.reset();
}

void MemberMomentum::clear() {
  momentum_.fill(0.0);
  round_.reset();
}

}  // namespace weft
