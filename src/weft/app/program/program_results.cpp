#include "weft/app/program/program_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/nearest_name.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

using ResultJson = nlohmann::json;

constexpr std::size_t kResultLineMax = 65536;
constexpr std::size_t kShownMax = 60;
constexpr std::array<std::string_view, 8> kResultNames = {
    "accuracy", "bytes_sent", "kind", "loss", "round", "samples", "seconds", "step"};

struct EffortColumn {
  const char* name;
  double RunPoint::*member;
};
constexpr EffortColumn kEffortColumns[] = {{"round", &RunPoint::round},
                                           {"seconds", &RunPoint::virtual_seconds},
                                           {"bytes_sent", &RunPoint::bytes_sent},
                                           {"samples", &RunPoint::samples}};

// One line. The first problem is kept.
class ResultLine {
 public:
  explicit ResultLine(std::string_view text) {
    if (text.size() <= kResultLineMax) {
      json_ = ResultJson::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    }
    if (!json_.is_object()) {
      const bool has_nan = text.find("NaN") != text.npos || text.find("Infinity") != text.npos;
      problem_ = fmt::format("expected a JSON object, got {}{}", printable(text, kShownMax),
                             has_nan ? "; NaN and Infinity are no JSON: write null" : "");
      return;
    }
    for (const auto& [name, value] : json_.items()) {
      if (std::find(kResultNames.begin(), kResultNames.end(), name) != kResultNames.end()) continue;
      refuse(fmt::format("unknown name \"{}\"; expected {}{}", printable(name, kShownMax),
                         fmt::join(kResultNames, ", "), did_you_mean(name, kResultNames)));
    }
  }

  bool is_training() {
    const auto kind = json_.find("kind");
    if (kind == json_.end() || *kind == "test") return false;
    if (*kind != "training") {
      refuse(fmt::format("kind: expected \"test\" or \"training\", got {}", shown(*kind)));
    }
    return true;
  }

  RunPoint point() {
    RunPoint out;
    for (const EffortColumn& column : kEffortColumns) {
      out.*column.member = effort(column.name).value_or(0);
    }
    out.step = json_.contains("step") ? effort("step").value_or(0) : out.round;
    out.accuracy = quality("accuracy");
    out.loss = quality("loss");
    if (out.accuracy < 0 || out.accuracy > 1) {
      refuse(fmt::format("accuracy: expected 0 to 1, got {}", out.accuracy));
    }
    if (problem_.empty() && std::isnan(out.accuracy) && std::isnan(out.loss)) {
      refuse("expected \"accuracy\", \"loss\" or both as numbers, got neither");
    }
    return out;
  }

  void refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  const std::string& problem() const { return problem_; }

 private:
  static std::string shown(const ResultJson& value) {
    return printable(value.dump(-1, ' ', false, ResultJson::error_handler_t::replace), kShownMax);
  }

  // A number that only grows.
  std::optional<double> effort(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) {
      refuse(fmt::format("{}: expected a number, and the line has none", name));
      return std::nullopt;
    }
    if (found->is_number() && std::isfinite(found->get<double>()) && found->get<double>() >= 0) {
      return found->get<double>();
    }
    refuse(fmt::format("{}: expected a number, 0 or more, got {}", name, shown(*found)));
    return std::nullopt;
  }

  // NaN if it is left out or null.
  double quality(const char* name) {
    const auto found = json_.find(name);
    const double none = std::numeric_limits<double>::quiet_NaN();
    if (found == json_.end() || found->is_null()) return none;
    if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
    refuse(fmt::format("{}: expected a number or null, got {}", name, shown(*found)));
    return none;
  }

  ResultJson json_;
  std::string problem_;
};

// What must not fall from one line to the next.
std::string order_problem(const std::vector<RunPoint>& points, const RunPoint& next) {
  if (points.empty()) return "";
  for (const EffortColumn& column : kEffortColumns) {
    const double before = points.back().*column.member;
    if (next.*column.member >= before) continue;
    return fmt::format("{}: expected at least {}, which an earlier line has, got {}", column.name,
                       before, next.*column.member);
  }
  return "";
}

}  // namespace

ProgramResults parse_program_results(std::string_view text, std::string_view file_name) {
  ProgramResults out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view words = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (words.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    ResultLine read(words);
    if (read.problem().empty()) {
      std::vector<RunPoint>& points = read.is_training() ? out.training : out.measured;
      const RunPoint point = read.point();
      read.refuse(order_problem(points, point));
      if (points.size() == kRunPointsMax) {
        read.refuse(fmt::format("expected at most {} lines of a kind", kRunPointsMax));
      }
      if (read.problem().empty()) points.push_back(point);
    }
    if (!read.problem().empty()) {
      out.fault = fmt::format("{}:{}: {}", file_name, line, read.problem());
      return out;
    }
  }
  if (out.measured.empty()) {
    out.fault = fmt::format("{}: expected at least one line of the test set, got none", file_name);
  }
  return out;
}

}  // namespace weft
