#include "weft/app/doctor/doctor.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/app/doctor/doctor_checks.h"
#include "weft/app/doctor/doctor_facts.h"
#include "weft/app/doctor/doctor_network.h"
#include "weft/app/folder/find_run.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/base/version.h"
#include "weft/net/rendezvous_opendht.h"
#include "weft/train/event/event.h"

namespace weft {
namespace {

constexpr std::size_t kStepWidth = 16;

// Prints each finding as soon as it is there, and keeps it.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  void add(Finding finding) {
    if (json_) {
      print_text(fields_to_json(Event("doctor")
                                    .with("step", finding.step)
                                    .with("result", std::string(to_string(finding.result)))
                                    .with("text", finding.text)
                                    .with("remedy", finding.remedy)) +
                 "\n");
    } else {
      print_text(finding_text(finding));
    }
    findings_.push_back(std::move(finding));
  }
  void add(std::vector<Finding> findings) {
    for (Finding& finding : findings) add(std::move(finding));
  }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  bool json_;
  std::vector<Finding> findings_;
};

Finding examine_version() {
  return {"version", DoctorResult::kGood,
          fmt::format("weft {}, joining {}, discovery {}, OpenDHT {}", version(), kJoinVersion,
                      kDiscoveryVersion, has_opendht() ? "yes" : "no"),
          ""};
}

// The key that a join into this folder would use; nothing where there is none yet.
Result<std::optional<PeerIdentity>> identity_of(const DoctorRequest& request) {
  const std::string path = request.out + "/identity";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<PeerIdentity>();
  WEFT_TRY_ASSIGN(PeerIdentity identity, PeerIdentity::load_or_create(path));
  return std::optional<PeerIdentity>(std::move(identity));
}

Finding examine_key(const Result<std::optional<PeerIdentity>>& identity, const std::string& out) {
  if (!identity.ok()) {
    return {"key", DoctorResult::kFailed, identity.status().message(),
            "repair it, or choose another --out"};
  }
  return {"key", DoctorResult::kGood,
          identity->has_value() ? (*identity)->id().to_string()
                                : fmt::format("none in {} yet: `weft run` or `weft join` makes "
                                              "one",
                                              out),
          ""};
}

}  // namespace

std::string_view to_string(DoctorResult result) {
  switch (result) {
    case DoctorResult::kGood:
      return "ok";
    case DoctorResult::kNote:
      return "note";
    case DoctorResult::kFailed:
      return "FAILED";
    case DoctorResult::kSkipped:
      return "-";
  }
  return "";
}

std::string finding_text(const Finding& finding) {
  std::string out = fmt::format("{:<7}{:<{}} {}\n", to_string(finding.result), finding.step,
                                kStepWidth, finding.text);
  if (!finding.remedy.empty()) {
    out += fmt::format("{:<7}{:<{}} -> {}\n", "", "", kStepWidth, finding.remedy);
  }
  return out;
}

std::string findings_summary(const std::vector<Finding>& findings) {
  std::string names;
  int failed = 0;
  for (const Finding& finding : findings) {
    if (finding.result != DoctorResult::kFailed) continue;
    ++failed;
    names += (names.empty() ? "" : ", ") + finding.step;
  }
  if (failed == 0) return "no obstacle found";
  return fmt::format("{} of {} steps failed: {}", failed, findings.size(), names);
}

ExitCode findings_code(const std::vector<Finding>& findings) {
  ExitCode code = ExitCode::kOk;
  for (const Finding& finding : findings) {
    if (finding.result != DoctorResult::kFailed) continue;
    if (finding.step == "ticket") return ExitCode::kUsage;
    code = ExitCode::kUnavailable;
  }
  return code;
}

ExitCode doctor_command(const DoctorRequest& request) {
  Report report(request.json);
  report.add(examine_version());
  report.add(judge_processor(processor_facts()));
  report.add(judge_memory(memory_facts()));
  report.add(judge_disk(disk_facts(request.out)));
  report.add(judge_files(open_files_max()));
  const Result<std::optional<PeerIdentity>> identity = identity_of(request);
  report.add(examine_key(identity, request.out));
  report.add(examine_ports(request));

  const Result<std::vector<DiscoveredRun>> runs = runs_on_lan();
  ClockFacts clock = clock_facts();
  if (runs.ok()) {
    for (const DiscoveredRun& run : *runs) {
      for (const DiscoveredMember& member : run.answers) {
        clock.ahead_s.push_back(member.clock_ahead_s);
      }
    }
  }
  report.add(judge_clock(clock));
  report.add(judge_lan(runs));

  std::optional<Ticket> ticket;
  if (!request.ticket.empty()) {
    const Result<Ticket> parsed = ticket_or_code(request.ticket, {});
    report.add(judge_ticket(parsed, clock.unix_time_s));
    if (parsed.ok()) ticket = *parsed;
  }
  report.add(examine_rendezvous(request, ticket ? &*ticket : nullptr));
  if (ticket && identity.ok()) {
    report.add(examine_members(*ticket, identity->value_or(PeerIdentity::generate())));
  }
  if (!request.json) print_text(findings_summary(report.findings()) + "\n");
  return findings_code(report.findings());
}

}  // namespace weft
