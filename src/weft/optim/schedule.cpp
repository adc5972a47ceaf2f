#include "weft/optim/schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "weft/array/bad_argument.h"
#include "weft/base/portable_math.h"

namespace weft {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Half a cosine from `from` at 0 to `to` at 1.
double cosine_between(double from, double to, double at) {
  return to + (from - to) * (1.0 + portable_cos(kPi * at)) / 2.0;
}

// Where step t of the schedule without its warm-up stands: t and T.
struct Moment {
  std::int64_t step;   // counted from the end of the warm-up
  std::int64_t steps;  // of the part after the warm-up; may be 0 or less
  // 0 to 1.
  double part() const {
    return step >= steps ? 1.0 : static_cast<double>(step) / static_cast<double>(steps);
  }
};

double constant(const ScheduleOptions& /*options*/, const Moment& /*at*/) { return 1.0; }

double cosine(const ScheduleOptions& options, const Moment& at) {
  if (at.step >= at.steps) return options.final_fraction;
  return cosine_between(1.0, options.final_fraction, at.part());
}

double cosine_restarts(const ScheduleOptions& options, const Moment& at) {
  std::int64_t step = at.step;
  std::int64_t cycle = options.cycle_steps;
  if (options.cycle_growth == 1) step %= cycle;
  while (step >= cycle) {
    step -= cycle;
    cycle *= options.cycle_growth;
  }
  return cosine_between(1.0, options.final_fraction,
                        static_cast<double>(step) / static_cast<double>(cycle));
}

double exponential(const ScheduleOptions& options, const Moment& at) {
  return portable_pow(options.drop_factor,
                      static_cast<double>(at.step) / static_cast<double>(options.drop_every_steps));
}

double inverse_sqrt(const ScheduleOptions& options, const Moment& at) {
  const auto begin = static_cast<double>(std::max<std::int64_t>(1, options.warmup_steps));
  return std::sqrt(begin / (static_cast<double>(at.step) + begin));
}

double polynomial_of(const ScheduleOptions& options, const Moment& at, double power) {
  const double left = portable_pow(1.0 - at.part(), power);
  return options.final_fraction + (1.0 - options.final_fraction) * left;
}

double linear(const ScheduleOptions& options, const Moment& at) {
  return polynomial_of(options, at, 1.0);
}

double polynomial(const ScheduleOptions& options, const Moment& at) {
  return polynomial_of(options, at, options.power);
}

double multistep(const ScheduleOptions& options, const Moment& at) {
  const std::int64_t step = at.step + options.warmup_steps;
  const auto passed = std::upper_bound(options.milestones.begin(), options.milestones.end(), step) -
                      options.milestones.begin();
  return portable_pow(options.drop_factor, static_cast<double>(passed));
}

double one_cycle(const ScheduleOptions& options, const Moment& at) {
  const auto step = static_cast<double>(at.step + options.warmup_steps);
  const auto total = static_cast<double>(options.total_steps);
  const double top = options.rise_fraction * total - 1.0;
  if (step < top) return cosine_between(options.start_fraction, 1.0, step / top);
  const double length = total - 1.0 - top;
  const double part = length > 0.0 ? std::min(1.0, (step - top) / length) : 1.0;
  return cosine_between(1.0, options.final_fraction, part);
}

double step_down(const ScheduleOptions& options, const Moment& at) {
  const std::int64_t drops = at.step / options.drop_every_steps;
  return portable_pow(options.drop_factor, static_cast<double>(drops));
}

struct ScheduleDef {
  const char* name;
  double (*factor)(const ScheduleOptions& options, const Moment& at);
};

constexpr ScheduleDef kSchedules[] = {
    {"constant", constant},
    {"cosine", cosine},
    {"cosine_restarts", cosine_restarts},
    {"exponential", exponential},
    {"inverse_sqrt", inverse_sqrt},
    {"linear", linear},
    {"multistep", multistep},
    {"one_cycle", one_cycle},
    {"polynomial", polynomial},
    {"step", step_down},
};

const ScheduleDef* find_schedule(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kSchedules), std::end(kSchedules),
                                         [&](const ScheduleDef& def) { return def.name == name; });
  return found == std::end(kSchedules) ? nullptr : found;
}

