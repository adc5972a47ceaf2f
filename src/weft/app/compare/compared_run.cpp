#include "weft/app/compare/compared_run.h"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRunFormat = 1;

struct RunColumn {
  const char* name;
  double RunPoint::*member;
};
constexpr RunColumn kRunColumns[] = {{"round", &RunPoint::round},
                                     {"step", &RunPoint::step},
                                     {"virtual_seconds", &RunPoint::virtual_seconds},
                                     {"bytes_sent", &RunPoint::bytes_sent},
                                     {"samples", &RunPoint::samples},
                                     {"accuracy", &RunPoint::accuracy},
                                     {"loss", &RunPoint::loss}};

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json columns_json() {
  Json out = Json::array();
  for (const RunColumn& column : kRunColumns) out.push_back(column.name);
  return out;
}

Json points_json(const std::vector<RunPoint>& points) {
  Json out = Json::array();
  for (const RunPoint& point : points) {
    Json row = Json::array();
    for (const RunColumn& column : kRunColumns) row.push_back(number_or_null(point.*column.member));
    out.push_back(std::move(row));
  }
  return out;
}

Status damaged(std::string_view what) { return corrupt(fmt::format("result of a run: {}", what)); }

// Reads members of a JSON object; the first that is not as expected is kept as the reason.
class RunReader {
 public:
  explicit RunReader(const Json& json) : json_(json) {}

  double number(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end() || !found->is_number()) return refuse<double>(name, "a number");
    return found->get<double>();
  }
  std::int64_t whole(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end() || !found->is_number_integer()) {
      return refuse<std::int64_t>(name, "a whole number");
    }
    return found->get<std::int64_t>();
  }
  std::string text(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end() || !found->is_string()) return refuse<std::string>(name, "a text");
    return found->get<std::string>();
  }
  std::vector<RunPoint> points(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end() || !found->is_array() || found->size() > kRunPointsMax) {
      return refuse<std::vector<RunPoint>>(name, "a list");
    }
    std::vector<RunPoint> out;
    for (const Json& row : *found) out.push_back(point(name, row));
    return out;
  }
  const Status& status() const { return status_; }

 private:
  template <class Value>
  Value refuse(const char* name, const char* expected) {
    if (status_.ok()) status_ = damaged(fmt::format("{}: expected {}", name, expected));
    return {};
  }

  RunPoint point(const char* name, const Json& row) {
    if (!row.is_array() || row.size() != std::size(kRunColumns)) {
      return refuse<RunPoint>(name, "lists of seven numbers");
    }
    RunPoint out;
    for (std::size_t i = 0; i < std::size(kRunColumns); ++i) {
      if (row[i].is_null()) {
        out.*kRunColumns[i].member = std::numeric_limits<double>::quiet_NaN();
      } else if (row[i].is_number()) {
        out.*kRunColumns[i].member = row[i].get<double>();
      } else {
        return refuse<RunPoint>(name, "lists of seven numbers");
      }
    }
    return out;
  }

  const Json& json_;
  Status status_;
};

}  // namespace

std::string compared_run_json(const ComparedRun& result) {
  Json json;
  json["format"] = kRunFormat;
  json["key"] = result.key;
  json["contender"] = result.contender;
  json["seed"] = result.seed;
  json["rounds"] = result.rounds;
  json["virtual_seconds"] = result.virtual_seconds;
  json["bytes_sent"] = result.bytes_sent;
  json["samples"] = result.samples;
  json["seconds"] = result.seconds;
  json["fault"] = result.fault;
  json["state_hash"] = result.state_hash;
  json["columns"] = columns_json();
  json["measured"] = points_json(result.measured);
  json["training"] = points_json(result.training);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ComparedRun> parse_compared_run(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return damaged("expected a JSON object");
  RunReader reader(json);
  if (const std::int64_t format = reader.whole("format"); reader.status().ok() && format != 1) {
    return damaged(fmt::format("format: expected {}, got {}", kRunFormat, format));
  }
  ComparedRun out;
  out.key = reader.text("key");
  out.contender = reader.text("contender");
  out.seed = reader.whole("seed");
  out.rounds = reader.whole("rounds");
  out.virtual_seconds = reader.number("virtual_seconds");
  out.bytes_sent = reader.number("bytes_sent");
  out.samples = reader.number("samples");
  out.seconds = reader.number("seconds");
  out.fault = reader.text("fault");
  out.state_hash = reader.text("state_hash");
  const auto columns = json.find("columns");
  if (columns == json.end() || *columns != columns_json()) return damaged("columns: not ours");
  out.measured = reader.points("measured");
  out.training = reader.points("training");
  WEFT_TRY(reader.status());
  return out;
}

}  // namespace weft
