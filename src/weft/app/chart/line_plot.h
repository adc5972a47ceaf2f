// line_plot: a plot of lines with bands, as SVG.
//
// Each line has its name at its right end, in the colour and the dashes of the line; names that
// would overlap are moved apart and joined to their lines. plot_colours.h has the colours.
//
// Where it stands: compare/report_plots.h -> here -> axis.h. Threads: pure functions.
// Fails: never. Points that are not finite are left out and interrupt their line; a line without
// points keeps its name, and a plot without points says so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/app/chart/axis.h"

namespace weft {

struct CurvePoint {
  double x = 0;
  double y = 0;
  // The band around y; equal to y where there is none.
  double low = 0;
  double high = 0;
};

struct PlotLine {
  std::string name;
  // Numbers from 0; lines of one style look alike in all plots.
  std::size_t style = 0;
  std::vector<CurvePoint> points;  // by x
};

struct PlotAxis {
  std::string label;
  Quantity quantity = Quantity::kNumber;
  // Asks for a logarithmic axis; it is used where all values are positive.
  bool logarithmic = false;
};

struct LinePlot {
  std::string title;
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotLine> lines;
};

// A file of its own, or an element of a page with plot_style() (plot_colours.h) in its head.
enum class SvgUse : unsigned char { kFile, kInline };

std::string plot_svg(const LinePlot& plot, SvgUse use);

}  // namespace weft
