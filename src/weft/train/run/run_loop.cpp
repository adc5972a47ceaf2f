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
constexpr Duration kPeersInterval = std::chrono::seconds(1);
// Asking for the counters costs a visit to the network thread: not in every round.
constexpr Duration kBytesInterval = std::chrono::milliseconds(200);
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

// Tells what the group reports until it goes.
class RunLoop::Teller {
 public:
  explicit Teller(RunLoop& loop) {
    if (loop.options_.tell_interval <= Duration::zero()) return;
    thread_ = Thread([this, &loop] {
      const auto is_set = [](bool set) { return set; };
      while (!ended_.wait_until(loop.clock_.now() + loop.options_.tell_interval, is_set)) {
        loop.tell_swarm_events();
      }
    });
  }
  ~Teller() {
    ended_.with([](bool& ended) { ended = true; });
  }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;

 private:
  Guarded<bool> ended_{false};
  Thread thread_;
};

RunResult RunLoop::run() {
  const Teller teller(*this);
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
      tell_interrupted();
      leave();
      return ended_early(RunEnd::kLeft, {});
    }
    const Result<Step> step = take_next();
    tell_swarm_events();
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
  tell_swarm_events();
  if (quorum_lost_ && recipe_.group.on_quorum_lost == "exit") return Step::kGoOn;
  return take(turn);
}

