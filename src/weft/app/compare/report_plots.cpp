#include "weft/app/compare/report_plots.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

// Where the ends of lines are so many times as far as others', the shorter lines would be squeezed
// at the left of a linear axis.
constexpr double kLogarithmicRatio = 8;
constexpr double kLogarithmicLossRatio = 50;

struct EffortAxis {
  Effort effort;
  const char* file;
  const char* words;  // for the title
  PlotAxis axis;
};

std::vector<EffortAxis> effort_axes() {
  return {{Effort::kRounds, "rounds", "rounds", {"rounds", Quantity::kCount}},
          {Effort::kSeconds, "time", "virtual time", {"virtual time", Quantity::kSeconds}},
          {Effort::kBytes, "bytes", "bytes sent", {"bytes sent by all peers", Quantity::kBytes}},
          {Effort::kSamples, "samples", "samples", {"samples trained on", Quantity::kCount}}};
}

// How many times the longest line reaches as far as the shortest.
double reach_ratio(const std::vector<PlotLine>& lines) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const PlotLine& line : lines) {
    if (line.points.empty() || !(line.points.back().x > 0)) continue;
    least = std::min(least, line.points.back().x);
    most = std::max(most, line.points.back().x);
  }
  return most > 0 ? most / least : 1;
}

double height_ratio(const std::vector<PlotLine>& lines) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const PlotLine& line : lines) {
    for (const CurvePoint& point : line.points) {
      if (!std::isfinite(point.y)) continue;
      least = std::min(least, point.y);
      most = std::max(most, point.y);
    }
  }
  return least > 0 && most > 0 ? most / least : 1;
}

template <class Curve>
std::vector<PlotLine> lines_of(const Comparison& comparison, const Curve& curve) {
  std::vector<PlotLine> out;
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    const Entrant& entrant = comparison.entrants[i];
    if (entrant.runs.empty()) continue;
    out.push_back({entrant.contender.name, i, curve(entrant)});
  }
  return out;
}

LinePlot plot_of(std::string title, PlotAxis x, PlotAxis y, std::vector<PlotLine> lines) {
  x.logarithmic = reach_ratio(lines) >= kLogarithmicRatio;
  y.logarithmic = y.quantity == Quantity::kNumber && height_ratio(lines) >= kLogarithmicLossRatio;
  return {std::move(title), std::move(x), std::move(y), std::move(lines)};
}

}  // namespace

std::vector<ReportPlot> report_plots(const Comparison& comparison, const Figures& figures) {
  const bool is_accuracy = figures.quality == Quality::kAccuracy;
  const std::string quality = is_accuracy ? "Test accuracy" : "Test loss";
  const PlotAxis height{quality, is_accuracy ? Quantity::kShare : Quantity::kNumber};
  std::vector<ReportPlot> out;
  for (const EffortAxis& axis : effort_axes()) {
    std::vector<PlotLine> lines = lines_of(comparison, [&](const Entrant& entrant) {
      return measured_curve(entrant, axis.effort, figures.quality);
    });
    out.push_back(
        {std::string("quality_") + axis.file + ".svg",
         plot_of(quality + " against " + axis.words, axis.axis, height, std::move(lines))});
  }
  std::vector<PlotLine> lines = lines_of(
      comparison, [&](const Entrant& entrant) { return training_curve(entrant, Effort::kRounds); });
  out.push_back(
      {"training_loss.svg", plot_of("Training loss against rounds", {"rounds", Quantity::kCount},
                                    {"Training loss", Quantity::kNumber}, std::move(lines))});
  return out;
}

}  // namespace weft
