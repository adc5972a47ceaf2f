#include "weft/data/description.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/data/tokenizer.h"

namespace weft {
namespace {

using SortedJson = nlohmann::json;

constexpr std::int64_t kDescribedClassesMax = 65536;
constexpr std::int64_t kSideMost = 65536;  // of one side
constexpr std::int64_t kVocabularyMax = std::int64_t{1} << 31U;
constexpr std::int64_t kContextMax = std::int64_t{1} << 24U;
constexpr std::int64_t kRowsMax = std::int64_t{1} << 48U;
constexpr std::size_t kNameBytesMax = std::size_t{1} << 20U;
constexpr int kDescriptionDepthMax = 6;

// The kinds by name.
constexpr DatasetKind kDataKinds[] = {DatasetKind::kImages, DatasetKind::kTokens,
                                      DatasetKind::kRows};

// Reads the fields of one object; the first that is wrong is the fault, the rest stay as they were.
class FieldReader {
 public:
  FieldReader(const SortedJson& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  const Status& status() const { return status_; }

  void count(const char* key, std::int64_t least, std::int64_t most, std::int64_t& out) {
    const SortedJson* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_number_integer() || !(value->get<double>() >= static_cast<double>(least)) ||
        !(value->get<double>() <= static_cast<double>(most))) {
      return refuse(key, fmt::format("a whole number from {} to {}", least, most));
    }
    out = value->get<std::int64_t>();
  }
  void number(const char* key, bool positive, double& out) {
    const SortedJson* const value = find(key);
    if (value != nullptr) take_number(*value, key, positive, out);
  }
  void text(const char* key, std::string& out) {
    const SortedJson* const value = find(key);
    if (value != nullptr) take_text(*value, key, out);
  }
  void numbers(const char* key, bool positive, std::size_t most, std::vector<double>& out) {
    const SortedJson* const values = list(key, most);
    if (values == nullptr) return;
    out.clear();
    for (const SortedJson& value : *values) take_number(value, key, positive, out.emplace_back());
  }
  void texts(const char* key, std::size_t most, std::vector<std::string>& out) {
    const SortedJson* const values = list(key, most);
    if (values == nullptr) return;
    out.clear();
    for (const SortedJson& value : *values) take_text(value, key, out.emplace_back());
  }
  // The array `key` of objects; null where there is none.
  const SortedJson* list(const char* key, std::size_t most) {
    const SortedJson* const value = find(key);
    if (value == nullptr) return nullptr;
    if (value->is_array() && value->size() <= most) return value;
    refuse(key, fmt::format("at most {} entries", most));
    return nullptr;
  }
  void refuse(const char* key, const std::string& expected) {
    if (!status_.ok()) return;
    const SortedJson* const value = find(key);
    const std::string got =
        value == nullptr
            ? "none"
            : value->dump(-1, ' ', true, SortedJson::error_handler_t::replace).substr(0, 40);
    status_ =
        corrupt(fmt::format("description: {}{}: expected {}, got {}", where_, key, expected, got));
  }

 private:
  const SortedJson* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  void take_number(const SortedJson& value, const char* key, bool positive, double& out) {
    if (!value.is_number() || !std::isfinite(value.get<double>()) ||
        (positive && !(value.get<double>() > 0))) {
      return refuse(key, positive ? "numbers above 0" : "finite numbers");
    }
    out = value.get<double>();
  }
  void take_text(const SortedJson& value, const char* key, std::string& out) {
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kNameBytesMax) {
      return refuse(key, "text");
    }
    out = value.get<std::string>();
  }

