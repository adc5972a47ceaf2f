#include "weft/data/rows_csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr float kNoValue = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kShownBytesMax = 40;

using Places = std::unordered_map<std::string_view, std::size_t>;

Places places_of(const std::vector<std::string>& words) {
  Places places;
  for (std::size_t i = 0; i < words.size(); ++i) places.emplace(words[i], i);
  return places;
}

// Rows of as many values each, in another order.
template <class Value>
std::vector<Value> in_order(const std::vector<Value>& values,
                            const std::vector<std::size_t>& order) {
  const std::size_t each = values.size() / order.size();
  std::vector<Value> mixed;
  mixed.reserve(values.size());
  for (const std::size_t row : order) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * each);
    mixed.insert(mixed.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
  }
  return mixed;
}

// What a column of a file without a header was in training.
enum class Role : std::uint8_t { kInput, kTarget, kIgnored };
// Whether a file has the targets, and the ignored columns.
constexpr std::pair<bool, bool> kForms[] = {{true, true}, {true, false}, {false, true}};

class RowReader {
 public:
  RowReader(const CsvOptions& options, const DataDescription& data, RowTargets targets)
      : options_(options), data_(data), with_targets_(targets == RowTargets::kRead) {
    for (const ColumnDescription& column : data.columns) words_.push_back(places_of(column.words));
    classes_ = places_of(data.class_names);
  }

  Status add(const std::vector<std::string>& fields, std::size_t line) {
    if (fields_ == 0) {
      if (is_empty_line(fields)) return {};
      fields_ = fields.size();
      WEFT_TRY(options_.header ? find_by_name(fields) : find_by_place());
      if (options_.header) return {};
    }
    if (is_empty_line(fields) && fields_ > 1) return {};
    if (fields.size() != fields_) {
      return corrupt(
          fmt::format("line {}: expected {} fields, got {}", line, fields_, fields.size()));
    }
    if (rows_.size() * sizeof(float) > options_.bytes_max) {
      return corrupt(fmt::format("line {}: expected at most {} bytes of values, got more", line,
                                 options_.bytes_max));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      WEFT_TRY_ASSIGN(const float value, value_of(i, csv_trimmed(fields[columns_[i]]), line));
      rows_.push_back(value);
    }
    return with_targets_ ? add_targets(fields, line) : Status();
  }

  Result<DescribedRows> finish(const std::string& path) {
    const std::size_t columns = columns_.size();
    const std::size_t count = columns == 0 ? 0 : rows_.size() / columns;
    if (count == 0) return corrupt("expected at least one row, got none");
    if (options_.mixed) {
      const std::vector<std::size_t> order = mixed_order(count);
      rows_ = in_order(rows_, order);
      values_ = in_order(values_, order);
      labels_ = in_order(labels_, order);
    }
    const auto rows = static_cast<std::int64_t>(count);
    DescribedRows read;
    read.unknown_words = unknown_words_;
    read.dataset.name = path;
    read.dataset.kind = DatasetKind::kRows;
    read.dataset.size = rows;
    read.dataset.rows = Array::from(rows_, {rows, static_cast<std::int64_t>(columns)});
    if (with_targets_ && data_.has_values()) {
      read.dataset.targets =
          Array::from(values_, {rows, static_cast<std::int64_t>(targets_.size())});
    } else if (with_targets_) {
      read.dataset.classes = data_.classes;
      read.dataset.labels = pack_labels(labels_, data_.classes);
    }
    return read;
  }

 private:
  Status find_by_name(const std::vector<std::string>& header) {
    const std::vector<std::string> names = csv_column_names(header, true);
    const auto place = [&](const std::string& name) -> Result<std::size_t> {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
      return invalid_argument(
          fmt::format("expected a column \"{}\", which the model was trained with, got {}", name,
                      fmt::join(names, ", ")));
    };
    for (const ColumnDescription& column : data_.columns) {
      WEFT_TRY_ASSIGN(columns_.emplace_back(), place(column.name));
    }
    if (!with_targets_) return {};
    for (const TargetDescription& target : data_.target_columns) {
      WEFT_TRY_ASSIGN(targets_.emplace_back(), place(target.name));
    }
    return {};
  }

