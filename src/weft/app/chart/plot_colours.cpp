#include "weft/app/chart/plot_colours.h"

#include <iterator>

#include <fmt/format.h>

namespace weft {
namespace {

struct PlotColour {
  const char* light;
  const char* dark;
};
constexpr PlotColour kColours[] = {
    {"#0072b2", "#5ab4f0"}, {"#d55e00", "#ff8a3d"}, {"#009e73", "#2fd0a0"}, {"#b5508c", "#e59ac4"},
    {"#2f9bd6", "#9fdcff"}, {"#b07800", "#f2be45"}, {"#5b6570", "#c3ccd5"}};
constexpr const char* kDashes[] = {"", "7 4", "2 3", "9 3 2 3"};

}  // namespace

const char* colour_of(std::size_t style) { return kColours[style % std::size(kColours)].light; }

std::size_t colour_number(std::size_t style) { return style % std::size(kColours); }

std::string dashes_of(std::size_t style) {
  const char* const dashes = kDashes[style / std::size(kColours) % std::size(kDashes)];
  return *dashes == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes);
}

std::string plot_style() {
  std::string out =
      "@media (prefers-color-scheme: dark) {.plot, .plot .ink {fill: #e6e9ed} "
      ".plot .paper {fill: #15181c} .plot .grid {stroke: #2c3239} "
      ".plot .axis {stroke: #6b7580}";
  for (std::size_t i = 0; i < std::size(kColours); ++i) {
    out +=
        fmt::format(" .plot .s{0} {{stroke: {1}}} .plot .f{0} {{fill: {1}}}", i, kColours[i].dark);
  }
  return out + "}";
}

std::string plot_swatch(std::size_t style) {
  return fmt::format(
      "<svg viewBox=\"0 0 24 8\" width=\"24\" height=\"8\" class=\"plot\" "
      "aria-hidden=\"true\"><line "
      "x1=\"1\" x2=\"23\" y1=\"4\" y2=\"4\" stroke=\"{}\" stroke-width=\"3\"{} "
      "class=\"s{}\"/></svg>",
      colour_of(style), dashes_of(style), colour_number(style));
}

}  // namespace weft
