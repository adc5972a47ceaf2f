// RunLoop: takes part in a run from its first turn to its end.
//
// Asks the RoundExchange for the next turn, lets the Trainer perform it, writes events and
// checkpoints, and leaves the run when asked to. One loop serves founder, joiner and resumed peers
// alike.
//
// Where it stands: app -> RunLoop -> Trainer and RoundExchange, GroupAdministration. See
// docs/ARCHITECTURE.md, "The step". Threads: the training thread; another one also logs the group's
// reports, so that they are logged at once while this one computes or waits. Fails: never throws;
// errors are in RunResult::status.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/thread.h"
#include "weft/base/time.h"
#include "weft/collective/diagnosis/recent_times.h"
#include "weft/train/event/event_log.h"
#include "weft/train/event/swarm_events.h"
#include "weft/train/exchange/group_administration.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/run/checkpoints.h"
#include "weft/train/run/round_meter.h"
#include "weft/train/run/run_events.h"
#include "weft/train/run/summary.h"
#include "weft/train/run/trainer.h"

namespace weft {

struct RunLoopOptions {
  std::string run_id;
  // The start of the process, from which "seconds" in events and summary count.
  TimePoint started;
  // True once a person asked this peer to leave; checked between rounds.
  std::function<bool()> stop_asked;
  // The interval at which the group's reports are logged while the training thread is busy; zero:
  // only between turns. REQUIRES if not zero: take_events() of the group may be called by any
  // thread.
  Duration report_interval{};
  // A founder holds the first state and has shown its ticket; others get both from members.
  bool founder = true;
};

// A member's group by its two sides, which may be one object.
struct RunGroup {
  RoundExchange& rounds;
  GroupAdministration& administration;
};

struct RunResult {
  Summary summary;
  // Why the run ended early; ok if it finished or was asked to leave.
  Status status;
  // Why the last state could not be written to a checkpoint; ok if it was, or if there was none to
  // write.
  Status checkpoint;
};

class RunLoop {
 public:
  // Borrows everything, which must outlive this. `checkpoints` may be null: none are written.
  RunLoop(Trainer& trainer, const RunGroup& sides, EventLog& log, Checkpoints* checkpoints,
          const Clock& clock, RunLoopOptions options);

  RunResult run();

 private:
  enum class Step : std::uint8_t { kGoOn, kEnd };
  class ReportLogger;

  RunResult take_turns();

  Result<Step> take_next();
  Result<Step> take(const Turn& turn);
  Status train(const Turn& turn);
  Status load(const Turn& turn);
  Status publish(const Turn& turn);
  // Nothing where nobody takes the state from here.
  void lend_state(const StateReader& read);
  void merge(const Turn& turn);
  Status apply(const Turn& turn);
  // Newcomers get the state while this member pauses, and while it computes where nothing of the
  // state changes meanwhile.
  Result<StepReport> run_round(const Turn& turn);
  // Waits in small pieces, so that a request to stop is noticed; true if there was one.
  bool pause_until(TimePoint end);
  Status after_round(const Turn& turn, const StepReport& report);
  void log_round(const Turn& turn, const StepReport& report, const StateHash& hash);
  void log_evaluation(const StepReport& report);
  // Any thread.
  void log_swarm_events();
  // Once a run.
  void note_loss(const StepReport& report);
  void log_not_finite(const Turn& turn, const StepReport& report);
  // As all members decide, from the sums of the same round.
  bool must_stop();
  bool is_exhausted() const;
  void keep_candidate(Round round);
  void note_measurement(const Turn& turn, const StepReport& report);
  bool is_finite() const;
  void log_eager_steps();
  void log_peers(const std::vector<double>& compute_seconds);
  // What a diagnosis of the group needs; nothing where its members have no ranks.
  void log_timings(const Turn& turn, const RoundMetrics& metrics);
  void log_first_step();
  // Also ok if there is nothing new to save.
  Status save_checkpoint();
  Status failed_to_save(const Status& why);
  void leave();
  void log_interrupted();
  bool all_steps_done() const;
  RunResult ended_early(RunEnd end, const Status& status);
  RunResult ended(RunEnd end, const Status& status);
  double seconds_since_start() const;

  Trainer& trainer_;
  RoundExchange& exchange_;
  GroupAdministration& administration_;
  EventLog& log_;
  Checkpoints* checkpoints_;
  const Clock& clock_;
  const RunLoopOptions options_;
  const Recipe& recipe_;
  RoundMeter meter_;
  Summary summary_;
  Round round_in_work_;
  TimePoint round_begun_;  // when round_in_work_ was first given
  TimePoint pace_until_;   // no new round before
  TimePoint peers_logged_ = TimePoint::min();
  // Compute times of recent rounds of one view, and when and after which round the event "timings"
  // was last logged, with the bytes sent until then.
  RecentTimes computed_;
  ViewId computed_view_;
  TimePoint timings_logged_ = TimePoint::min();
  Round timings_round_;
  std::uint64_t timings_bytes_ = 0;
  MeasuringNews measuring_;
  TimePoint bytes_seen_at_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_received_ = 0;
  // Taken and logged under its lock, so that events keep their order.
  Guarded<GroupNews> group_;
  std::int64_t saved_step_ = -1;
  bool trained_ = false;
  bool logged_eager_ = false;
  bool measured_ = false;        // this peer knows a measurement on the test set
  bool unsaved_logged_ = false;  // since the last checkpoint that was written
  bool holds_state_ = false;
  // Set by the loop thread as well.
  Atomic<bool> quorum_lost_ = false;
  Atomic<bool> missed_ = false;
  bool evaluated_ = false;
  bool loss_known_ = false;
};

}  // namespace weft
