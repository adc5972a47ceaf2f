// number_files: the numbers of a comparison for other programs and for a terminal.
//
//   csv  := a head and one line for each point: contender, seed, kind (test or training), round,
//           step, virtual_seconds, bytes_sent, samples, accuracy, loss; empty fields are unknown.
//           Texts with commas, quotes or line ends stand in quotes (RFC 4180).
//   json := {"format": 1, "seeds", "quality", "target", "verdict", "options", "contenders": [{
//           "name", "recipe", "settings", "note", "problem", FIGURE: {"mean", "spread", "seeds",
//           "best"}, "runs": [results of runs, as their own files have them]}]}
//
// Where it stands: figures.h -> here. Threads: pure. Fails: never; what is not finite is empty or
// null.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/app/compare/figures.h"

namespace weft {

std::string comparison_csv(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison, const Figures& figures);

// A line of `weft compare --json` about one run. `number` of `count` runs, from 1; `kept`: it was
// not run now.
struct ComparedRunNews {
  std::size_t number = 0;
  std::size_t count = 0;
  bool kept = false;
};
std::string run_line(const ComparedRun& run, const ComparedRunNews& news);
// The same for people, without the line's end.
std::string run_text(const ComparedRun& run, const ComparedRunNews& news);

// The last line of `weft compare --json`: the figures of the contenders without their runs, and
// the `files`.
std::string comparison_line(const Comparison& comparison, const Figures& figures,
                            const std::vector<std::string>& files);

// The table of results for people, one string per line; an asterisk marks the best of a column.
std::vector<std::string> comparison_table(const Comparison& comparison, const Figures& figures);

}  // namespace weft
