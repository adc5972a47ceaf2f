// Schedules: the learning rate of a step as a factor of the recipe's, a pure function of the step.
//
// Nothing is remembered, so a run resumes at any step and all peers agree without a message.
// Rounded to f32, so that a last-bit difference between two machines' libm does not reach the
// parameters.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/status.h"

namespace weft {

struct ScheduleOptions {
  std::string name = "constant";         // constant | cosine | step
  std::int64_t total_steps = 1;          // cosine ends here
  std::int64_t warmup_steps = 0;         // all: first a straight line up to 1
  double final_fraction = 0.0;           // cosine
  std::int64_t drop_every_steps = 1000;  // step: counted from the end of the warm-up
  double drop_factor = 0.1;              // step
};

// kInvalidArgument for an unknown name or values out of range.
Status check_schedule(const ScheduleOptions& options);

// `step` counts from 0. Warm-up: (step + 1) / warmup_steps for step < warmup_steps. Then, with
// t = step - warmup_steps and T = total_steps - warmup_steps,
//   constant  1
//   cosine    final + (1 - final) (1 + cos(pi t / T)) / 2, and final for t >= T
//   step      drop_factor ^ floor(t / drop_every_steps)
// REQUIRES: check_schedule is ok, step >= 0.
// IMPLEMENTATION: cosine: Loshchilov, Hutter, "SGDR", ICLR 2017, equation 5, without restarts;
// warm-up: Goyal et al., "Accurate, large minibatch SGD", 2017, section 2.2.
double schedule_factor(const ScheduleOptions& options, std::int64_t step);

}  // namespace weft
