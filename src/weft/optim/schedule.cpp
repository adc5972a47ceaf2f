#include "weft/optim/schedule.h"

#include <cmath>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr double kPi = 3.14159265358979323846;

double factor_after_warmup(const ScheduleOptions& options, std::int64_t step) {
  if (options.name == "cosine") {
    const std::int64_t steps = options.total_steps - options.warmup_steps;
    if (step >= steps) return options.final_fraction;
    const double angle = kPi * static_cast<double>(step) / static_cast<double>(steps);
    return options.final_fraction + (1.0 - options.final_fraction) * (1.0 + std::cos(angle)) / 2.0;
  }
  if (options.name == "step") {
    return std::pow(options.drop_factor, static_cast<double>(step / options.drop_every_steps));
  }
  return 1.0;
}

}  // namespace

Status check_schedule(const ScheduleOptions& options) {
  if (options.name != "constant" && options.name != "cosine" && options.name != "step") {
    return invalid_argument(
        fmt::format("schedule: expected one of constant, cosine, step, got \"{}\"", options.name));
  }
  if (options.total_steps < 1 || options.warmup_steps < 0 || options.drop_every_steps < 1) {
    return invalid_argument(fmt::format(
        "schedule: expected total_steps >= 1, warmup_steps >= 0 and drop_every_steps >= 1, got "
        "{}, {} and {}",
        options.total_steps, options.warmup_steps, options.drop_every_steps));
  }
  const auto fraction = [](double value) { return value >= 0.0 && value <= 1.0; };
  if (!fraction(options.final_fraction) || !fraction(options.drop_factor)) {
    return invalid_argument(
        fmt::format("schedule: expected final_fraction and drop_factor in [0, 1], got {} and {}",
                    options.final_fraction, options.drop_factor));
  }
  return {};
}

double schedule_factor(const ScheduleOptions& options, std::int64_t step) {
  WEFT_CHECK(step >= 0);
  if (step < options.warmup_steps) {
    return static_cast<float>(static_cast<double>(step + 1) /
                              static_cast<double>(options.warmup_steps));
  }
  return static_cast<float>(factor_after_warmup(options, step - options.warmup_steps));
}

}  // namespace weft
