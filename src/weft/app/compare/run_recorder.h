// RunRecorder: collects what a comparison keeps of a simulated run, while it goes on.
//
// Measurements on the test set stand at the round after which the state had the quality: one made
// within a round is of the state before that round, and the last one is of the state after the last
// round of training.
//
// Where it stands: WorldEvents -> here -> ComparedRun. Threads: one owner. Fails: never; a loss
// that is not a number becomes the result's fault.
#pragma once

#include <vector>

#include "weft/app/compare/compared_run.h"
#include "weft/sim/world.h"

namespace weft {

class RunRecorder {
 public:
  void on_round(const Trainer& trainer, const sim::WorldRound& round);
  // `run` has its key, contender and seed; the rest is filled in.
  ComparedRun finish(const sim::WorldResult& result, ComparedRun run);

 private:
  void add_measurement(double accuracy, double loss);

  RunPoint now_;  // after the last round of training
  std::vector<RunPoint> training_;
  std::vector<RunPoint> measured_;
  double not_finite_round_ = 0;
};

// At most `count` points, each with the mean loss and accuracy of as many neighbours, at the place
// of the last one. REQUIRES: count > 0.
std::vector<RunPoint> thinned(const std::vector<RunPoint>& points, std::size_t count);

}  // namespace weft
