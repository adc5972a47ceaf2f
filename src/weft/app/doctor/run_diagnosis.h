// RunDiagnosis: the verdicts on the members of a run, from the logs of one or several of them.
//
// One log is enough: it has what all members report of their computing, what this one has observed
// of the others, and what the receivers of all links have measured. With the logs of several, what
// one claims is compared with what others have observed (collective/diagnosis/diagnosis.h).
//
// Where it stands: run_log -> here -> run_doctor. Threads: functions of their arguments.
// Fails: kUnavailable where the logs have no times yet, kCorrupt where they cannot be true.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/app/doctor/run_log.h"
#include "weft/base/status.h"
#include "weft/collective/diagnosis/diagnosis.h"

namespace weft {

struct RunDiagnosis {
  // Short names, in the order of the ring; verdicts name members by their positions.
  std::vector<std::string> members;
  std::vector<Verdict> verdicts;
  // Logs of these members, and of others (of an earlier group), which do not count.
  int logs = 0;
  int other_logs = 0;
  std::int64_t round = 0;
  // Usual times, for people.
  double round_seconds = 0;
  double compute_seconds = 0;
};

// REQUIRES: at least one log.
Result<RunDiagnosis> diagnose_run(std::span<const RunLog> logs);

// What was found, with its figures, and what a person can do about it.
std::string verdict_text(const RunDiagnosis& run, const Verdict& verdict);
std::string verdict_remedy(const RunDiagnosis& run, const Verdict& verdict);
// "4 members, round 120: ..." where nothing stands out, or how many verdicts there are.
std::string diagnosis_summary(const RunDiagnosis& run);

}  // namespace weft
