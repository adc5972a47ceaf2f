// program_results: what a foreign program measured, from the file that it has written.
//
//   file := {line "\n"}, each line a JSON object of numbers, or empty
//     "round"       number of the round after which it was measured; required, as are
//     "seconds"     since the beginning,
//     "bytes_sent"  by all members since the beginning, and
//     "samples"     that all members have trained on since the beginning
//     "accuracy"    on the test set, 0 to 1; at least one of the two, null where it is not a number
//     "loss"        on the test set
//     "step"        optimizer steps; "round" if left out
//     "kind"        "test" if left out, or "training": "loss" is then that of the training samples
//
// Lines of a kind are in the order of their rounds, and none of the four numbers falls.
//
// Where it stands: program_run.h -> here -> ComparedRun. Threads: pure functions.
// Fails: never; what cannot be believed is a fault with file and line, and what stands before it is
// kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/app/compare/compared_run.h"

namespace weft {

struct ProgramResults {
  std::vector<RunPoint> measured;
  std::vector<RunPoint> training;
  std::string fault;  // "results.jsonl:3: loss: expected ..."; empty: none
};

ProgramResults parse_program_results(std::string_view text, std::string_view file_name);

}  // namespace weft
