// test_comparison: comparisons by hand for the tests of what is made from them.
//
// Threads: pure functions. Fails: never.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/app/compare/figures.h"

namespace weft::test_comparison {

// The run of seed `seed`, measured after rounds 1 and 2 with these accuracies. Its loss is 1 minus
// the accuracy; a round takes a second, 100 bytes and 10 samples.
inline ComparedRun run_of(std::int64_t seed, const std::vector<double>& accuracies) {
  ComparedRun out;
  out.seed = seed;
  out.key = "k" + std::to_string(seed);
  out.state_hash = "0123456789abcdef0123";
  for (const double accuracy : accuracies) {
    RunPoint point;
    point.round = static_cast<double>(out.measured.size() + 1);
    point.step = point.round;
    point.virtual_seconds = point.round;
    point.bytes_sent = 100 * point.round;
    point.samples = 10 * point.round;
    point.accuracy = accuracy;
    point.loss = 1 - accuracy;
    out.measured.push_back(point);
  }
  out.training = out.measured;
  out.rounds = static_cast<std::int64_t>(accuracies.size());
  out.virtual_seconds = static_cast<double>(accuracies.size());
  out.bytes_sent = 100.0 * static_cast<double>(accuracies.size());
  out.samples = 10.0 * static_cast<double>(accuracies.size());
  return out;
}

inline Entrant entrant_of(const std::string& name, std::vector<ComparedRun> runs) {
  Entrant out;
  out.contender = {name, name + ".toml", {}};
  for (ComparedRun& run : runs) run.contender = name;
  out.runs = std::move(runs);
  return out;
}

}  // namespace weft::test_comparison