  // Names are the places that columns had, from 0.
  Status find_by_place() {
    const std::size_t inputs = data_.columns.size();
    if (!with_targets_ && fields_ == inputs) {
      for (std::size_t i = 0; i < inputs; ++i) columns_.push_back(i);
      return {};
    }
    const std::vector<Role> roles = roles_by_place();
    int fits = 0;
    for (const auto& [has_targets, has_ignored] : kForms) {
      if (fields_ != width_of(has_targets, has_ignored)) continue;
      if ((with_targets_ && !has_targets) || (has_ignored && data_.ignored.empty())) continue;
      take_places(roles, has_targets, has_ignored);
      ++fits;
    }
    if (fits == 1 && columns_.size() == inputs) return {};
    const std::string ignored =
        data_.ignored.empty()
            ? std::string()
            : fmt::format(", or {} with those that training ignored too", width_of(true, true));
    return invalid_argument(
        fmt::format("expected {} columns, or {} with what is to be said{}, got {}{}", inputs,
                    width_of(true, false), ignored, fields_,
                    fits > 1 ? ", which leaves open which column is missing" : ""));
  }

  std::size_t width_of(bool has_targets, bool has_ignored) const {
    return data_.columns.size() + (has_targets ? data_.target_columns.size() : 0) +
           (has_ignored ? data_.ignored.size() : 0);
  }
  std::vector<Role> roles_by_place() const {
    std::vector<Role> roles(width_of(true, true), Role::kInput);
    const auto mark = [&](const std::string& name, Role role) {
      double place = 0;
      if (!parse_csv_number(name, '.', place)) return;
      if (place >= 0 && place < static_cast<double>(roles.size())) {
        roles[static_cast<std::size_t>(place)] = role;
      }
    };
    for (const TargetDescription& target : data_.target_columns) mark(target.name, Role::kTarget);
    for (const std::string& name : data_.ignored) mark(name, Role::kIgnored);
    return roles;
  }
  void take_places(const std::vector<Role>& roles, bool has_targets, bool has_ignored) {
    columns_.clear();
    targets_.clear();
    std::size_t place = 0;
    for (const Role role : roles) {
      if (role == Role::kTarget && !has_targets) continue;
      if (role == Role::kIgnored && !has_ignored) continue;
      if (role == Role::kInput) columns_.push_back(place);
      if (role == Role::kTarget) targets_.push_back(place);
      ++place;
    }
  }

  Result<float> value_of(std::size_t column, std::string_view text, std::size_t line) {
    if (is_missing_field(text)) return kNoValue;
    if (!data_.columns[column].words.empty()) {
      const auto found = words_[column].find(text);
      if (found != words_[column].end()) return static_cast<float>(found->second);
      ++unknown_words_;
      return kNoValue;
    }
    return number(text, data_.columns[column].name, line);
  }

  Result<float> number(std::string_view text, const std::string& name, std::size_t line) const {
    double value = 0;
    if (parse_csv_number(text, options_.decimal, value)) return static_cast<float>(value);
    return corrupt(fmt::format("line {}, column \"{}\": expected a number, got \"{}\"", line, name,
                               text.substr(0, kShownBytesMax)));
  }

  Status add_targets(const std::vector<std::string>& fields, std::size_t line) {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const std::string_view text = csv_trimmed(fields[targets_[i]]);
      const std::string& name = data_.target_columns[i].name;
      if (!data_.has_values() && !classes_.empty()) {
        const auto found = classes_.find(text);
        if (found == classes_.end()) {
          return corrupt(fmt::format(
              "line {}, column \"{}\": expected one of the model's {} classes, got \"{}\"", line,
              name, data_.classes, text.substr(0, kShownBytesMax)));
        }
        labels_.push_back(static_cast<std::int64_t>(found->second));
        continue;
      }
      WEFT_TRY_ASSIGN(const float value, number(text, name, line));
      if (data_.has_values()) {
        values_.push_back(value);
        continue;
      }
      if (!(value >= 0 && value < static_cast<float>(data_.classes)) ||
          value != std::floor(value)) {
        return corrupt(fmt::format("line {}, column \"{}\": expected a class from 0 to {}, got {}",
                                   line, name, data_.classes - 1, value));
      }
      labels_.push_back(static_cast<std::int64_t>(value));
    }
    return {};
  }

  const CsvOptions options_;
  const DataDescription& data_;
  const bool with_targets_;
  std::vector<Places> words_;  // one a column
  Places classes_;
  std::size_t fields_ = 0;  // of a record
  std::vector<std::size_t> columns_;
  std::vector<std::size_t> targets_;
  std::vector<float> rows_;
  std::vector<float> values_;
  std::vector<std::int64_t> labels_;
  std::int64_t unknown_words_ = 0;
};

}  // namespace

Result<DescribedRows> read_described_csv(const std::string& path, const CsvOptions& options,
                                         const DataDescription& data, RowTargets targets) {
  RowReader reader(options, data, targets);
  WEFT_TRY(read_csv_records(path, options.separator,
                            [&](const std::vector<std::string>& fields, std::size_t line) {
                              return reader.add(fields, line);
                            }));
  Result<DescribedRows> read = reader.finish(path);
  if (!read.ok()) return read.status().with_context(path);
  return read;
}

}  // namespace weft
