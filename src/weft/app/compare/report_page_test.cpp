#include "weft/app/compare/report_page.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/app/compare/number_files.h"
#include "weft/app/compare/test_comparison.h"

namespace weft::report_page_test {
namespace {

using test_comparison::entrant_of;
using test_comparison::run_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Comparison two_contenders() {
  Comparison out;
  out.entrants = {entrant_of("a", {run_of(1, {0.5, 0.88}), run_of(2, {0.5, 0.92})}),
                  entrant_of("b", {run_of(1, {0.5, 0.7}), run_of(2, {0.5, 0.7})})};
  out.seeds = {1, 2};
  out.options = {{"peers", "4"}};
  out.command = "weft compare a.toml";
  return out;
}

std::string page_of(const Comparison& comparison) {
  const Figures figures = figures_of(comparison);
  return report_page(comparison, figures, report_plots(comparison, figures));
}

TEST(ReportPage, HasMeansSpreadsAndTheBestInBold) {
  const std::string page = page_of(two_contenders());
  // The sample deviation of 0.88 and 0.92 is 0.04 / sqrt(2) = 0.0283.
  EXPECT_THAT(page, HasSubstr("<td><b>90.0 ± 2.8 %</b></td>"));
  EXPECT_THAT(page, HasSubstr("<td>70 ± 0 %</td>"));
  EXPECT_THAT(page, HasSubstr("a has the best test accuracy"));
  EXPECT_THAT(page, HasSubstr("Test accuracy against virtual time"));
}

TEST(ReportPage, NeedsNothingElse) {
  const std::string page = page_of(two_contenders());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* word : {"<script", "src=", "href=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

TEST(ReportPage, NamesAndReasonsCannotBeMarkup) {
  Comparison comparison = two_contenders();
  const std::string evil = "</td><script>alert(\"1\")</script>";
  comparison.entrants[0].contender.name = evil;
  comparison.entrants[0].note = evil;
  comparison.entrants[0].recipe = {{evil, evil}};
  comparison.entrants[1].recipe = {{evil, "b"}};
  comparison.entrants[1].runs[0].fault = evil;
  comparison.entrants[1].runs[0].state_hash = evil;
  comparison.options.push_back({evil, evil});
  comparison.command = evil;
  comparison.entrants.push_back({{"c", "c.toml", {}}, {}, evil, {}, ""});
  const std::string page = page_of(comparison);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&quot;1&quot;)"));
}

TEST(ReportPage, ARefusedContenderHasARowWithItsReason) {
  Comparison comparison = two_contenders();
  comparison.entrants.push_back({{"c", "c.toml", {}}, {}, "local.overlap: expected false", {}, ""});
  const std::string page = page_of(comparison);
  EXPECT_THAT(page, HasSubstr("<td class=\"words bad\" colspan=\"8\">local.overlap: expected "
                              "false</td>"));
}

TEST(ReportPage, WithoutAnyResultItIsStillAPage) {
  Comparison comparison = two_contenders();
  for (Entrant& entrant : comparison.entrants) entrant.runs.clear();
  comparison.interrupted = true;
  const std::string page = page_of(comparison);
  EXPECT_THAT(page, HasSubstr("nothing was measured"));
  EXPECT_THAT(page, HasSubstr("It was interrupted"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(ReportPage, ASingleSeedHasNoSpread) {
  Comparison comparison = two_contenders();
  comparison.seeds = {1};
  for (Entrant& entrant : comparison.entrants) entrant.runs.resize(1);
  const std::string page = page_of(comparison);
  EXPECT_THAT(page, HasSubstr("<td><b>88 %</b></td>"));
  EXPECT_THAT(page, HasSubstr("One seed: there is no spread."));
  EXPECT_THAT(page, Not(HasSubstr("<polygon")));
}

TEST(ReportPlots, LinesThatReachMuchFartherMakeTheAxisLogarithmic) {
  Comparison comparison = two_contenders();
  const auto plot = [&](std::size_t which) {
    return report_plots(comparison, figures_of(comparison))[which].plot;
  };
  EXPECT_FALSE(plot(2).x.logarithmic);
  for (ComparedRun& run : comparison.entrants[0].runs) {
    for (RunPoint& point : run.measured) point.bytes_sent *= 100;
  }
  EXPECT_TRUE(plot(2).x.logarithmic);
  EXPECT_FALSE(plot(0).x.logarithmic);
}

TEST(NumberFiles, TheTableOfPointsIsCsv) {
  Comparison comparison = two_contenders();
  comparison.entrants.resize(1);
  comparison.entrants[0].runs.resize(1);
  ComparedRun& run = comparison.entrants[0].runs[0];
  run.contender = "a, \"b\"";
  run.training.clear();
  run.measured[0].accuracy = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(comparison_csv(comparison),
            "contender,seed,kind,round,step,virtual_seconds,bytes_sent,samples,accuracy,loss\n"
            "\"a, \"\"b\"\"\",1,test,1,1,1,100,10,,0.5\n"
            "\"a, \"\"b\"\"\",1,test,2,2,2,200,20,0.88,0.12\n");
}

TEST(NumberFiles, TheJsonHasFiguresAndRuns) {
  const Comparison comparison = two_contenders();
  const auto json = nlohmann::json::parse(comparison_json(comparison, figures_of(comparison)));
  const auto& first = json["contenders"][0];
  EXPECT_DOUBLE_EQ(first["test_accuracy"]["mean"].get<double>(), 0.9);
  EXPECT_TRUE(first["test_accuracy"]["best"].get<bool>());
  EXPECT_EQ(first["runs"][1]["measured"][1][5].get<double>(), 0.92);
  EXPECT_TRUE(json["contenders"][1]["rounds_to_target"]["mean"].is_null());
}

TEST(NumberFiles, TheTableForPeopleIsAligned) {
  EXPECT_THAT(comparison_table(two_contenders(), figures_of(two_contenders())),
              ElementsAre("contender  test accuracy       test loss   virtual time   bytes sent",
                          "a           90.0 ± 2.8 %*  0.100 ± 0.028*       2 ± 0 s    200 ± 0 B",
                          "b               70 ± 0 %         0.3 ± 0        2 ± 0 s    200 ± 0 B"));
}

}  // namespace
}  // namespace weft::report_page_test
