#include "weft/app/doctor/run_doctor.h"

#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/app/doctor/run_diagnosis.h"
#include "weft/app/folder/control_commands.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

// Where a peer runs, its present wait takes the place of the last one that it has logged.
void ask_for_wait(RunLog& log, const std::string& folder) {
  Result<Event> answer = present_wait(folder);
  if (!answer.ok()) return;
  log.wait.reset();
  if (answer->number("seconds") > 0) log.wait = *std::move(answer);
}

Event verdict_event(const RunDiagnosis& run, const Verdict& verdict) {
  const auto name = [&](int member) { return run.members[static_cast<std::size_t>(member)]; };
  Event event("doctor");
  event.with("class", std::string(to_string(verdict.fault))).with("peer", name(verdict.member));
  if (verdict.other >= 0) event.with("other", name(verdict.other));
  if (verdict.sequence > 0) event.with("round", verdict.sequence);
  return event.with("measured", verdict.measured)
      .with("usual", verdict.usual)
      .with("text", verdict_text(run, verdict))
      .with("remedy", verdict_remedy(run, verdict));
}

Event loss_event(const Event& lost) {
  return Event("doctor")
      .with("class", "lost")
      .with("peer", lost.text("peer"))
      .with("round", lost.integer("round"))
      .with("text", fmt::format("peer {} was lost in round {}: {}", printable(lost.text("peer")),
                                lost.integer("round"), printable(lost.text("reason"))))
      .with("remedy", "");
}

void print_finding(const Event& event, bool json) {
  if (json) {
    print_text(fields_to_json(event) + "\n");
    return;
  }
  const std::string remedy = event.text("remedy");
  print_text(event.text("text") + "\n" + (remedy.empty() ? "" : "  -> " + remedy + "\n"));
}

}  // namespace

ExitCode run_doctor_command(const std::vector<std::string>& folders, bool json) {
  std::vector<RunLog> logs;
  for (const std::string& given : folders) {
    for (const std::string& folder : peer_folders(given)) {
      Result<RunLog> log = read_run_log(folder);
      if (!log.ok()) return report(log.status());
      ask_for_wait(*log, folder);
      logs.push_back(*std::move(log));
    }
  }
  const Result<RunDiagnosis> run = diagnose_run(logs);
  if (!run.ok()) return report(run.status());
  for (const Verdict& verdict : run->verdicts) print_finding(verdict_event(*run, verdict), json);
  for (const Event& lost : logs.front().lost) print_finding(loss_event(lost), json);
  const std::string summary = diagnosis_summary(*run);
  if (!json) {
    print_text(summary + "\n");
    return ExitCode::kOk;
  }
  print_text(fields_to_json(Event("doctor")
                                .with("healthy", run->verdicts.empty())
                                .with("members", run->members)
                                .with("round", run->round)
                                .with("logs", run->logs)
                                .with("other_logs", run->other_logs)
                                .with("text", summary)) +
             "\n");
  return ExitCode::kOk;
}

}  // namespace weft
