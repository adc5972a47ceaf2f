#include "weft/train/run/summary.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "weft/base/file.h"

namespace weft {

std::string_view to_string(RunEnd end) {
  switch (end) {
    case RunEnd::kFinished:
      return "finished";
    case RunEnd::kLeft:
      return "left";
    case RunEnd::kStopped:
      return "stopped";
    case RunEnd::kQuorumLost:
      return "quorum_lost";
    case RunEnd::kMissed:
      return "missed";
    case RunEnd::kFailed:
      return "failed";
  }
  return "failed";
}

std::string action_after(RunEnd end, const Status& status, const Status& checkpoint) {
  if (end == RunEnd::kMissed) {
    return "nothing is left to take part in: ask a member for its last checkpoint";
  }
  if (end == RunEnd::kQuorumLost && !checkpoint.ok()) {
    return "the state is in no checkpoint; make room, then start again with --resume";
  }
  if (end == RunEnd::kQuorumLost) {
    return "the state is kept in a checkpoint: start again with --resume, and let the others join";
  }
  if (status.code() == Code::kCorrupt) return "join again with a ticket of a member to go on";
  return "join again with a ticket of a member, or start again with --resume";
}

std::string test_text(const Summary& summary) {
  if (summary.test_bits_per_character.has_value()) {
    return fmt::format(", test {:.4f} bits a character", *summary.test_bits_per_character);
  }
  if (summary.test_r2.has_value() && std::isfinite(*summary.test_r2)) {
    return fmt::format(", test R2 {:.4f}, mean absolute error {:.4g}", *summary.test_r2,
                       summary.test_mae.value_or(0.0));
  }
  if (!summary.test_accuracy.has_value()) return "";
  return fmt::format(", test accuracy {:.2f} %", 100.0 * *summary.test_accuracy);
}

Event summary_event(const Summary& summary) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // null in JSON
  Event event("summary");
  event.with("run_id", summary.run_id)
      .with("peer_id", summary.peer_id)
      .with("steps", summary.steps)
      .with("rounds", summary.rounds)
      .with("final_loss", summary.final_loss)
      .with("test_accuracy", summary.test_accuracy.value_or(kUnknown))
      .with("test_loss", summary.test_loss.value_or(kUnknown));
  if (summary.test_bits_per_character.has_value()) {
    event.with("test_bits_per_character", *summary.test_bits_per_character);
  }
  if (summary.test_mae.has_value()) event.with("test_mae", *summary.test_mae);
  if (summary.test_r2.has_value()) event.with("test_r2", *summary.test_r2);
  event.with("state_hash", summary.state_hash)
      .with("view_changes", summary.view_changes)
      .with("rounds_rerun", summary.rounds_rerun)
      .with("seconds", summary.seconds)
      .with("seconds_lost", summary.seconds_lost)
      .with("bytes_sent", summary.bytes_sent)
      .with("bytes_received", summary.bytes_received)
      .with("samples_per_second", summary.samples_per_second);
  if (summary.not_finite_round > 0) event.with("not_finite_round", summary.not_finite_round);
  if (summary.best_step > 0) {
    event.with("best_step", summary.best_step).with("best_loss", summary.best_loss);
  }
  if (summary.mixing) {
    event.with("members", summary.mixing->members)
        .with("neighbours", summary.mixing->neighbours)
        .with("distance", summary.mixing->distance)
        .with("missed", summary.mixing->missed)
        .with("rounds_left_out", summary.mixing->rounds_left_out);
  }
  event.with("status", std::string(to_string(summary.end)));
  return event;
}

Status write_summary(const std::string& path, const Summary& summary) {
  const std::string text = fields_to_json(summary_event(summary)) + "\n";
  return write_file_atomically(path, as_bytes(text));
}

}  // namespace weft