Status check_numbers(const ScheduleOptions& options) {
  if (options.total_steps < 1 || options.warmup_steps < 0 || options.drop_every_steps < 1 ||
      options.cycle_steps < 1 || options.cycle_growth < 1) {
    return invalid_argument(fmt::format(
        "schedule: expected total_steps, drop_every_steps, cycle_steps and cycle_growth >= 1 and "
        "warmup_steps >= 0, got {}, {}, {}, {} and {}",
        options.total_steps, options.drop_every_steps, options.cycle_steps, options.cycle_growth,
        options.warmup_steps));
  }
  const auto fraction = [](double value) { return value >= 0.0 && value <= 1.0; };
  if (!fraction(options.final_fraction) || !fraction(options.drop_factor) ||
      !fraction(options.rise_fraction) || !fraction(options.start_fraction)) {
    return invalid_argument(fmt::format(
        "schedule: expected final_fraction, drop_factor, rise_fraction and start_fraction in "
        "[0, 1], got {}, {}, {} and {}",
        options.final_fraction, options.drop_factor, options.rise_fraction,
        options.start_fraction));
  }
  if (!(options.power > 0.0) || !std::isfinite(options.power)) {
    return invalid_argument(
        fmt::format("schedule: expected a power above 0, got {}", options.power));
  }
  return {};
}

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleDef& def : kSchedules) names.emplace_back(def.name);
  return names;
}

Status check_schedule(const ScheduleOptions& options) {
  if (find_schedule(options.name) == nullptr) {
    return invalid_argument(fmt::format("schedule: expected one of {}, got \"{}\"",
                                        fmt::join(schedule_names(), ", "), options.name));
  }
  if (options.name == "multistep" && options.milestones.empty()) {
    return invalid_argument("schedule: multistep: expected milestones, got none");
  }
  return check_numbers(options);
}

double schedule_factor(const ScheduleOptions& options, std::int64_t step) {
  if (step < 0) throw_bad_argument("schedule", "a step of at least 0", std::to_string(step));
  const ScheduleDef* def = find_schedule(options.name);
  if (def == nullptr) {
    throw_bad_argument("schedule", fmt::format("one of {}", fmt::join(schedule_names(), ", ")),
                       fmt::format("\"{}\"; check_schedule() says so before", options.name));
  }
  if (step < options.warmup_steps && def->factor != one_cycle) {
    return static_cast<float>(static_cast<double>(step + 1) /
                              static_cast<double>(options.warmup_steps));
  }
  return static_cast<float>(def->factor(
      options, {step - options.warmup_steps, options.total_steps - options.warmup_steps}));
}

double linearly_scaled_rate(double rate, std::int64_t batch, std::int64_t base_batch) {
  if (batch < 1 || base_batch < 1) {
    throw_bad_argument("linearly_scaled_rate", "batches of at least 1 sample",
                       fmt::format("{} and {}", batch, base_batch));
  }
  return rate * static_cast<double>(batch) / static_cast<double>(base_batch);
}

Result<std::vector<std::int64_t>> parse_milestones(std::string_view text) {
  std::vector<std::int64_t> milestones;
  const std::string whole(text);
  const auto mistake = [&] {
    return invalid_argument(fmt::format(
        "milestones: expected rising whole numbers such as \"1000, 2000\", got \"{}\"", whole));
  };
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, fault] = std::from_chars(text.data(), end, value);
    if (fault != std::errc() || value < 1) return mistake();
    if (!milestones.empty() && value <= milestones.back()) return mistake();
    milestones.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(stopped - text.data()));
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (text.empty()) break;
    if (text.front() != ',') return mistake();
    text.remove_prefix(1);
    if (text.find_first_not_of(" \t") == std::string_view::npos) return mistake();
  }
  return milestones;
}

}  // namespace weft
