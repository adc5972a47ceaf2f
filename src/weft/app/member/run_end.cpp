#include "weft/app/member/run_end.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/app/member/peer_command.h"
#include "weft/app/member/resume.h"
#include "weft/base/file.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

bool is_ruined(const Summary& summary) {
  return summary.not_finite_round > 0 && !std::isfinite(summary.final_loss);
}

ExitCode end_code(const RunResult& result) {
  // Whoever looks at the code alone would believe that the state is there.
  if (!result.checkpoint.ok() && result.summary.end != RunEnd::kFailed) {
    return ExitCode::kUnavailable;
  }
  switch (result.summary.end) {
    case RunEnd::kFinished:
    case RunEnd::kStopped:
      return is_ruined(result.summary) ? ExitCode::kNotFinite : ExitCode::kOk;
    case RunEnd::kLeft:
      return ExitCode::kInterrupted;
    case RunEnd::kQuorumLost:
      return ExitCode::kQuorumLost;
    case RunEnd::kMissed:
      return ExitCode::kRunOver;
    case RunEnd::kFailed:
      return exit_code_of(result.status);
  }
  return ExitCode::kFailure;
}

// What is not written by then stays unwritten: a disk or reader that hangs does not hinder the end.
// The first thing that is missing from a file.
Status close_files(const RunFiles& files) {
  Status missing;
  if (files.tensorboard != nullptr) {
    missing = files.tensorboard->close(kOutputLimit).with_context("tensorboard");
  }
  const Status complete = files.log.close(kOutputLimit);
  if (missing.ok()) {
    missing = complete;
  } else if (!complete.ok()) {
    report(complete);
  }
  files.terminal.close(kOutputLimit);
  return missing;
}

// What a person may take of a run whose loss is not a number.
std::string ruin_text(const Summary& summary, const OutFolder& out) {
  const std::vector<std::string> kept = kept_checkpoints(out);
  return fmt::format("the loss was not a number from round {} on: the model is useless; {}",
                     summary.not_finite_round,
                     kept.empty() ? "no checkpoint was written before (checkpoint.every_steps)"
                                  : "the newest checkpoint with numbers is " + kept.back());
}

}  // namespace

void say_summary(Terminal& terminal, const Summary& summary, const OutFolder& out) {
  const std::string work =
      summary.took_part
          ? fmt::format("loss {}{}, {:.0f} samples/s, {:.1f} s lost", loss_text(summary.final_loss),
                        test_text(summary), summary.samples_per_second, summary.seconds_lost)
          : "without a round of its own" + test_text(summary);
  terminal.say(fmt::format("{} after {} step{} in {:.1f} s: {}, {:.1f} MB sent, state {}",
                           to_string(summary.end), summary.steps, summary.steps == 1 ? "" : "s",
                           summary.seconds, work, static_cast<double>(summary.bytes_sent) / 1e6,
                           summary.state_hash.substr(0, 16)));
  if (summary.mixing && !summary.mixing->common) {
    const MixingSummary& mixing = *summary.mixing;
    const std::string apart =
        mixing.neighbours == 0
            ? ""
            : fmt::format(", {} apart from the mean with {}", percent_text(mixing.distance),
                          counted(mixing.neighbours, "neighbour"));
    terminal.say(
        fmt::format("loose exchange: {} known in the last round{}; each member has a model of its "
                    "own, and this is this peer's",
                    counted(mixing.members, "member"), apart));
  }
  if (is_ruined(summary)) terminal.say(ruin_text(summary, out));
  if (summary.best_step > 0) {
    const std::string best = out.checkpoints_path() + "/best.safetensors";
    terminal.say(fmt::format(
        "the smallest loss on the test set was {}, after step {}{}", loss_text(summary.best_loss),
        summary.best_step,
        is_file(best) ? fmt::format(": {}; {} alone stands for the newest", best, out.path())
                      : std::string()));
  }
  terminal.say(fmt::format("files: {}/summary.json, events.jsonl{}", out.path(),
                           kept_checkpoints(out).empty() ? "" : ", checkpoints/"));
}

ExitCode end_of_run(const RunResult& result, const Status& written, const RunFiles& files) {
  const Status missing = close_files(files);
  if (!result.checkpoint.ok()) {
    report(unsaved(result.checkpoint, result.summary.steps, files.out));
  }
  if (!result.status.ok()) report(result.status);
  if (!written.ok()) report(written);
  if (!missing.ok()) report(missing);
  const ExitCode code = end_code(result);
  // What is missing from a file is seen by nobody who looks at the code alone.
  const bool whole = written.ok() && missing.ok();
  return code == ExitCode::kOk && !whole ? ExitCode::kUnavailable : code;
}

}  // namespace weft
