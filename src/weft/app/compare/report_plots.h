// report_plots: the plots of a comparison: quality against rounds, virtual time, bytes and samples,
// and the training loss.
//
// Where it stands: figures.h -> here -> chart/line_plot.h. Threads: pure. Fails: never.
#pragma once

#include <string>
#include <vector>

#include "weft/app/chart/line_plot.h"
#include "weft/app/compare/figures.h"

namespace weft {

struct ReportPlot {
  std::string file_name;  // "quality_rounds.svg"
  LinePlot plot;
};

std::vector<ReportPlot> report_plots(const Comparison& comparison, const Figures& figures);

}  // namespace weft
