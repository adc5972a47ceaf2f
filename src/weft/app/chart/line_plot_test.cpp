#include "weft/app/chart/line_plot.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/app/chart/markup.h"
#include "weft/app/chart/plot_colours.h"

namespace weft::line_plot_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

LinePlot plot_with(std::vector<PlotLine> lines) {
  return {"Accuracy against rounds",
          {"rounds", Quantity::kCount},
          {"accuracy", Quantity::kShare},
          std::move(lines)};
}

CurvePoint point(double x, double y) { return {x, y, y, y}; }

// The area is 66 to 760 - (40 + 7.2 + 8) = 704.8 pixels wide, because the longest name has one
// character, and 36 to 326 high: x = 66 + 638.8 * x / 10, y = 326 - 290 * (y - 0) / 1, by hand.
TEST(LinePlot, PointsStandWhereTheAxesSay) {
  const std::string svg = plot_svg(
      plot_with({{"a", 0, {point(0, 0), {5, 0.5, 0.25, 0.75}, point(10, 1)}}}), SvgUse::kInline);
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"66,326 385.4,181 704.8,36\" fill=\"none\" "
                             "stroke=\"#0072b2\""));
  EXPECT_THAT(svg, HasSubstr("<polygon points=\"66,326 385.4,108.5 704.8,36 704.8,36 385.4,253.5 "
                             "66,326\" fill=\"#0072b2\""));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 760 378\""));
  EXPECT_THAT(svg, HasSubstr("text-anchor=\"end\" class=\"ink\">100 %</text>"));
  EXPECT_THAT(svg, HasSubstr("class=\"ink\">rounds</text>"));
}

TEST(LinePlot, AFileBringsItsStyleAndGroundAndAnElementDoesNot) {
  const LinePlot plot = plot_with({{"a", 0, {point(0, 0), point(1, 1)}}});
  const std::string file = plot_svg(plot, SvgUse::kFile);
  EXPECT_THAT(file, HasSubstr("<style>@media (prefers-color-scheme: dark)"));
  EXPECT_THAT(file, HasSubstr("class=\"paper\""));
  EXPECT_THAT(plot_svg(plot, SvgUse::kInline), Not(HasSubstr("<style>")));
}

TEST(LinePlot, NamesCannotBeMarkup) {
  LinePlot plot = plot_with({{"<script>alert('1')</script>", 0, {point(0, 0)}}});
  plot.title = "\"><img src=x>";
  plot.x.label = "a & b\x01";
  const std::string svg = plot_svg(plot, SvgUse::kFile);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<img")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;alert(&#39;1&#39;)"));
  EXPECT_THAT(svg, HasSubstr("a &amp; b\\x01"));
}

TEST(LinePlot, WhatIsNoNumberInterruptsItsLine) {
  const std::string svg = plot_svg(
      plot_with({{"a", 0, {point(0, 1), point(1, 2), point(2, kNan), point(3, 4), point(4, 5)}}}),
      SvgUse::kInline);
  EXPECT_EQ(occurrences(svg, "stroke-linejoin"), 2U);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LinePlot, WithoutAnyPointItSaysSo) {
  for (const std::vector<PlotLine>& lines :
       {std::vector<PlotLine>{}, {{"a", 0, {}}}, {{"a", 0, {point(kNan, 1)}}}}) {
    const std::string svg = plot_svg(plot_with(lines), SvgUse::kInline);
    EXPECT_THAT(svg, HasSubstr("nothing was measured"));
    EXPECT_EQ(occurrences(svg, "(no values)"), lines.size());
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(LinePlot, ASinglePointIsADotWithItsRange) {
  const std::string svg = plot_svg(plot_with({{"a", 0, {{5, 0.5, 0.4, 0.6}}}}), SvgUse::kInline);
  EXPECT_THAT(svg, HasSubstr("r=\"4\""));
  EXPECT_EQ(occurrences(svg, "stroke-linejoin"), 0U);
  EXPECT_EQ(occurrences(svg, "<polygon"), 0U);
}

TEST(LinePlot, FromTheEighthLineOnDashesTellThemApart) {
  EXPECT_EQ(plot_swatch(6).find("dasharray"), std::string::npos);
  EXPECT_THAT(plot_swatch(7), HasSubstr("stroke=\"#0072b2\" stroke-width=\"3\" "
                                        "stroke-dasharray=\"7 4\" class=\"s0\""));
}

TEST(Markup, ShortenedTextKeepsWholeCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab…");
  EXPECT_EQ(shortened("ähnlich", 2), "ä…");
}

TEST(Markup, CoordinatesHaveNoSpareZeros) {
  EXPECT_EQ(coordinate_text(12.5), "12.5");
  EXPECT_EQ(coordinate_text(-0.001), "0");
  EXPECT_EQ(coordinate_text(100), "100");
  EXPECT_EQ(coordinate_text(kNan), "0");
}

}  // namespace
}  // namespace weft::line_plot_test