  const SortedJson& object_;
  std::string where_;
  Status status_;
};

Status read_columns(FieldReader& fields, DataDescription& out) {
  const SortedJson* const columns = fields.list("columns", kDescribedColumnsMax);
  if (columns == nullptr) return fields.status();
  for (const SortedJson& entry : *columns) {
    if (!entry.is_object()) return corrupt("description: columns: expected objects");
    FieldReader own(entry, fmt::format("columns[{}].", out.columns.size()));
    ColumnDescription& column = out.columns.emplace_back();
    own.text("name", column.name);
    own.texts("words", kDescribedColumnsMax, column.words);
    own.number("mean", false, column.mean);
    own.number("deviation", true, column.deviation);
    own.count("missing", 0, kRowsMax, column.missing);
    WEFT_TRY(own.status());
  }
  return {};
}

Status read_targets(FieldReader& fields, DataDescription& out) {
  const SortedJson* const targets = fields.list("targets", kDescribedColumnsMax);
  if (targets == nullptr) return fields.status();
  for (const SortedJson& entry : *targets) {
    if (!entry.is_object()) return corrupt("description: targets: expected objects");
    FieldReader own(entry, fmt::format("targets[{}].", out.target_columns.size()));
    TargetDescription& target = out.target_columns.emplace_back();
    own.text("name", target.name);
    own.number("mean", false, target.mean);
    own.number("deviation", true, target.deviation);
    WEFT_TRY(own.status());
  }
  return {};
}

// What must hold between the fields.
Status check_fields(FieldReader& fields, const DataDescription& read) {
  const auto channels = static_cast<std::size_t>(read.channels);
  const auto fits = [&](std::size_t count) { return count == 1 || count == channels; };
  if (!read.class_names.empty() &&
      read.class_names.size() != static_cast<std::size_t>(read.classes)) {
    fields.refuse("class_names", fmt::format("none, or {}", read.classes));
  }
  if (read.kind == DatasetKind::kImages) {
    if (read.channels != 1 && read.channels != 3) fields.refuse("channels", "1 or 3");
    if (read.height < 1) fields.refuse("height", "at least 1");
    if (read.width < 1) fields.refuse("width", "at least 1");
    if (!fits(read.mean.size())) fields.refuse("mean", "one number, or one a channel");
    if (!fits(read.deviation.size())) fields.refuse("deviation", "one number, or one a channel");
  }
  if (read.kind == DatasetKind::kTokens && (read.vocabulary < 1 || read.context < 1)) {
    fields.refuse("vocabulary", "at least 1, and a context");
  }
  if (read.kind == DatasetKind::kRows) {
    if (read.columns.empty() || read.features() > kRowFeaturesMax) {
      fields.refuse("columns", fmt::format("1 to {} features", kRowFeaturesMax));
    }
    if (read.classes == 0 && read.target_columns.empty()) fields.refuse("targets", "at least one");
  }
  return fields.status();
}

SortedJson json_of(const ColumnDescription& column) {
  SortedJson json = {{"name", column.name}, {"missing", column.missing}};
  if (!column.words.empty()) {
    json["words"] = column.words;
    return json;
  }
  json["mean"] = column.mean;
  json["deviation"] = column.deviation;
  return json;
}

}  // namespace

std::string_view to_string(DatasetKind kind) {
  switch (kind) {
    case DatasetKind::kImages:
      return "images";
    case DatasetKind::kTokens:
      return "tokens";
    case DatasetKind::kRows:
      break;
  }
  return "rows";
}

std::int64_t DataDescription::features() const {
  return std::accumulate(
      columns.begin(), columns.end(), std::int64_t{0},
      [](std::int64_t sum, const ColumnDescription& each) { return sum + each.features(); });
}

