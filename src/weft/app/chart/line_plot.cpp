#include "weft/app/chart/line_plot.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "weft/app/chart/label_places.h"
#include "weft/app/chart/markup.h"
#include "weft/app/chart/plot_colours.h"

namespace weft {
namespace {

// All in pixels.
constexpr double kWidth = 760;
constexpr double kLeft = 66;
constexpr double kTop = 36;
constexpr double kBottom = 52;
constexpr double kPlotHeightLeast = 290;
constexpr double kLabelPitch = 16;
constexpr double kLabelGap = 40;
constexpr double kCharacterWidth = 7.2;
constexpr std::size_t kLabelCharacters = 26;
// Where each point is marked; more would be a thick line.
constexpr std::size_t kMarkedPoints = 16;

struct PlotFrame {
  Axis x;
  Axis y;
  double right;  // of the plot's area
  double bottom;

  double x_of(double value) const { return kLeft + x.place(value) * (right - kLeft); }
  double y_of(double value) const { return bottom - y.place(value) * (bottom - kTop); }
};

bool is_drawn(const CurvePoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

// The ends of its band; the point itself where those are not finite.
double low_of(const CurvePoint& point) {
  return std::isfinite(point.low) ? std::min(point.low, point.y) : point.y;
}
double high_of(const CurvePoint& point) {
  return std::isfinite(point.high) ? std::max(point.high, point.y) : point.y;
}

std::optional<CurvePoint> last_point(const PlotLine& line) {
  const auto last = std::find_if(line.points.rbegin(), line.points.rend(), is_drawn);
  if (last == line.points.rend()) return std::nullopt;
  return *last;
}

struct PlotRanges {
  AxisRange x{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  AxisRange y = x;
};

PlotRanges ranges_of(const LinePlot& plot) {
  PlotRanges out;
  for (const PlotLine& line : plot.lines) {
    for (const CurvePoint& point : line.points) {
      if (!is_drawn(point)) continue;
      out.x.low = std::min(out.x.low, point.x);
      out.x.high = std::max(out.x.high, point.x);
      out.y.low = std::min(out.y.low, low_of(point));
      out.y.high = std::max(out.y.high, high_of(point));
    }
  }
  out.x.logarithmic = plot.x.logarithmic;
  out.y.logarithmic = plot.y.logarithmic;
  // Amounts begin at nothing.
  if (!plot.x.logarithmic && out.x.low > 0) out.x.low = 0;
  return out;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"ink\">{}</text>\n",
                     coordinate_text(x), coordinate_text(y), anchor, escaped_markup(text));
}

std::string axes_markup(const LinePlot& plot, const PlotFrame& frame) {
  std::string out;
  for (const AxisTick& tick : frame.y.ticks()) {
    const double y = frame.y_of(tick.value);
    out += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"#dfe3e8\" class=\"grid\"/>\n",
        coordinate_text(kLeft), coordinate_text(frame.right), coordinate_text(y),
        coordinate_text(y));
    out += text_at(kLeft - 8, y + 4, "end", tick.label);
  }
  for (const AxisTick& tick : frame.x.ticks()) {
    const double x = frame.x_of(tick.value);
    out += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"#8b95a0\" class=\"axis\"/>\n",
        coordinate_text(x), coordinate_text(x), coordinate_text(frame.bottom),
        coordinate_text(frame.bottom + 5));
    out += text_at(x, frame.bottom + 19, "middle", tick.label);
  }
  out += fmt::format(
      "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"#8b95a0\" class=\"axis\"/>\n",
      coordinate_text(kLeft), coordinate_text(frame.right), coordinate_text(frame.bottom),
      coordinate_text(frame.bottom));
  const std::string scale = frame.x.logarithmic() ? " (logarithmic scale)" : "";
  out += text_at((kLeft + frame.right) / 2, frame.bottom + 42, "middle", plot.x.label + scale);
  const std::string height_scale = frame.y.logarithmic() ? " (logarithmic scale)" : "";
  return out + text_at(8, kTop - 14, "start", plot.y.label + height_scale);
}

// Points that follow each other without a gap.
using Stretch = std::vector<CurvePoint>;

std::vector<Stretch> stretches_of(const PlotLine& line) {
  std::vector<Stretch> out;
  bool open = false;
  for (const CurvePoint& point : line.points) {
    if (is_drawn(point)) {
      if (!open) out.emplace_back();
      out.back().push_back(point);
    }
    open = is_drawn(point);
  }
  return out;
}

std::string point_text(double x, double y) { return coordinate_text(x) + "," + coordinate_text(y); }

std::string band_markup(const Stretch& stretch, const PlotFrame& frame, std::size_t style) {
  const bool has_band = std::any_of(stretch.begin(), stretch.end(), [](const CurvePoint& point) {
    return low_of(point) < high_of(point);
  });
  if (!has_band) return "";
  if (stretch.size() == 1) {
    const std::string x = coordinate_text(frame.x_of(stretch[0].x));
    return fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" class=\"s{}\"/>\n", x, x,
        coordinate_text(frame.y_of(low_of(stretch[0]))),
        coordinate_text(frame.y_of(high_of(stretch[0]))), colour_of(style), colour_number(style));
  }
  std::string points;
  for (const CurvePoint& point : stretch) {
    points += point_text(frame.x_of(point.x), frame.y_of(high_of(point))) + " ";
  }
  for (auto point = stretch.rbegin(); point != stretch.rend(); ++point) {
    points += point_text(frame.x_of(point->x), frame.y_of(low_of(*point))) + " ";
  }
  points.pop_back();
  return fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.16\" class=\"f{}\"/>\n",
                     points, colour_of(style), colour_number(style));
}

