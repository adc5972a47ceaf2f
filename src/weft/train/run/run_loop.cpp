#include "weft/train/run/run_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "weft/base/log.h"
#include "weft/base/thread.h"
#include "weft/train/run/run_events.h"

namespace weft {
namespace {

constexpr Duration kPausePiece = std::chrono::milliseconds(20);
constexpr Duration kLeaveLimit = std::chrono::seconds(5);

}  // namespace

RunLoop::RunLoop(Trainer& trainer, const RunGroup& sides, EventLog& log, Checkpoints* checkpoints,
                 const Clock& clock, RunLoopOptions options)
    : trainer_(trainer),
      exchange_(sides.rounds),
      administration_(sides.administration),
      log_(log),
      checkpoints_(checkpoints),
      clock_(clock),
      options_(std::move(options)),
      recipe_(trainer.recipe()),
      holds_state_(options_.founder) {
  summary_.run_id = options_.run_id;
  summary_.peer_id = administration_.self().to_string();
  summary_.final_loss = std::numeric_limits<double>::quiet_NaN();
  group_.with([this](GroupNews& group) { group.self = administration_.self(); });
}

// Logs what the group reports, in a thread of its own, until it is destroyed.
class RunLoop::ReportLogger {
 public:
  explicit ReportLogger(RunLoop& loop) {
    if (loop.options_.report_interval <= Duration::zero()) return;
    thread_ = Thread([this, &loop] {
      const auto is_set = [](bool set) { return set; };
      while (!ended_.wait_until(loop.clock_.now() + loop.options_.report_interval, is_set)) {
        loop.log_swarm_events();
      }
    });
  }
  ~ReportLogger() {
    ended_.with([](bool& ended) { ended = true; });
  }
  ReportLogger(const ReportLogger&) = delete;
  ReportLogger& operator=(const ReportLogger&) = delete;

