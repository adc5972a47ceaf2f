// Validators for the values of flags, described as people write them: "1 to 64", "0 or more".
//
// CLI11's own ranges accept "nan", and print "0.001000 to 8760.000000". Help pages show the
// descriptions. Threads: pure functions. Fails: a value outside the range ends the command line
// with `FLAG: expected 1 to 64, got "0"`.
#pragma once

#include <cstdint>
#include <limits>

#include <CLI/CLI.hpp>

namespace weft {

// Help texts of flags that several commands have.
inline constexpr const char* kObject = "Write one JSON object instead of words.";
inline constexpr const char* kThreads = "Compute threads.";
inline constexpr int kThreadsMax = 1024;

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// A whole number from `least` to `most`; kNoLimit: any from `least` on.
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
// Any finite number from `least` to `most`.
CLI::Validator any_number(double least, double most);

}  // namespace weft
