#include "weft/app/compare/report_page.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/app/chart/markup.h"
#include "weft/app/chart/plot_colours.h"
#include "weft/base/version.h"

namespace weft {
namespace {

constexpr const char* kPageStyle = R"(
:root {color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --edge: #dfe3e8; --paper: #fff;
  --head: #f5f7f9; --bad: #b3261e}
@media (prefers-color-scheme: dark) {:root {--ink: #e6e9ed; --soft: #a3adb8; --edge: #2c3239;
  --paper: #15181c; --head: #1d2126; --bad: #ff8a80}}
body {font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1560px; margin: 0 auto; padding: 24px}
h1 {font-size: 24px; margin: 0 0 4px} h2 {font-size: 18px; margin: 32px 0 8px}
.verdict {font-size: 17px; margin: 12px 0 20px} .soft {color: var(--soft)}
.wide {overflow-x: auto}
table {border-collapse: collapse; font-variant-numeric: tabular-nums}
th, td {padding: 6px 12px; border-bottom: 1px solid var(--edge); text-align: right;
  vertical-align: top; white-space: nowrap} th {background: var(--head); font-weight: 600}
th:first-child, td:first-child, td.words {text-align: left}
td.words {max-width: 60ch; overflow-wrap: anywhere; white-space: normal}
.bad {color: var(--bad)}
.plots {display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr));
  gap: 16px}
figure {margin: 0; border: 1px solid var(--edge); border-radius: 8px; padding: 12px}
figcaption {font-weight: 600; margin-bottom: 4px}
figure svg {width: 100%; height: auto}
code {overflow-wrap: anywhere} pre {white-space: pre-wrap; background: var(--head); padding: 12px;
  border-radius: 8px}
)";

std::string cell(const std::string& text, const char* attributes = "") {
  return fmt::format("<td{}>{}</td>", attributes, text);
}

std::string figure_cell(const Figure& figure, Quantity quantity) {
  const std::string text =
      escaped_markup(spread_text(figure.value.mean, figure.value.spread, quantity));
  return cell(figure.best ? "<b>" + text + "</b>" : text);
}

std::string name_cell(const Entrant& entrant, std::size_t style) {
  return cell(plot_swatch(style) + " " + escaped_markup(entrant.contender.name));
}

std::string heads(const std::vector<std::string>& names) {
  std::string out = "<tr>";
  for (const std::string& name : names) out += "<th>" + escaped_markup(name) + "</th>";
  return out + "</tr>\n";
}

std::string table(const std::string& rows) {
  return "<div class=\"wide\"><table>\n" + rows + "</table></div>\n";
}

bool has_accuracy(const Figures& figures) {
  for (const EntrantFigures& row : figures.rows) {
    if (std::isfinite(row.accuracy.value.mean)) return true;
  }
  return false;
}

std::string target_cell(const EntrantFigures& row, const Figure& figure, Quantity quantity) {
  if (row.reached == row.finished && row.finished > 0) return figure_cell(figure, quantity);
  if (row.reached == 0) return cell("not reached", " class=\"soft\"");
  return cell(fmt::format("{} of {} seeds", row.reached, row.finished), " class=\"soft\"");
}

std::string results_table(const Comparison& comparison, const Figures& figures) {
  const bool accuracy = has_accuracy(figures);
  const Quantity quality =
      figures.quality == Quality::kAccuracy ? Quantity::kShare : Quantity::kNumber;
  const std::string target =
      std::isfinite(figures.target) ? quantity_text(figures.target, quality) : "target";
  std::vector<std::string> names = {"contender"};
  if (accuracy) names.emplace_back("test accuracy");
  for (const std::string& name :
       {std::string("test loss"), std::string("virtual time"), std::string("bytes sent"),
        std::string("samples"), "rounds to " + target, "time to " + target, "bytes to " + target}) {
    names.push_back(name);
  }
  std::string out = heads(names);
  for (std::size_t i = 0; i < figures.rows.size(); ++i) {
    const EntrantFigures& row = figures.rows[i];
    out += "<tr>" + name_cell(comparison.entrants[i], i);
    if (row.finished == 0) {
      out += fmt::format("<td class=\"words bad\" colspan=\"{}\">{}</td></tr>\n", names.size() - 1,
                         escaped_markup(row.problem));
      continue;
    }
    if (accuracy) out += figure_cell(row.accuracy, Quantity::kShare);
    out += figure_cell(row.loss, Quantity::kNumber) +
           figure_cell(row.virtual_seconds, Quantity::kSeconds) +
           figure_cell(row.bytes_sent, Quantity::kBytes) +
           figure_cell(row.samples, Quantity::kCount) +
           target_cell(row, row.rounds_to_target, Quantity::kCount) +
           target_cell(row, row.seconds_to_target, Quantity::kSeconds) +
           target_cell(row, row.bytes_to_target, Quantity::kBytes) + "</tr>\n";
    if (row.problem.empty()) continue;
    out += fmt::format(
        "<tr><td></td><td class=\"words bad\" colspan=\"{}\">not complete: {}</td></tr>\n",
        names.size() - 1, escaped_markup(row.problem));
  }
  return table(out);
}

std::string results_words(const Comparison& comparison) {
  const std::size_t seeds = comparison.seeds.size();
  std::string out =
      seeds == 1 ? "One seed: there is no spread."
                 : fmt::format("Means over {} seeds ± their sample standard deviation.", seeds);
  out +=
      " The best of each column is bold, if all seeds of a contender came to the end. Columns "
      "with a target show the first measurement that reached it.";
  return "<p class=\"soft\">" + out + "</p>\n";
}

std::string plots_markup(const Comparison& comparison, const std::vector<ReportPlot>& plots) {
  std::string out = "<h2>Curves</h2>\n<p class=\"soft\">";
  out += comparison.seeds.size() > 1
             ? "Lines are means over the seeds; bands reach from the smallest to the largest value."
             : "One line for each contender.";
  out += " The same plots are in the folder <code>plots</code>.</p>\n<div class=\"plots\">\n";
  for (const ReportPlot& plot : plots) {
    out += "<figure><figcaption>" + escaped_markup(plot.plot.title) + "</figcaption>\n" +
           plot_svg(plot.plot, SvgUse::kInline) + "</figure>\n";
  }
  return out + "</div>\n";
}

std::string differences_table(const Comparison& comparison) {
  const std::vector<DifferingKey> keys = differing_keys(comparison);
  if (keys.empty()) return "<p>The recipes have the same settings.</p>\n";
  std::string out = "<tr><th>contender</th>";
  for (const DifferingKey& key : keys) {
    out += "<th><code>" + escaped_markup(key.name) + "</code></th>";
  }
  out += "</tr>\n";
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    out += "<tr>" + name_cell(comparison.entrants[i], i);
    for (const DifferingKey& key : keys) out += cell(escaped_markup(key.values[i]));
    out += "</tr>\n";
  }
  return table(out);
}

std::string options_markup(const Comparison& comparison) {
  std::string out;
  for (const NamedText& option : comparison.options) {
    out += "<tr>" + cell(escaped_markup(option.name)) +
           cell(escaped_markup(option.text), " class=\"words\"") + "</tr>\n";
  }
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    const Entrant& entrant = comparison.entrants[i];
    if (entrant.note.empty()) continue;
    out += "<tr>" + name_cell(entrant, i) + cell(escaped_markup(entrant.note), " class=\"words\"") +
           "</tr>\n";
  }
  return table(out);
}