 private:
  Guarded<bool> ended_{false};
  Thread thread_;
};

RunResult RunLoop::run() {
  const ReportLogger logger(*this);
  trainer_.watch_measurements([this](std::int64_t done, std::int64_t all) {
    if (std::optional<Event> told = measuring_.hear(done, all, clock_.now())) {
      log_.append(*std::move(told));
    }
  });
  RunResult result = take_turns();
  trainer_.watch_measurements({});
  return result;
}

RunResult RunLoop::take_turns() {
  for (;;) {
    if (options_.stop_asked()) {
      log_interrupted();
      leave();
      return ended_early(RunEnd::kLeft, {});
    }
    const Result<Step> step = take_next();
    log_swarm_events();
    if (must_stop()) {
      leave();
      return ended(RunEnd::kStopped, {});
    }
    if (quorum_lost_ && recipe_.group.on_quorum_lost == "exit") {
      return ended_early(RunEnd::kQuorumLost, unavailable("the quorum of the group is lost"));
    }
    if (!step.ok() && step.status().code() == Code::kAborted) continue;
    if (!step.ok()) {
      return ended_early(missed_ ? RunEnd::kMissed : RunEnd::kFailed, step.status());
    }
    if (*step == Step::kEnd) return ended(RunEnd::kFinished, {});
  }
}

Result<RunLoop::Step> RunLoop::take_next() {
  WEFT_TRY_ASSIGN(const Turn turn, exchange_.next());
  log_swarm_events();
  if (quorum_lost_ && recipe_.group.on_quorum_lost == "exit") return Step::kGoOn;
  return take(turn);
}

Result<RunLoop::Step> RunLoop::take(const Turn& turn) {
  switch (turn.kind) {
    case TurnKind::kWait:
      log_peers({});
      break;
    case TurnKind::kLoadState:
      WEFT_TRY(load(turn));
      break;
    case TurnKind::kSnapshot:
      WEFT_TRY(publish(turn));
      break;
    case TurnKind::kMerge:
      merge(turn);
      break;
    case TurnKind::kApply:
      WEFT_TRY(apply(turn));
      break;
    case TurnKind::kTrain:
      WEFT_TRY(train(turn));
      break;
    case TurnKind::kFinished:
      return Step::kEnd;
  }
  return Step::kGoOn;
}

Status RunLoop::train(const Turn& turn) {
  // Loaded, or the group goes on from the state that this peer came back with.
  holds_state_ = true;
  log_first_step();
  if (!trainer_.is_evaluation(turn.round)) {
    lend_state([this] { return trainer_.encode(options_.run_id); });
  }
  const Result<StepReport> report = run_round(turn);
  lend_state(nullptr);
  if (!report.ok()) return report.status();
  note_measurement(turn, *report);
  return after_round(turn, *report);
}

Result<StepReport> RunLoop::run_round(const Turn& turn) {
  if (turn.round != round_in_work_) {
    if (trainer_.is_evaluation(turn.round)) {
      log_.append(Event("note").with("text", "the model is measured on the test set"));
    }
    keep_candidate(turn.round);
    round_in_work_ = turn.round;
    round_begun_ = clock_.now();
    // The turn is given up, and the next look at what was asked ends the run.
    if (pause_until(pace_until_)) return aborted("asked to stop");
    pace_until_ = clock_.now() + from_seconds(recipe_.run.round_seconds_min);
  }
  if (!trainer_.rests_in_rounds()) lend_state(nullptr);
  return trainer_.run_round(turn, exchange_);
}

void RunLoop::lend_state(const StateReader& read) {
  if (StateLender* const lender = exchange_.state_lender()) lender->lend_state(read);
}

Status RunLoop::publish(const Turn& turn) {
  StateLender* const lender = exchange_.state_lender();
  if (lender == nullptr)
    return internal_error("snapshot: asked for by an exchange that lends none");
  lender->publish_state(turn.round, trainer_.encode(options_.run_id));
  return {};
}

Status RunLoop::load(const Turn& turn) {
  WEFT_TRY(trainer_.adopt(turn.state.span()));
  holds_state_ = true;
  log_.append(Event("state_loaded")
                  .with("round", turn.round.value())
                  .with("bytes", turn.state.size())
                  .with("seconds", seconds_since_start()));
  return {};
}

// The bytes are the same at all members, and so is what becomes of them: a state that is of no use
// is left out by all.
void RunLoop::merge(const Turn& turn) {
  const Status merged = trainer_.merge(turn.state.span(), turn.weight);
  if (merged.ok()) return;
  log_.append(Event("note").with(
      "text", "the other branch's state was left out of the mean: " + merged.message()));
}

Status RunLoop::apply(const Turn& turn) {
  keep_candidate(turn.round);
  WEFT_TRY_ASSIGN(const StepReport report, trainer_.apply_round(turn));
  note_measurement(turn, report);
  if (trained_) return after_round(turn, report);
  exchange_.applied(turn.round, trainer_.hash());
  if (trainer_.is_evaluation(turn.round)) {
    log_evaluation(report);
  } else {
    note_loss(report);
    log_not_finite(turn, report);
  }
  return {};
}

bool RunLoop::pause_until(TimePoint end) {
  // What asks to stop is a signal, whose handler can wake nobody.
  return poll_until(clock_, end, kPausePiece, options_.stop_asked);
}

Status RunLoop::after_round(const Turn& turn, const StepReport& report) {
  const StateHash hash = trainer_.hash();
  exchange_.applied(turn.round, hash);
  const bool first = !std::exchange(trained_, true);
  if (trainer_.is_evaluation(turn.round)) {
    log_evaluation(report);
    static_cast<void>(save_checkpoint());  // before newcomers are waited for
    return {};
  }
  const std::vector<double>& computed = report.metrics.compute_seconds;
  RoundTiming timing;
  timing.seconds = to_seconds(clock_.now() - round_begun_);
  timing.compute_seconds = report.compute_seconds;
  timing.exchange_seconds = report.exchange_seconds;
  timing.slowest_seconds =
      computed.empty() ? 0.0 : *std::max_element(computed.begin(), computed.end());
  timing.samples = static_cast<std::int64_t>(report.metrics.samples);
  meter_.add(timing);
  note_loss(report);
  if (report.mixing) add_mixing(summary_, *report.mixing);
  log_not_finite(turn, report);
  log_round(turn, report, hash);
  log_eager_steps();
  log_swarm_events();
  log_peers(computed);
  log_timings(turn, report.metrics);
  const std::int64_t every = recipe_.checkpoint.every_steps;
  const bool due = every > 0 && trainer_.steps_done() % every < recipe_.local.steps;
  // One that fails is noted; the run goes on, and the next may succeed.
  if (due || (all_steps_done() && !recipe_.run.evaluate)) static_cast<void>(save_checkpoint());
  // Not before the first round, which it would delay; a test set that cannot be read shows early.
  return first ? trainer_.prepare_evaluation() : Status();
}

// A round to which nobody gave a sample has no loss.
void RunLoop::note_loss(const StepReport& report) {
  if (!(report.metrics.samples > 0)) return;
  summary_.final_loss = report.metrics.loss;
  loss_known_ = true;
}

bool RunLoop::is_exhausted() const {
  const std::int64_t patience = recipe_.run.early_stop_patience;
  return patience > 0 && trainer_.validation().since_best() >= patience;
}

bool RunLoop::must_stop() {
  if (summary_.not_finite_round > 0 && recipe_.run.on_not_finite == "stop") return true;
  // After the last step there is nothing to stop.
  if (!measured_ || !is_exhausted() || all_steps_done()) return false;
  log_.append(stopped_event(trainer_));
  return true;
}

// The state before a round that measures it may turn out to be the best: it is kept until then.
void RunLoop::keep_candidate(Round round) {
  if (checkpoints_ == nullptr || !recipe_.checkpoint.keep_best || !trainer_.measures(round)) return;
  if (const Status saved = checkpoints_->save_candidate(trainer_); !saved.ok()) {
    static_cast<void>(failed_to_save(saved));
  }
}

void RunLoop::note_measurement(const Turn& turn, const StepReport& report) {
  if (!report.measured_step) return;
  measured_ = true;
  const Validation& seen = trainer_.validation();
  summary_.best_step = seen.best_step();
  summary_.best_loss = seen.best_loss();
  const bool at_end = trainer_.is_evaluation(turn.round);
  if (!at_end) log_.append(validation_event(trainer_, report));
  if (checkpoints_ == nullptr || !recipe_.checkpoint.keep_best) return;
  Status kept;
  if (at_end && report.best) kept = checkpoints_->save_candidate(trainer_);
  if (kept.ok()) kept = checkpoints_->settle_candidate(report.best);
  if (!kept.ok()) static_cast<void>(failed_to_save(kept));
}

bool RunLoop::is_finite() const {
  const std::span<const float> parameters = std::as_const(trainer_.arena()).parameters();
  return (!loss_known_ || std::isfinite(summary_.final_loss)) &&
         std::all_of(parameters.begin(), parameters.end(),
                     [](float value) { return std::isfinite(value); });
}

Status RunLoop::save_checkpoint() {
  const std::int64_t step = trainer_.steps_done();
  if (checkpoints_ == nullptr || !holds_state_ || step == 0 || step == saved_step_) return {};
  // It could only be loaded to go on with a ruined model.
  if (!is_finite()) return {};
  const Result<SavedCheckpoint> saved = checkpoints_->save(trainer_);
  if (!saved.ok()) return failed_to_save(saved.status());
  saved_step_ = step;
  unsaved_logged_ = false;
  for (const Status& each : {saved->pruned, checkpoints_->save_residual(recipe_, exchange_)}) {
    if (!each.ok()) log_.append(Event("note").with("text", each.message()));
  }
  log_.append(Event("checkpoint")
                  .with("path", saved->path)
                  .with("step", saved->step)
                  .with("bytes", saved->bytes));
  return {};
}

Status RunLoop::failed_to_save(const Status& why) {
  if (std::exchange(unsaved_logged_, true)) return why;
  const std::int64_t step = trainer_.steps_done();
  log_.append(Event("checkpoint_failed")
                  .with("step", step)
                  .with("text", fmt::format("no checkpoint after step {}: {}; it is tried again "
                                            "with the next one, and at the end",
                                            step, why.message())));
  return why;
}

void RunLoop::leave() {
  if (const Status status = administration_.leave(kLeaveLimit); !status.ok()) {
    log(LogLevel::kInfo, "leave: {}", status.message());
  }
  log_swarm_events();
}

bool RunLoop::all_steps_done() const {
  return holds_state_ && trainer_.rounds_done() >= trainer_.training_rounds();
}

// The model is final once all steps are done, whatever becomes of the evaluation and of the others.
RunResult RunLoop::ended_early(RunEnd end, const Status& status) {
  const bool outside =
      status.ok() || status.code() == Code::kUnavailable || status.code() == Code::kTimeout;
  if (!all_steps_done() || !outside) return ended(end, status);
  if (recipe_.run.evaluate && !evaluated_) {
    const std::string why = status.ok() ? "this peer was asked to end" : status.message();
    log_.append(Event("note").with(
        "text",
        "all steps are done and the model is final; the test set was not measured: " + why));
  }
  return ended(RunEnd::kFinished, {});
}

double RunLoop::seconds_since_start() const { return to_seconds(clock_.now() - options_.started); }

RunResult RunLoop::ended(RunEnd end, const Status& status) {
  const bool sound = status.code() != Code::kCorrupt && status.code() != Code::kInternal;
  Status saved;
  if (end != RunEnd::kFailed || sound) saved = save_checkpoint();
  if (!status.ok()) {
    log_.append(Event("failed")
                    .with("reason", status.message())
                    .with("action", action_after(end, status, saved)));
  }
  const Result<SwarmStatus> asked = administration_.status();
  const SwarmStatus group = asked.ok() ? *asked : SwarmStatus();
  summary_.end = end;
  summary_.took_part = trained_;
  summary_.steps = trainer_.steps_done();
  summary_.rounds = static_cast<std::int64_t>(trainer_.rounds_done().value());
  summary_.state_hash = trainer_.digest();
  summary_.view_changes = group.view_changes;
  if (summary_.mixing) summary_.mixing->rounds_left_out = group.rounds_late;
  summary_.rounds_rerun = group.rounds_rerun;
  summary_.seconds_lost = group.seconds_lost;
  summary_.bytes_sent = group.bytes_sent;
  summary_.bytes_received = group.bytes_received;
  summary_.seconds = seconds_since_start();
  summary_.samples_per_second =
      trained_ ? meter_.mean_samples_per_second() : std::numeric_limits<double>::quiet_NaN();
  return {summary_, status, saved};
}

}  // namespace weft
