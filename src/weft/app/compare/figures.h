// figures: the numbers and curves of a comparison, over its seeds, from the results of its runs.
//
// IMPLEMENTATION: the spread is the sample standard deviation (n - 1), bands reach from the
// smallest to the largest value of all seeds. A winner is named only if the means of the best two
// differ by more than the root of the sum of the squares of their spreads; a seed alone has no
// spread, so it has no winner.
//
// Where it stands: ComparedRun -> here -> report_page.h, report_plots.h, number_files.h.
// Threads: pure functions. Fails: never; what was not measured is NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/app/chart/line_plot.h"
#include "weft/app/compare/compared_run.h"
#include "weft/app/compare/contender.h"

namespace weft {

enum class Quality : unsigned char { kAccuracy, kLoss };

// What curves are drawn against.
enum class Effort : unsigned char { kRounds, kSeconds, kBytes, kSamples };

struct NamedText {
  std::string name;
  std::string text;
};

// One contender with its runs, in the order of the seeds.
struct Entrant {
  Contender contender;
  std::vector<ComparedRun> runs;
  std::string refusal;            // why no run of it could begin; empty: it could
  std::vector<NamedText> recipe;  // every key with its value, without run.seed
  std::string note;               // what the comparison has changed in it
};

struct Comparison {
  std::vector<Entrant> entrants;
  std::vector<std::int64_t> seeds;
  std::optional<Quality> quality;  // as a person wants it
  std::optional<double> target;    // likewise: the quality to reach
  std::vector<NamedText> options;  // of the simulation
  std::string command;             // that makes the comparison again
  bool interrupted = false;
};

struct MeanSpread {
  std::size_t count = 0;
  double mean = std::numeric_limits<double>::quiet_NaN();
  double spread = std::numeric_limits<double>::quiet_NaN();  // NaN below two values
};
// NaN in `values` makes both NaN.
MeanSpread mean_spread(std::span<const double> values);

struct Figure {
  MeanSpread value;
  bool best = false;  // no other complete contender has a better mean, and one has a worse one
};

struct EntrantFigures {
  Figure accuracy;
  Figure loss;
  Figure virtual_seconds;
  Figure bytes_sent;
  Figure samples;
  // When a measurement first had the target's quality, over the seeds that came so far, which are
  // `reached`; marked as best only where all did.
  Figure rounds_to_target;
  Figure seconds_to_target;
  Figure bytes_to_target;
  std::size_t reached = 0;
  std::size_t finished = 0;  // runs without a fault
  std::string problem;       // why it is not complete; empty: it is
};

struct Figures {
  Quality quality = Quality::kAccuracy;
  double target = std::numeric_limits<double>::quiet_NaN();
  std::vector<EntrantFigures> rows;
  std::string verdict;  // a sentence for people
};

Figures figures_of(const Comparison& comparison);

// One number of `point`.
double quality_of(const RunPoint& point, Quality quality);
double effort_of(const RunPoint& point, Effort effort);

// The mean over the runs without a fault, with the band of their values; over all runs if each has
// a fault.
std::vector<CurvePoint> measured_curve(const Entrant& entrant, Effort effort, Quality quality);
std::vector<CurvePoint> training_curve(const Entrant& entrant, Effort effort);

// Keys of recipes whose values are not the same for all entrants that have them, with the values of
// each; and the keys of programs beside recipes that name none.
struct DifferingKey {
  std::string name;
  std::vector<std::string> values;  // one for each entrant; "" where it was refused unread, or
                                    // has no such key
};
std::vector<DifferingKey> differing_keys(const Comparison& comparison);

}  // namespace weft
