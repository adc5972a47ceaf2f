// report_page: a comparison as one HTML file that needs nothing else: no script, no other file.
//
// A content security policy in the page forbids browsers to load or to run anything, so that even
// a name that escaping missed could do nothing.
//
// Where it stands: figures.h, report_plots.h -> here. Threads: pure. Fails: never.
#pragma once

#include <string>
#include <vector>

#include "weft/app/compare/figures.h"
#include "weft/app/compare/report_plots.h"

namespace weft {

std::string report_page(const Comparison& comparison, const Figures& figures,
                        const std::vector<ReportPlot>& plots);

}  // namespace weft