std::string line_markup(const PlotLine& line, const PlotFrame& frame) {
  const std::size_t number = colour_number(line.style);
  std::string out;
  for (const Stretch& stretch : stretches_of(line)) {
    std::string points;
    for (const CurvePoint& point : stretch) {
      points += point_text(frame.x_of(point.x), frame.y_of(point.y)) + " ";
    }
    points.pop_back();
    if (stretch.size() > 1) {
      out += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
          "stroke-linejoin=\"round\"{} class=\"s{}\"/>\n",
          points, colour_of(line.style), dashes_of(line.style), number);
    }
    if (stretch.size() > kMarkedPoints) continue;
    for (const CurvePoint& point : stretch) {
      out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" class=\"f{}\"/>\n",
                         coordinate_text(frame.x_of(point.x)), coordinate_text(frame.y_of(point.y)),
                         stretch.size() == 1 ? "4" : "2.5", colour_of(line.style), number);
    }
  }
  return out;
}

// Its name at the right, with a line from its last point.
std::string name_markup(const PlotLine& line, const PlotFrame& frame, double y) {
  const std::optional<CurvePoint> last = last_point(line);
  const double x = frame.right + kLabelGap;
  const std::size_t number = colour_number(line.style);
  std::string out;
  if (last) {
    out += fmt::format(
        "<polyline points=\"{} {} {}\" fill=\"none\" stroke=\"{}\" stroke-opacity=\"0.45\" "
        "stroke-dasharray=\"1 3\" class=\"s{}\"/>\n",
        point_text(frame.x_of(last->x), frame.y_of(last->y)),
        point_text(frame.right + 4, frame.y_of(last->y)), point_text(x - 24, y),
        colour_of(line.style), number);
  }
  out += fmt::format(
      "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"3\"{} "
      "class=\"s{}\"/>\n",
      coordinate_text(x - 22), coordinate_text(x - 5), coordinate_text(y), coordinate_text(y),
      colour_of(line.style), dashes_of(line.style), number);
  const std::string name = shortened(line.name, kLabelCharacters) + (last ? "" : " (no values)");
  return out + text_at(x, y + 4, "start", name);
}

double label_width(const LinePlot& plot) {
  std::size_t longest = 0;
  for (const PlotLine& line : plot.lines) {
    const std::size_t own = std::min(character_count(line.name), kLabelCharacters);
    longest = std::max(longest, own + (last_point(line) ? 0 : 12));
  }
  return kLabelGap + kCharacterWidth * static_cast<double>(longest) + 8;
}

PlotFrame frame_of(const LinePlot& plot, const PlotRanges& ranges) {
  const double wanted = kLabelPitch * static_cast<double>(plot.lines.size());
  const double height = std::max(kPlotHeightLeast, wanted);
  return {Axis(ranges.x, plot.x.quantity, 7), Axis(ranges.y, plot.y.quantity, 6),
          kWidth - label_width(plot), kTop + height};
}

std::string names_markup(const LinePlot& plot, const PlotFrame& frame) {
  std::vector<double> wanted;
  for (const PlotLine& line : plot.lines) {
    const std::optional<CurvePoint> last = last_point(line);
    wanted.push_back(last ? frame.y_of(last->y) : frame.bottom);
  }
  const std::vector<double> places = label_places(wanted, kLabelPitch, {kTop, frame.bottom});
  std::string out;
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    out += name_markup(plot.lines[i], frame, places[i]);
  }
  return out;
}

bool is_empty(const LinePlot& plot) {
  return std::none_of(plot.lines.begin(), plot.lines.end(),
                      [](const PlotLine& line) { return last_point(line).has_value(); });
}

}  // namespace

std::string plot_svg(const LinePlot& plot, SvgUse use) {
  const PlotFrame frame = frame_of(plot, ranges_of(plot));
  const std::string height = coordinate_text(frame.bottom + kBottom);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" class=\"plot\" role=\"img\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"13\" "
      "fill=\"#1b1f24\">\n<title>{}</title>\n",
      coordinate_text(kWidth), height, escaped_markup(plot.title));
  if (use == SvgUse::kFile) {
    out += "<style>" + plot_style() + "</style>\n";
    out += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\" class=\"paper\"/>\n",
                       coordinate_text(kWidth), height);
  }
  out += axes_markup(plot, frame);
  if (is_empty(plot)) {
    out += text_at((kLeft + frame.right) / 2, (kTop + frame.bottom) / 2, "middle",
                   "nothing was measured");
  }
  for (const PlotLine& line : plot.lines) {
    for (const Stretch& stretch : stretches_of(line)) {
      out += band_markup(stretch, frame, line.style);
    }
  }
  for (const PlotLine& line : plot.lines) out += line_markup(line, frame);
  return out + names_markup(plot, frame) + "</svg>\n";
}

}  // namespace weft
