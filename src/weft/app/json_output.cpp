#include "weft/app/json_output.h"

#include <cmath>
#include <span>

#include <nlohmann/json.hpp>

#include "weft/train/event.h"
#include "weft/train/recipe.h"

namespace weft {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string line_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

template <class Value>
OrderedJson number_of(Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (!std::isfinite(value)) return nullptr;
  }
  return value;
}

// `values`, nested as `shape` says.
template <class Value>
OrderedJson nested(std::span<const Value> values, std::span<const std::int64_t> shape) {
  if (shape.empty()) return values.empty() ? OrderedJson() : number_of(values[0]);
  OrderedJson list = OrderedJson::array();
  const auto rows = static_cast<std::size_t>(shape[0]);
  const std::size_t each = rows > 0 ? values.size() / rows : 0;
  for (std::size_t row = 0; row < rows; ++row) {
    list.push_back(nested(values.subspan(row * each, each), shape.subspan(1)));
  }
  return list;
}

template <class Value>
OrderedJson values_of(const Array& array) {
  const std::vector<Value> values = array.to_vector<Value>();
  return nested(std::span<const Value>(values),
                std::span<const std::int64_t>(array.shape().begin(), array.shape().end()));
}

}  // namespace

std::string datasets_json(const std::vector<DatasetReport>& reports) {
  std::string out;
  for (const DatasetReport& report : reports) {
    out += line_of({{"name", report.name},
                    {"description", report.description},
                    {"found", report.found},
                    {"folder", report.folder},
                    {"remedy", report.remedy}});
  }
  return out;
}

std::string files_json(const std::vector<FileReport>& files) {
  std::string out;
  for (const FileReport& file : files) {
    out += line_of({{"path", file.path},
                    {"ok", file.status.ok()},
                    {"fault", file.status.message()},
                    {"sha256", file.sha256},
                    {"sha256_known", file.sha256_known}});
  }
  return out;
}

std::string recipe_keys_json() {
  std::string out;
  const Recipe defaults;
  for (const RecipeKey& key : recipe_keys()) {
    OrderedJson json = {{"key", key.name}, {"default", recipe_value(defaults, key)}};
    if (!key.choices.empty()) {
      json["allowed"] = key.choices;
    } else if (key.min < key.max) {
      json["min"] = key.min;
      json["max"] = key.max;
    }
    json["help"] = key.help;
    out += line_of(json);
  }
  return out;
}

std::string event_kinds_json() {
  std::string out;
  for (const EventKindDoc& kind : event_kinds()) {
    OrderedJson fields = OrderedJson::array();
    for (const EventFieldDoc& field : kind.fields) {
      fields.push_back({{"name", field.name}, {"type", field.type}, {"help", field.help}});
    }
    out += line_of({{"kind", kind.kind}, {"help", kind.help}, {"fields", std::move(fields)}});
  }
  return out;
}

std::string prediction_json(const PredictRequest& request, const Prediction& prediction) {
  const Array& outputs = prediction.outputs;
  const bool whole = is_integer(outputs.dtype());
  return line_of(
      {{"checkpoint", request.checkpoint},
       {"input", request.input},
       {"shape", std::vector<std::int64_t>(outputs.shape().begin(), outputs.shape().end())},
       {"outputs", whole ? values_of<std::int64_t>(outputs.to(DType::kI64))
                         : values_of<float>(outputs.to(DType::kF32))},
       {"text", prediction.text}});
}

std::string evaluation_json(const CheckpointEvaluation& found) {
  const RoundMetrics& metrics = found.metrics;
  OrderedJson json = {{"steps", found.step},
                      {"samples", static_cast<std::int64_t>(metrics.samples)},
                      {"test_accuracy", number_of(metrics.accuracy())},
                      {"loss", number_of(metrics.loss)}};
  if (found.bits_per_character) json["bits_per_character"] = number_of(*found.bits_per_character);
  if (metrics.errors.has_value()) {
    json["mae"] = number_of(metrics.errors->mean_absolute(metrics.labels));
    json["r2"] = number_of(metrics.errors->r2(metrics.labels));
  }
  json["state_hash"] = found.digest;
  if (found.confusion.classes() == 0) return line_of(json);
  json["classes"] = found.class_names;
  json["confusion"] = OrderedJson::array();
  for (std::int64_t label = 0; label < found.confusion.classes(); ++label) {
    OrderedJson row = OrderedJson::array();
    for (std::int64_t said = 0; said < found.confusion.classes(); ++said) {
      row.push_back(found.confusion.count(label, said));
    }
    json["confusion"].push_back(std::move(row));
  }
  return line_of(json);
}

std::string export_json(const ExportRequest& request, const std::vector<std::string>& files,
                        const std::string& text) {
  return line_of({{"checkpoint", request.checkpoint}, {"files", files}, {"text", text}});
}

std::string field_json(const std::string& name, const std::string& value) {
  return line_of({{name, value}});
}

}  // namespace weft
