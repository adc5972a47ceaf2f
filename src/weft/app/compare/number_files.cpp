#include "weft/app/compare/number_files.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/app/chart/markup.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTableNameMax = 40;

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char character : text) {
    out += character;
    if (character == '"') out += '"';
  }
  return out + "\"";
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

std::string csv_lines(const ComparedRun& run, const char* kind,
                      const std::vector<RunPoint>& points) {
  std::string out;
  for (const RunPoint& point : points) {
    out += fmt::format("{},{},{}", csv_text(run.contender), run.seed, kind);
    for (const double value : {point.round, point.step, point.virtual_seconds, point.bytes_sent,
                               point.samples, point.accuracy, point.loss}) {
      out += "," + csv_number(value);
    }
    out += "\n";
  }
  return out;
}

Json finite_json(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json figure_json(const Figure& figure) {
  Json out;
  out["mean"] = finite_json(figure.value.mean);
  out["spread"] = finite_json(figure.value.spread);
  out["seeds"] = figure.value.count;
  out["best"] = figure.best;
  return out;
}

Json entrant_json(const Entrant& entrant, const EntrantFigures& row) {
  Json out;
  out["name"] = entrant.contender.name;
  out["recipe"] = entrant.contender.recipe_path;
  out["settings"] = entrant.contender.settings;
  out["note"] = entrant.note;
  out["problem"] = row.problem;
  out["test_accuracy"] = figure_json(row.accuracy);
  out["test_loss"] = figure_json(row.loss);
  out["virtual_seconds"] = figure_json(row.virtual_seconds);
  out["bytes_sent"] = figure_json(row.bytes_sent);
  out["samples"] = figure_json(row.samples);
  out["rounds_to_target"] = figure_json(row.rounds_to_target);
  out["seconds_to_target"] = figure_json(row.seconds_to_target);
  out["bytes_to_target"] = figure_json(row.bytes_to_target);
  return out;
}

Json summary_json(const Comparison& comparison, const Figures& figures) {
  Json out;
  out["format"] = 1;
  out["seeds"] = comparison.seeds;
  out["quality"] = figures.quality == Quality::kAccuracy ? "accuracy" : "loss";
  out["target"] = finite_json(figures.target);
  out["verdict"] = figures.verdict;
  out["interrupted"] = comparison.interrupted;
  out["options"] = Json::object();
  for (const NamedText& option : comparison.options) out["options"][option.name] = option.text;
  out["contenders"] = Json::array();
  for (std::size_t i = 0; i < figures.rows.size(); ++i) {
    out["contenders"].push_back(entrant_json(comparison.entrants[i], figures.rows[i]));
  }
  return out;
}

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string table_text(const Figure& figure, Quantity quantity) {
  return spread_text(figure.value.mean, figure.value.spread, quantity) + (figure.best ? "*" : " ");
}

// `text` in a column of `width` characters.
std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::string blanks(width - std::min(width, character_count(text)), ' ');
  return left ? text + blanks : blanks + text;
}

}  // namespace

std::string comparison_csv(const Comparison& comparison) {
  std::string out =
      "contender,seed,kind,round,step,virtual_seconds,bytes_sent,samples,accuracy,loss\n";
  for (const Entrant& entrant : comparison.entrants) {
    for (const ComparedRun& run : entrant.runs) {
      out += csv_lines(run, "test", run.measured) + csv_lines(run, "training", run.training);
    }
  }
  return out;
}

std::string comparison_json(const Comparison& comparison, const Figures& figures) {
  Json out = summary_json(comparison, figures);
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    Json runs = Json::array();
    for (const ComparedRun& run : comparison.entrants[i].runs) {
      runs.push_back(Json::parse(compared_run_json(run), nullptr, /*allow_exceptions=*/false));
    }
    out["contenders"][i]["runs"] = std::move(runs);
  }
  return json_text(out);
}

std::string run_line(const ComparedRun& run, const ComparedRunNews& news) {
  const RunPoint last = run.last();
  Json out;
  out["run"] = news.number;
  out["runs"] = news.count;
  out["contender"] = run.contender;
  out["seed"] = run.seed;
  out["kept"] = news.kept;
  out["test_accuracy"] = finite_json(last.accuracy);
  out["test_loss"] = finite_json(last.loss);
  out["virtual_seconds"] = finite_json(run.virtual_seconds);
  out["bytes_sent"] = finite_json(run.bytes_sent);
  out["seconds"] = finite_json(run.seconds);
  out["fault"] = run.fault;
  return json_text(out);
}

std::string run_text(const ComparedRun& run, const ComparedRunNews& news) {
  const RunPoint last = run.last();
  std::string out = fmt::format("run {}/{}  {}, seed {}: ", news.number, news.count,
                                printable(run.contender), run.seed);
  if (!run.fault.empty()) return out + printable(run.fault);
  if (std::isfinite(last.accuracy)) {
    out += fmt::format("accuracy {}, ", quantity_text(last.accuracy, Quantity::kShare));
  }
  out += fmt::format("loss {}, {} sent in {} of virtual time",
                     quantity_text(last.loss, Quantity::kNumber),
                     quantity_text(run.bytes_sent, Quantity::kBytes),
                     quantity_text(run.virtual_seconds, Quantity::kSeconds));
  if (news.kept) return out + " (kept from before)";
  return out + fmt::format(" (took {})", quantity_text(run.seconds, Quantity::kSeconds));
}

std::string comparison_line(const Comparison& comparison, const Figures& figures,
                            const std::vector<std::string>& files) {
  Json out = summary_json(comparison, figures);
  out["files"] = files;
  return json_text(out);
}

std::vector<std::string> comparison_table(const Comparison& comparison, const Figures& figures) {
  std::vector<std::vector<std::string>> rows = {
      {"contender", "test accuracy ", "test loss ", "virtual time ", "bytes sent "}};
  for (std::size_t i = 0; i < figures.rows.size(); ++i) {
    const EntrantFigures& row = figures.rows[i];
    const std::string name =
        shortened(printable(comparison.entrants[i].contender.name), kTableNameMax);
    rows.push_back({name, table_text(row.accuracy, Quantity::kShare),
                    table_text(row.loss, Quantity::kNumber),
                    table_text(row.virtual_seconds, Quantity::kSeconds),
                    table_text(row.bytes_sent, Quantity::kBytes)});
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], character_count(row[c]));
    }
  }
  std::vector<std::string> out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      line += (c == 0 ? "" : "  ") + padded(rows[r][c], widths[c], c == 0);
    }
    const std::string problem = r == 0 ? "" : figures.rows[r - 1].problem;
    if (!problem.empty()) line += "  " + printable(problem);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out.push_back(line);
  }
  return out;
}

}  // namespace weft
