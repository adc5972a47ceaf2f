// `weft doctor`: what prevents this machine from taking part, step by step, each with its remedy.
//
// Where it stands: main -> here -> doctor_facts (asks the machine), doctor_network (asks the
// network) -> doctor_checks (judges). Threads: the main thread.
// Fails: never; a step that cannot be checked gives the reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/app/terminal/exit_code.h"

namespace weft {

struct DoctorRequest {
  // Empty: this machine alone.
  std::string ticket;
  std::string listen = "*:0";
  std::string out = "weft-runs";
  // "host:port" of STUN servers; two of them reveal the kind of a NAT.
  std::vector<std::string> stun;
  // Asks the router to open the port, and to close it again.
  bool map_port = false;
  // "host:port" of an OpenDHT node.
  std::string rendezvous;
  bool json = false;
  // Folders of peers of a run that is looked at, in place of this machine.
  std::vector<std::string> runs;
};

enum class DoctorResult : std::uint8_t {
  kGood,
  kNote,    // works, but worth knowing
  kFailed,  // in the way
  kSkipped  // not asked for, or nothing to ask
};
// "ok", "note", "FAILED", "-".
std::string_view to_string(DoctorResult result);

struct Finding {
  std::string step;
  DoctorResult result = DoctorResult::kGood;
  std::string text;
  // The remedy; empty if there is nothing to do.
  std::string remedy;
};

// LinkRates for people; remedies are below their steps.
std::string finding_text(const Finding& finding);
// "2 steps failed: ..." or "nothing is in the way".
std::string findings_summary(const std::vector<Finding>& findings);
// kOk; kUsage where the ticket itself is at fault; else kUnavailable where a step failed.
ExitCode findings_code(const std::vector<Finding>& findings);

ExitCode doctor_command(const DoctorRequest& request);

}  // namespace weft
