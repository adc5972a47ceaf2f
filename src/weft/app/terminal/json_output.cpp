#include "weft/app/terminal/json_output.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <variant>

#include <nlohmann/json.hpp>

#include "weft/train/event/event.h"
#include "weft/train/recipe/recipe.h"

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

OrderedJson predictions_of(const Prediction& prediction) {
  OrderedJson rows = OrderedJson::array();
  for (const std::vector<ClassShare>& likeliest : prediction.likeliest) {
    OrderedJson row = OrderedJson::array();
    for (const ClassShare& one : likeliest) {
      row.push_back({{"class", one.name}, {"probability", number_of(one.share)}});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// A device has none.
std::optional<std::uintmax_t> size_of(const std::string& path) {
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(path, none);
  return none ? std::nullopt : std::optional(bytes);
}

OrderedJson written_files(const std::vector<std::string>& paths) {
  OrderedJson files = OrderedJson::array();
  for (const std::string& path : paths) {
    OrderedJson file = {{"path", path}};
    if (const auto bytes = size_of(path)) file["bytes"] = *bytes;
    files.push_back(std::move(file));
  }
  return files;
}

OrderedJson choice_list(std::string_view choices) {
  OrderedJson list = OrderedJson::array();
  while (!choices.empty()) {
    const std::size_t end = std::min(choices.find('|'), choices.size());
    list.push_back(choices.substr(0, end));
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return list;
}

// What a recipe's key takes: its type, what it is without a word, and what it may be.
template <class Value>
void add_kind(const Value& by_default, const RecipeKey& key, OrderedJson& json) {
  constexpr bool kText = std::is_same_v<Value, std::string>;
  constexpr bool kFlag = std::is_same_v<Value, bool>;
  constexpr bool kWhole = std::is_same_v<Value, std::int64_t>;
  json["type"] = kText ? "text" : kFlag ? "boolean" : kWhole ? "integer" : "number";
  json["default"] = by_default;
  if constexpr (kText) {
    if (!key.choices.empty()) json["allowed"] = choice_list(key.choices);
  } else if constexpr (!kFlag) {
    json["min"] = static_cast<Value>(key.min);
    json["max"] = static_cast<Value>(key.max);
  }
}

}  // namespace

std::string datasets_json(const std::vector<DatasetReport>& reports) {
  std::string out;
  for (const DatasetReport& report : reports) {
    out += line_of({{"name", report.name},
                    {"description", report.description},
                    {"found", report.found},
                    {"folder", report.folder},
                    {"remedy", report.remedy},
                    {"steps", report.steps}});
  }
  return out;
}

std::string files_json(const std::string& dataset, const std::vector<FileReport>& files) {
  std::string out;
  for (const FileReport& file : files) {
    OrderedJson json = {{"name", dataset},        {"path", file.path},
                        {"ok", file.status.ok()}, {"fault", file.status.message()},
                        {"sha256", file.sha256},  {"sha256_known", file.sha256_known}};
    if (const auto bytes = size_of(file.path)) json["bytes"] = *bytes;
    out += line_of(json);
  }
  if (files.empty()) out = line_of({{"name", dataset}, {"ok", true}, {"files", 0}});
  return out;
}

std::string recipe_keys_json() {
  std::string out;
  const Recipe defaults;
  for (const RecipeKey& key : recipe_keys()) {
    OrderedJson json = {{"key", key.name}};
    Recipe of_defaults = defaults;
    std::visit([&](const auto* value) { add_kind(*value, key, json); }, key.slot(of_defaults));
    json["help"] = key.help;
    out += line_of(json);
  }
  return out;
}

std::string methods_json(const std::vector<MethodFamily>& families) {
  std::string out;
  for (const MethodFamily& family : families) {
    for (const Method& method : family.methods) {
      OrderedJson options = OrderedJson::array();
      for (const Option& option : method.options) {
        options.push_back({{"name", option.name},
                           {"default", option.fallback},
                           {"min", option.min},
                           {"max", option.max},
                           {"whole", option.whole},
                           {"help", option.help}});
      }
      OrderedJson json = {{"key", family.key},
                          {"name", method.name},
                          {"help", method.summary},
                          {"options", std::move(options)}};
      if (!family.note_title.empty()) {
        json["note_title"] = family.note_title;
        json["note"] = method.note;
      }
      out += line_of(json);
    }
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
  OrderedJson json = {
      {"checkpoint", request.checkpoint},
      {"input", request.input},
      {"shape", std::vector<std::int64_t>(outputs.shape().begin(), outputs.shape().end())},
      {"outputs", whole ? values_of<std::int64_t>(outputs.to(DType::kI64))
                        : values_of<float>(outputs.to(DType::kF32))}};
  if (!prediction.likeliest.empty()) json["predictions"] = predictions_of(prediction);
  if (!prediction.targets.empty()) json["targets"] = prediction.targets;
  if (!prediction.note.empty()) json["note"] = prediction.note;
  if (!request.out.empty()) json["files"] = written_files({request.out});
  json["text"] = prediction.text;
  return line_of(json);
}

std::string evaluation_json(const CheckpointEvaluation& found) {
  const ComputedSums& metrics = found.metrics;
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
  return line_of(
      {{"checkpoint", request.checkpoint}, {"files", written_files(files)}, {"text", text}});
}

std::string field_json(const std::string& name, const std::string& value) {
  return line_of({{name, value}});
}

}  // namespace weft
