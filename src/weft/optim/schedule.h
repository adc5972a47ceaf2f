// Schedules: the learning rate of a step as a factor of the recipe's, a pure function of the step.
//
// Nothing is remembered, so a run resumes at any step and all peers agree without a message.
// The same bits on every machine (base/portable_math.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

struct ScheduleOptions {
  std::string name = "constant";
  std::int64_t total_steps = 1;          // those that fall to an end reach it here
  std::int64_t warmup_steps = 0;         // all but one_cycle: first a linear rise to 1
  double final_fraction = 0.0;           // cosine, cosine_restarts, linear, polynomial, one_cycle
  std::int64_t drop_every_steps = 1000;  // step, exponential
  double drop_factor = 0.1;              // step, exponential, multistep
  std::vector<std::int64_t> milestones = {};  // multistep: rising
  double power = 1.0;                         // polynomial
  std::int64_t cycle_steps = 1000;            // cosine_restarts: the first cycle
  std::int64_t cycle_growth = 1;              // and how much longer each next one is
  double rise_fraction = 0.3;                 // one_cycle: part of the run that rises
  double start_fraction = 0.04;               // one_cycle: of the highest rate
};

// kInvalidArgument for an unknown name or values out of range.
Status check_schedule(const ScheduleOptions& options);
// Sorted.
std::vector<std::string> schedule_names();

// `step` counts from 0. Warm-up: (step + 1) / warmup_steps for step < warmup_steps. Then, with
// t = step - warmup_steps, T = total_steps - warmup_steps, f = final_fraction and
// d = drop_factor,
//   constant         1
//   cosine           f + (1 - f) (1 + cos(pi t / T)) / 2, and f for t >= T
//   cosine_restarts  the same anew in each cycle, of cycle_steps, cycle_steps * cycle_growth, ...
//   exponential      d ^ (t / drop_every_steps)
//   inverse_sqrt     sqrt(w / (t + w)), w = max(1, warmup_steps)
//   linear           f + (1 - f) (1 - t / T), and f for t >= T
//   multistep        d ^ (number of milestones <= step)
//   one_cycle        by cosine from start_fraction up to 1 and down to f; step total_steps - 1 is f
//   polynomial       f + (1 - f) (1 - t / T) ^ power
//   step             d ^ floor(t / drop_every_steps)
// REQUIRES: check_schedule is ok, step >= 0.
// IMPLEMENTATION: cosine, with and without restarts: Loshchilov, Hutter, "SGDR", ICLR 2017,
// equation 5; warm-up: Goyal et al., "Accurate, large minibatch SGD", 2017, section 2.2; one
// cycle: Smith, Topin, "Super-convergence", 2018, without its last phase; inverse_sqrt: Vaswani et
// al., "Attention is all you need", 2017, equation 3.
double schedule_factor(const ScheduleOptions& options, std::int64_t step);

// The rate for batches of `batch` samples where `rate` suits batches of `base_batch`.
// IMPLEMENTATION: Goyal et al. 2017, section 2.1, the linear scaling rule.
double linearly_scaled_rate(double rate, std::int64_t batch, std::int64_t base_batch);

// "1000, 2000" as rising whole numbers above 0. Fails: kInvalidArgument.
Result<std::vector<std::int64_t>> parse_milestones(std::string_view text);

}  // namespace weft
