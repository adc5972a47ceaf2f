// RunLoop: the events that it logs about its rounds and its group.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "weft/train/run/run_events.h"
#include "weft/train/run/run_loop.h"

namespace weft {
namespace {

constexpr Duration kPeersInterval = std::chrono::seconds(1);
// In a group of eight it is twice as long, and so on: the event has a number for each link.
constexpr Duration kTimingsInterval = std::chrono::seconds(2);
constexpr int kTimingsMembers = 8;
// Asking for the counters costs a visit to the network thread: not in every round.
constexpr Duration kBytesInterval = std::chrono::milliseconds(200);

}  // namespace

void RunLoop::log_first_step() {
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

void RunLoop::log_round(const Turn& turn, const StepReport& report, const StateHash& hash) {
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

void RunLoop::log_evaluation(const StepReport& report) {
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

void RunLoop::log_swarm_events() {
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

void RunLoop::log_not_finite(const Turn& turn, const StepReport& report) {
  const RoundMetrics& sums = report.metrics;
  if (summary_.not_finite_round > 0 || std::isfinite(sums.loss) || !(sums.samples > 0)) return;
  summary_.not_finite_round = static_cast<std::int64_t>(turn.round.value());
  log_.append(not_finite_event(turn.round, report, recipe_));
}

void RunLoop::log_eager_steps() {
  if (logged_eager_) return;
  const std::string reason = trainer_.why_eager();
  if (reason.empty()) return;
  logged_eager_ = true;
  log_.append(Event("note").with(
      "text", "run.capture: steps run eagerly, with the same values: " + reason));
}

void RunLoop::log_peers(const std::vector<double>& compute_seconds) {
  const TimePoint now = clock_.now();
  if (peers_logged_ != TimePoint::min() && now - peers_logged_ < kPeersInterval) return;
  peers_logged_ = now;
  const Result<SwarmStatus> status = administration_.status();
  if (status.ok()) log_.append(peers_event(*status, compute_seconds));
}

void RunLoop::log_timings(const Turn& turn, const RoundMetrics& metrics) {
  // Who is alone waits for nobody; members of other engines, and those that gossip, have no view.
  if (turn.peers.size() < 2) return;
  if (std::exchange(computed_view_, turn.view) != turn.view) computed_.clear();
  std::vector<double> computed = metrics.compute_seconds;
  // Nothing was reported.
  std::ranges::replace(computed, 0.0, -1.0);
  const std::size_t members = computed.size();
  computed_.add(std::move(computed));
  const TimePoint now = clock_.now();
  if (timings_logged_ == TimePoint::min()) {
    timings_logged_ = now;
    timings_round_ = turn.round;
    timings_bytes_ = bytes_sent_;
  }
  const Duration interval =
      kTimingsInterval + static_cast<int>(members) / kTimingsMembers * kTimingsInterval;
  if (now - timings_logged_ < interval) return;
  const Result<SwarmStatus> status = administration_.status();
  // The members of the round, and not those of a newer view.
  if (!status.ok() || status->view != turn.view || status->members.size() != members) return;
  const auto rounds = static_cast<double>(turn.round.value() - timings_round_.value());
  RoundTimings timings;
  timings.newest = turn.round;
  timings.rounds = static_cast<std::int64_t>(computed_.rounds());
  timings.round_seconds = meter_.seconds_per_round();
  timings.round_bytes = static_cast<double>(status->bytes_sent - timings_bytes_) / rounds;
  timings.compute_seconds = computed_.medians();
  log_.append(timings_event(*status, timings));
  timings_logged_ = now;
  timings_round_ = turn.round;
  timings_bytes_ = status->bytes_sent;
}

void RunLoop::log_interrupted() {
  const bool begun = holds_state_ && trainer_.steps_done() > 0;
  log_.append(Event("interrupted")
                  .with("action", begun ? "leaving politely and saving the state"
                                        : "leaving politely; no step was taken, so there is "
                                          "nothing to save"));
}

}  // namespace weft