std::string description_text(const DataDescription& description) {
  SortedJson json = {{"kind", to_string(description.kind)},
                     {"name", std::filesystem::path(description.name).filename().string()},
                     {"classes", description.classes},
                     {"class_names", description.class_names}};
  switch (description.kind) {
    case DatasetKind::kImages:
      json["channels"] = description.channels;
      json["height"] = description.height;
      json["width"] = description.width;
      json["mean"] = description.mean;
      json["deviation"] = description.deviation;
      json["transforms"] = description.transforms;
      break;
    case DatasetKind::kTokens:
      json["vocabulary"] = description.vocabulary;
      json["context"] = description.context;
      json["characters_per_token"] = description.characters_per_token;
      break;
    case DatasetKind::kRows:
      json["columns"] = SortedJson::array();
      for (const ColumnDescription& column : description.columns) {
        json["columns"].push_back(json_of(column));
      }
      json["targets"] = SortedJson::array();
      for (const TargetDescription& target : description.target_columns) {
        json["targets"].push_back(
            {{"name", target.name}, {"mean", target.mean}, {"deviation", target.deviation}});
      }
      if (!description.ignored.empty()) json["ignored"] = description.ignored;
      break;
  }
  return json.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

Result<DataDescription> parse_description(std::string_view text) {
  if (text.size() > kDescriptionBytesMax) {
    return corrupt(fmt::format("description: expected at most {} bytes, got {}",
                               kDescriptionBytesMax, text.size()));
  }
  bool deep = false;
  const SortedJson json = SortedJson::parse(
      text,
      [&](int depth, SortedJson::parse_event_t /*event*/, SortedJson& /*value*/) {
        deep = deep || depth > kDescriptionDepthMax;
        return !deep;
      },
      false);
  if (deep || !json.is_object()) {
    return corrupt("description: expected an object of JSON, got something else");
  }
  DataDescription read;
  FieldReader fields(json, "");
  std::string kind;
  fields.text("kind", kind);
  const auto* const found = std::find_if(std::begin(kDataKinds), std::end(kDataKinds),
                                         [&](DatasetKind each) { return to_string(each) == kind; });
  if (found == std::end(kDataKinds)) {
    fields.refuse("kind", "images, tokens or rows");
    return fields.status();
  }
  read.kind = *found;
  fields.text("name", read.name);
  fields.count("classes", 0, kDescribedClassesMax, read.classes);
  fields.texts("class_names", static_cast<std::size_t>(kDescribedClassesMax), read.class_names);
  fields.count("channels", 1, 3, read.channels);
  fields.count("height", 1, kSideMost, read.height);
  fields.count("width", 1, kSideMost, read.width);
  fields.numbers("mean", false, 3, read.mean);
  fields.numbers("deviation", true, 3, read.deviation);
  fields.text("transforms", read.transforms);
  fields.count("vocabulary", 1, kVocabularyMax, read.vocabulary);
  fields.count("context", 1, kContextMax, read.context);
  fields.number("characters_per_token", true, read.characters_per_token);
  fields.texts("ignored", kDescribedColumnsMax, read.ignored);
  WEFT_TRY(read_columns(fields, read));
  WEFT_TRY(read_targets(fields, read));
  WEFT_TRY(check_fields(fields, read));
  return read;
}

std::string data_difference(const DataDescription& was, const DataDescription& now) {
  if (was.kind != now.kind) return "kind";
  if (was.classes != now.classes) return "classes";
  if (was.class_names != now.class_names) return "class names";
  if (was.vocabulary != now.vocabulary) return "vocabulary";
  const auto text = [](const DataDescription& each) {
    return each.tokenizer != nullptr ? each.tokenizer->file_text() : std::string();
  };
  if (was.tokenizer != now.tokenizer && text(was) != text(now)) return "tokenizer";
  if (was.columns.size() != now.columns.size()) return "columns";
  for (std::size_t i = 0; i < was.columns.size(); ++i) {
    if (was.columns[i].name != now.columns[i].name) return "columns";
    if (was.columns[i].words != now.columns[i].words) {
      return fmt::format("words of the column {}", was.columns[i].name);
    }
  }
  if (was.target_columns.size() != now.target_columns.size()) return "targets";
  for (std::size_t i = 0; i < was.target_columns.size(); ++i) {
    if (was.target_columns[i].name != now.target_columns[i].name) return "targets";
  }
  return "";
}

}  // namespace weft