Result<RunLoop::Step> RunLoop::take(const Turn& turn) {
  switch (turn.kind) {
    case TurnKind::kWait:
      tell_peers({});
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
  tell_first_step();
  if (!trainer_.is_evaluation(turn.round)) {
    lend_state([this] { return trainer_.encode(options_.run_id); });
  }
  const Result<StepReport> report = run_round(turn);
  lend_state(nullptr);
  if (!report.ok()) return report.status();
  hear_measurement(turn, *report);
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
  hear_measurement(turn, report);
  if (trained_) return after_round(turn, report);
  exchange_.applied(turn.round, trainer_.hash());
  if (trainer_.is_evaluation(turn.round)) {
    tell_evaluation(report);
  } else {
    note_loss(report);
    tell_not_finite(turn, report);
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
    tell_evaluation(report);
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
  tell_not_finite(turn, report);
  tell_round(turn, report, hash);
  tell_eager_steps();
  tell_swarm_events();
  tell_peers(computed);
  const std::int64_t every = recipe_.checkpoint.every_steps;
  const bool due = every > 0 && trainer_.steps_done() % every < recipe_.local.steps;
  // One that fails is noted; the run goes on, and the next may succeed.
  if (due || (all_steps_done() && !recipe_.run.evaluate)) static_cast<void>(save_checkpoint());
  // Not before the first round, which it would delay; a test set that cannot be read shows early.
  return first ? trainer_.prepare_evaluation() : Status();
}

void RunLoop::tell_first_step() {
  if (trained_ || round_in_work_ != Round()) return;
  log_.append(Event("first_step").with("seconds", seconds_since_start()));
  if (options_.founder) return;
  const Result<std::string> ticket =
      administration_.ticket(std::chrono::hours(recipe_.group.ticket_valid_h));
  if (!ticket.ok()) {
    log_.append(Event("note").with("text", "no ticket: " + ticket.status().message()));
    return;
  }
  log_.append(Event("ticket")
                  .with("ticket", *ticket)
                  .with("run_id", options_.run_id)
                  .with("valid_h", recipe_.group.ticket_valid_h));
}

void RunLoop::tell_round(const Turn& turn, const StepReport& report, const StateHash& hash) {
  const TimePoint now = clock_.now();
  if (bytes_seen_at_ == TimePoint() || now - bytes_seen_at_ >= kBytesInterval) {
    bytes_seen_at_ = now;
    if (const Result<SwarmStatus> status = administration_.status(); status.ok()) {
      bytes_sent_ = status->bytes_sent;
      bytes_received_ = status->bytes_received;
    }
  }
  const RoundShares shares = meter_.shares();
  const RoundMetrics& sums = report.metrics;
  const std::uint64_t rounds = trainer_.training_rounds().value();
  const auto left = static_cast<double>(rounds) - static_cast<double>(turn.round.value());
  Event event("round");
  event.with("round", turn.round.value())
      .with("rounds", rounds)
      .with("step", trainer_.steps_done())
      .with("steps", recipe_.run.steps)
      .with("loss", sums.loss)
      .with("accuracy", sums.accuracy());
  if (const auto bits = trainer_.bits_per_character(sums.loss)) {
    event.with("bits_per_character", *bits);
  }
  event.with("members", report.mixing ? report.mixing->members : turn.members)
      .with("rank", turn.rank.value())
      .with("share", report.share)
      .with("learning_rate", report.learning_rate)
      .with("round_seconds", to_seconds(now - round_begun_))
      .with("samples_per_second", meter_.samples_per_second())
      .with("eta_s", left * meter_.seconds_per_round())
      .with("compute_share", shares.compute)
      .with("wait_share", shares.wait)
      .with("send_share", shares.send)
      .with("bytes_sent", bytes_sent_)
      .with("bytes_received", bytes_received_)
      .with("state", to_hex(hash.total));
  if (report.mixing) add_mixing(event, *report.mixing);
  log_.append(std::move(event));
}

void RunLoop::tell_evaluation(const StepReport& report) {
  evaluated_ = true;
  const RoundMetrics& sums = report.metrics;
  if (!std::isnan(sums.accuracy())) summary_.test_accuracy = sums.accuracy();
  summary_.test_loss = sums.loss;
  summary_.test_bits_per_character = trainer_.bits_per_character(sums.loss);
  if (sums.errors.has_value()) {
    summary_.test_mae = sums.errors->mean_absolute(sums.labels);
    summary_.test_r2 = sums.errors->r2(sums.labels);
  }
  log_.append(evaluation_event(trainer_, sums));
}

void RunLoop::tell_swarm_events() {
  group_.with([this](GroupNews& group) {
    const std::vector<SwarmEvent> events = administration_.take_events();
    for (const SwarmEvent& event : events) group.hear(event);
    for (const SwarmEvent& event : events) {
      if (event.kind == SwarmEventKind::kQuorumLost) quorum_lost_ = true;
      if (event.kind == SwarmEventKind::kQuorumBack) quorum_lost_ = false;
      if (event.kind == SwarmEventKind::kRunMissed) missed_ = true;
      if (std::optional<Event> told = event_of(event, group)) log_.append(*std::move(told));
    }
  });
}

// A round to which nobody gave a sample has no loss.
void RunLoop::note_loss(const StepReport& report) {
  if (!(report.metrics.samples > 0)) return;
  summary_.final_loss = report.metrics.loss;
  loss_known_ = true;
}

void RunLoop::tell_not_finite(const Turn& turn, const StepReport& report) {
  const RoundMetrics& sums = report.metrics;
  if (summary_.not_finite_round > 0 || std::isfinite(sums.loss) || !(sums.samples > 0)) return;
  summary_.not_finite_round = static_cast<std::int64_t>(turn.round.value());
  log_.append(not_finite_event(turn.round, report, recipe_));
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

void RunLoop::hear_measurement(const Turn& turn, const StepReport& report) {
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

void RunLoop::tell_eager_steps() {
  if (told_eager_) return;
  const std::string reason = trainer_.why_eager();
  if (reason.empty()) return;
  told_eager_ = true;
  log_.append(Event("note").with(
      "text", "run.capture: steps run eagerly, with the same values: " + reason));
}

void RunLoop::tell_peers(const std::vector<double>& compute_seconds) {
  const TimePoint now = clock_.now();
  if (peers_told_ != TimePoint::min() && now - peers_told_ < kPeersInterval) return;
  peers_told_ = now;
  const Result<SwarmStatus> status = administration_.status();
  if (status.ok()) log_.append(peers_event(*status, compute_seconds));
}

Status RunLoop::save_checkpoint() {
  const std::int64_t step = trainer_.steps_done();
  if (checkpoints_ == nullptr || !holds_state_ || step == 0 || step == saved_step_) return {};
  // It could only be loaded to go on with a ruined model.
  if (!is_finite()) return {};
  const Result<SavedCheckpoint> saved = checkpoints_->save(trainer_);
  if (!saved.ok()) return failed_to_save(saved.status());
  saved_step_ = step;
  told_unsaved_ = false;
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
  if (std::exchange(told_unsaved_, true)) return why;
  const std::int64_t step = trainer_.steps_done();
  log_.append(Event("checkpoint_failed")
                  .with("step", step)
                  .with("text", fmt::format("no checkpoint after step {}: {}; it is tried again "
                                            "with the next one, and at the end",
                                            step, why.message())));
  return why;
}

void RunLoop::tell_interrupted() {
  const bool begun = holds_state_ && trainer_.steps_done() > 0;
  log_.append(Event("interrupted")
                  .with("action", begun ? "leaving politely and saving the state"
                                        : "leaving politely; no step was taken, so there is "
                                          "nothing to save"));
}

void RunLoop::leave() {
  if (const Status status = administration_.leave(kLeaveLimit); !status.ok()) {
    log(LogLevel::kInfo, "leave: {}", status.message());
  }
  tell_swarm_events();
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
