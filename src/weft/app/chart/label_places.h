// label_places: moves labels along one side of a plot apart, so that none covers another.
//
// Where it stands: line_plot.h -> here. Threads: pure. Fails: never; labels for which the side is
// too short go beyond its end.
#pragma once

#include <span>
#include <vector>

namespace weft {

struct LabelSide {
  double from = 0;
  double to = 0;
};

// For each of `wanted` a place in `side`, as near to it as possible, at least `pitch` from the
// others and in the same order; equal ones keep the order in which they stand. REQUIRES: all are
// finite.
std::vector<double> label_places(std::span<const double> wanted, double pitch, LabelSide side);

}  // namespace weft
