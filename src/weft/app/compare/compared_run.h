// ComparedRun: what one run of one contender with one seed came to, and the file that keeps it.
//
//   file := a JSON object: "format" 1, "key", "contender", "seed", "rounds", "virtual_seconds",
//           "bytes_sent", "samples", "seconds", "fault", "state_hash", "columns" (the names of the
//           numbers below), "measured" and "training", lists of lists of numbers; null is NaN
//
// A file that another program has written or a crash has cut is refused, never believed: `key` must
// be that of the run that is wanted, and every list is bounded.
//
// Where it stands: run_recorder.h makes one -> ResultFolder keeps it -> figures.h, number_files.h.
// Threads: values. Fails: parse_compared_run() with kCorrupt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kRunPointsMax = 100'000;
inline constexpr std::size_t kRunFileBytesMax = std::size_t{64} << 20;

// How far the run was, and what was measured there.
struct RunPoint {
  double round = 0;
  double step = 0;
  double virtual_seconds = 0;                                  // since the beginning
  double bytes_sent = 0;                                       // by all peers
  double samples = 0;                                          // that all peers have trained on
  double accuracy = std::numeric_limits<double>::quiet_NaN();  // from 0 to 1; NaN for values
  double loss = std::numeric_limits<double>::quiet_NaN();      // mean for each label
};

struct ComparedRun {
  std::string key;  // hexadecimal hash of everything that the result depends on
  std::string contender;
  std::int64_t seed = 0;
  std::int64_t rounds = 0;  // that trained
  double virtual_seconds = 0;
  double bytes_sent = 0;
  double samples = 0;
  double seconds = 0;  // of this machine
  std::string fault;   // why it did not come to its end; empty: it did
  std::string state_hash;
  std::vector<RunPoint> measured;  // on the test set, by round
  std::vector<RunPoint> training;  // means over stretches of rounds, which end at the point

  // The measurement at the end; NaN where there is none.
  RunPoint last() const { return measured.empty() ? RunPoint() : measured.back(); }
};

std::string compared_run_json(const ComparedRun& result);
Result<ComparedRun> parse_compared_run(std::string_view text);

}  // namespace weft
