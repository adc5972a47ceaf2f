#include "weft/app/compare/run_recorder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

// A plot shows no more.
constexpr std::size_t kTrainingPoints = 240;

}  // namespace

std::vector<RunPoint> thinned(const std::vector<RunPoint>& points, std::size_t count) {
  const std::size_t each = (points.size() + count - 1) / count;
  if (each <= 1) return points;
  std::vector<RunPoint> out;
  for (std::size_t begin = 0; begin < points.size(); begin += each) {
    const std::size_t end = std::min(points.size(), begin + each);
    RunPoint mean = points[end - 1];
    mean.loss = 0;
    mean.accuracy = 0;
    for (std::size_t i = begin; i < end; ++i) {
      mean.loss += points[i].loss / static_cast<double>(end - begin);
      mean.accuracy += points[i].accuracy / static_cast<double>(end - begin);
    }
    out.push_back(mean);
  }
  return out;
}

void RunRecorder::add_measurement(double accuracy, double loss) {
  RunPoint point = now_;
  point.accuracy = accuracy;
  point.loss = loss;
  measured_.push_back(point);
}

void RunRecorder::on_round(const Trainer& trainer, const sim::WorldRound& round) {
  const RoundMetrics& sums = round.report.metrics;
  if (trainer.is_evaluation(round.round)) return add_measurement(sums.accuracy(), sums.loss);
  if (round.report.measured_step) {
    const ValidationSums& test = sums.validation;
    const double accuracy = test.labels > 0 ? test.correct / test.labels : 0.0;
    add_measurement(accuracy, test.loss);
  }
  now_.round = static_cast<double>(round.round.value());
  now_.step = static_cast<double>(trainer.steps_done());
  now_.virtual_seconds = to_seconds(round.now);
  now_.bytes_sent = static_cast<double>(round.bytes_sent);
  now_.samples += sums.samples;
  now_.accuracy = sums.accuracy();
  now_.loss = sums.loss;
  if (!std::isfinite(sums.loss) && not_finite_round_ == 0) not_finite_round_ = now_.round;
  training_.push_back(now_);
}

ComparedRun RunRecorder::finish(const sim::WorldResult& result, ComparedRun run) {
  if (result.mean_model) {
    add_measurement(result.mean_model->accuracy(), result.mean_model->loss);
  }
  run.rounds = static_cast<std::int64_t>(now_.round);
  run.virtual_seconds = now_.virtual_seconds;
  run.bytes_sent = now_.bytes_sent;
  run.samples = now_.samples;
  run.fault = result.fault;
  run.state_hash = result.state_hash;
  run.measured = std::move(measured_);
  run.training = thinned(training_, kTrainingPoints);
  if (run.fault.empty() && not_finite_round_ > 0) {
    run.fault = fmt::format("the loss of round {:.0f} is not a number", not_finite_round_);
  }
  if (run.fault.empty() && run.measured.empty()) run.fault = "nothing was measured on the test set";
  return run;
}

}  // namespace weft