std::string runs_table(const Comparison& comparison, const Figures& figures) {
  const bool accuracy = has_accuracy(figures);
  std::vector<std::string> names = {"contender", "seed"};
  if (accuracy) names.emplace_back("test accuracy");
  for (const char* name : {"test loss", "virtual time", "bytes sent", "rounds", "state"}) {
    names.emplace_back(name);
  }
  std::string out = heads(names);
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    for (const ComparedRun& run : comparison.entrants[i].runs) {
      const RunPoint last = run.last();
      out += "<tr>" + name_cell(comparison.entrants[i], i) + cell(fmt::format("{}", run.seed));
      if (accuracy) out += cell(escaped_markup(quantity_text(last.accuracy, Quantity::kShare)));
      out += cell(escaped_markup(quantity_text(last.loss, Quantity::kNumber))) +
             cell(escaped_markup(quantity_text(run.virtual_seconds, Quantity::kSeconds))) +
             cell(escaped_markup(quantity_text(run.bytes_sent, Quantity::kBytes))) +
             cell(fmt::format("{}", run.rounds)) +
             (run.fault.empty()
                  ? cell("<code>" + escaped_markup(run.state_hash.substr(0, 16)) + "</code>")
                  : cell(escaped_markup(run.fault), " class=\"words bad\"")) +
             "</tr>\n";
    }
  }
  return "<details><summary>Each run</summary>\n" + table(out) + "</details>\n";
}

}  // namespace

std::string report_page(const Comparison& comparison, const Figures& figures,
                        const std::vector<ReportPlot>& plots) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Comparison of training runs</title>\n<style>";
  out += kPageStyle;
  out += plot_style() + "\n</style>\n</head>\n<body>\n<h1>Comparison of training runs</h1>\n";
  if (comparison.interrupted) {
    out += "<p class=\"bad\">It was interrupted: the same command goes on where it ended.</p>\n";
  }
  out += "<p class=\"verdict\">" + escaped_markup(figures.verdict) + "</p>\n";
  out += "<h2>Results</h2>\n" + results_table(comparison, figures) + results_words(comparison);
  out += plots_markup(comparison, plots);
  out += "<h2>What differs</h2>\n" + differences_table(comparison);
  out += "<h2>Simulation</h2>\n" + options_markup(comparison) + runs_table(comparison, figures);
  out += "<h2>Again</h2>\n<pre>" + escaped_markup(comparison.command) + "</pre>\n";
  out += fmt::format(
      "<p class=\"soft\">Made by weft {}. All numbers are in <code>compare.csv</code> and "
      "<code>compare.json</code>.</p>\n</body>\n</html>\n",
      version());
  return out;
}

}  // namespace weft
