#include "weft/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"
#include "weft/base/rng.h"
#include "weft/base/utf8.h"
#include "weft/data/safe_text.h"

namespace weft {
namespace {

constexpr std::size_t kWordsMax = 65536;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr std::string_view kMissing[] = {"",     "NA",   "N/A",  "n/a", "nan", "NaN",
                                         "null", "NULL", "None", "-",   "?"};
constexpr std::uint64_t kRowOrderSeed = 1;

// Written like a number, but one that no finite value stands for: "inf", "1e999".
bool is_not_finite(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size()) return false;
  return error == std::errc::result_out_of_range || !std::isfinite(value);
}

std::string shown(std::string_view text) {
  const bool plain = text.size() <= 40 && std::all_of(text.begin(), text.end(),
                                                      [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? fmt::format("\"{}\"", text) : fmt::format("{} bytes", text.size());
}

constexpr std::size_t kNamesShown = 50;

std::string column_list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    text += (i == 0 ? "" : ", ") + safe_text(names[i], 100);
  }
  return names.size() > kNamesShown ? text + ", ..." : text;
}

// did_you_mean() among the first columns whose names are of usual length.
std::string nearest_column(const std::string& name, const std::vector<std::string>& names) {
  constexpr std::size_t kComparedMax = 1000;
  constexpr std::size_t kNameBytes = 200;
  std::vector<std::string> compared;
  for (std::size_t i = 0; i < std::min(names.size(), kComparedMax); ++i) {
    if (names[i].size() <= kNameBytes) compared.push_back(names[i]);
  }
  return name.size() <= kNameBytes ? did_you_mean(name, compared) : "";
}

// Words and names are compared, stored and printed, so they must be texts.
Status check_letters(std::string_view text, std::size_t line) {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid == text.size()) return {};
  return corrupt(fmt::format("line {}: expected UTF-8, got byte {:02x}; save the table as UTF-8",
                             line, static_cast<std::uint8_t>(text[valid])));
}

enum class ColumnKind { kUnknown, kNumbers, kWords };

struct Column {
  std::size_t place = 0;  // in a record
  ColumnKind kind = ColumnKind::kUnknown;
  std::unordered_map<std::string, std::size_t> places;
  std::vector<std::string> words;
};

// Collects the records of a table.
class TableReader {
 public:
  explicit TableReader(const CsvOptions& options) : options_(options) {}

  Status add(const std::vector<std::string>& record, std::size_t line) {
    if (width_ == 0) {
      if (is_empty_line(record)) return {};
      WEFT_TRY(begin(record, line));
      if (options_.header) return {};
    }
    if (is_empty_line(record) && width_ > 1) return {};
    if (record.size() != width_) {
      return corrupt(
          fmt::format("line {}: expected {} fields, got {}", line, width_, record.size()));
    }
    if ((values_.size() + columns_.size()) * sizeof(double) > options_.bytes_max) {
      return corrupt(fmt::format("line {}: expected at most {} bytes of values, got more", line,
                                 options_.bytes_max));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view field = csv_trimmed(record[columns_[i].place]);
      WEFT_TRY_ASSIGN(const double value, value_of(columns_[i], field, line, i));
      values_.push_back(value);
    }
    return {};
  }

  Result<CsvTable> finish() {
    if (columns_.empty()) return corrupt("expected at least one record, got none");
    const std::size_t rows = values_.size() / columns_.size();
    WEFT_TRY(check_first_record());
    WEFT_TRY(fill_missing(rows));
    if (options_.mixed) mix(rows);
    CsvTable table;
    table.names = std::move(names_);
    table.ignored = options_.ignored;
    for (Column& column : columns_) table.words.push_back(std::move(column.words));
    table.values = Array::from(
        values_, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns_.size())});
    return table;
  }

 private:
  // The columns that the first record has, without those to ignore.
  Status begin(const std::vector<std::string>& record, std::size_t line) {
    width_ = record.size();
    for (const std::string& field : record) WEFT_TRY(check_letters(field, line));
    const std::vector<std::string> all = csv_column_names(record, options_.header);
    const auto& ignored = options_.ignored;
    for (std::size_t i = 0; i < record.size(); ++i) {
      if (std::find(ignored.begin(), ignored.end(), all[i]) != ignored.end()) continue;
      names_.push_back(all[i]);
      columns_.emplace_back().place = i;
    }
    for (const std::string& name : options_.ignored) {
      if (std::find(all.begin(), all.end(), name) != all.end()) continue;
      return invalid_argument(
          fmt::format("data.columns_ignored: expected columns of the table, got {}{}; it has {}",
                      shown(name), nearest_column(name, all), column_list(all)));
    }
    if (!columns_.empty()) return {};
    return invalid_argument("data.columns_ignored: names every column of the table; keep some");
  }

  Result<double> value_of(Column& column, std::string_view text, std::size_t line,
                          std::size_t index) {
    double value = 0;
    const bool refuses_words = options_.missing == MissingValues::kNan;
    if ((column.kind != ColumnKind::kWords || refuses_words) && is_missing_field(text)) {
      if (options_.missing != MissingValues::kRefuse) return kNan;
      return corrupt(fmt::format("line {}, column {} ({}): expected a value, got {}", line,
                                 column.place + 1, shown(names_[index]), shown(text)));
    }
    const bool number =
        column.kind != ColumnKind::kWords && parse_csv_number(text, options_.decimal, value);
    if (column.kind == ColumnKind::kUnknown) {
      const bool numbers = number || is_not_finite(text);
      column.kind = numbers ? ColumnKind::kNumbers : ColumnKind::kWords;
    }
    if (number) return value;
    if (column.kind == ColumnKind::kNumbers) {
      return corrupt(fmt::format("line {}, column {} ({}): expected a finite number, got {}", line,
                                 column.place + 1, shown(names_[index]), shown(text)));
    }
    const auto [found, fresh] = column.places.emplace(std::string(text), column.words.size());
    if (fresh) {
      WEFT_TRY(check_letters(text, line));
      column.words.emplace_back(text);
    }
    if (column.words.size() > kWordsMax) {
      return corrupt(
          fmt::format("line {}, column {} ({}): expected at most {} different words, got "
                      "more",
                      line, column.place + 1, shown(names_[index]), kWordsMax));
    }
    return static_cast<double>(found->second);
  }

  void mix(std::size_t rows) {
    const std::vector<std::size_t> order = mixed_order(rows);
    std::vector<double> mixed;
    mixed.reserve(values_.size());
    for (const std::size_t row : order) {
      const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(row * columns_.size());
      mixed.insert(mixed.end(), begin, begin + static_cast<std::ptrdiff_t>(columns_.size()));
    }
    values_ = std::move(mixed);
  }

  // A file without a header does not begin with the names of columns of numbers.
  Status check_first_record() const {
    if (options_.header) return {};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::vector<std::string>& words = columns_[i].words;
      double value = 0;
      const auto is_number = [&](const std::string& word) {
        return parse_csv_number(word, options_.decimal, value);
      };
      if (words.size() < 3 || !std::all_of(words.begin() + 1, words.end(), is_number)) continue;
      return corrupt(
          fmt::format("column {}: expected numbers as in all other lines, got {} in the first; if "
                      "that line has the names of the columns, set data.header = true",
                      i + 1, shown(words.front())));
    }
    return {};
  }

  Status fill_missing(std::size_t rows) {
    if (options_.missing == MissingValues::kRefuse || options_.missing == MissingValues::kNan) {
      return {};
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      double sum = 0;
      double count = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        const double value = values_[r * columns_.size() + c];
        if (std::isnan(value)) continue;
        sum += value;
        count += 1;
      }
      const bool mean = options_.missing == MissingValues::kColumnMean && count > 0;
      const double filler = mean ? sum / count : 0;
      for (std::size_t r = 0; r < rows; ++r) {
        double& value = values_[r * columns_.size() + c];
        if (std::isnan(value)) value = filler;
      }
    }
    return {};
  }

  CsvOptions options_;
  std::size_t width_ = 0;  // fields of a record
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::vector<double> values_;
};

CsvRecordSink sink_of(TableReader& reader) {
  return [&reader](const std::vector<std::string>& fields, std::size_t line) {
    return reader.add(fields, line);
  };
}

std::int64_t column_named(const CsvTable& table, const std::string& name) {
  if (name.empty()) return static_cast<std::int64_t>(table.names.size()) - 1;
  const auto found = std::find(table.names.begin(), table.names.end(), name);
  return found == table.names.end() ? -1 : found - table.names.begin();
}

// The whole numbers of a column as labels; how many classes there are.
Result<std::int64_t> read_labels(const CsvTable& table, std::int64_t column,
                                 std::vector<std::int64_t>& labels) {
  const std::int64_t columns = table.values.dim(1);
  std::int64_t classes = 1;
  std::int64_t missing = 0;
  for (std::int64_t row = 0; row < table.values.dim(0); ++row) {
    if (std::isnan(table.values.data<double>()[row * columns + column])) ++missing;
  }
  if (missing > 0) {
    return invalid_argument(fmt::format(
        "column {}: expected a class in every row, got {} rows without one (nothing, NA, "
        "None, - and the like are missing values); leave those rows out, or give the "
        "class another name",
        shown(table.names[static_cast<std::size_t>(column)]), missing));
  }
  for (std::int64_t row = 0; row < table.values.dim(0); ++row) {
    const double value = table.values.data<double>()[row * columns + column];
    if (!(value >= 0 && value < 65536) || value != std::floor(value)) {
      return invalid_argument(
          fmt::format("column {}: expected classes from 0 to 65535, got {} in row {}",
                      shown(table.names[static_cast<std::size_t>(column)]), value, row));
    }
    labels.push_back(static_cast<std::int64_t>(value));
    classes = std::max(classes, labels.back() + 1);
  }
  return classes;
}

}  // namespace

std::vector<std::size_t> mixed_order(std::size_t rows) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng rng(kRowOrderSeed);
  for (std::size_t i = rows; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

bool is_missing_field(std::string_view text) {
  return std::find(std::begin(kMissing), std::end(kMissing), text) != std::end(kMissing);
}

Result<CsvTable> parse_csv(std::string_view text, const CsvOptions& options) {
  TableReader reader(options);
  WEFT_TRY(parse_csv_records(text, options.separator, sink_of(reader)));
  return reader.finish();
}

Result<CsvTable> read_csv(const std::string& path, const CsvOptions& options) {
  TableReader reader(options);
  WEFT_TRY(read_csv_records(path, options.separator, sink_of(reader)));
  Result<CsvTable> table = reader.finish();
  if (!table.ok()) return table.status().with_context(path);
  return table;
}

Result<Dataset> make_csv_dataset(std::string name, const CsvTable& table, Split split,
                                 const CsvDatasetOptions& options) {
  const std::int64_t target = column_named(table, options.target);
  const std::int64_t columns = table.values.dim(1);
  const std::int64_t rows = table.values.dim(0);
  if (target < 0) {
    return invalid_argument(
        fmt::format("{}: data.target: expected a column of the table, got {}{}; "
                    "it has {}",
                    name, shown(options.target), nearest_column(options.target, table.names),
                    column_list(table.names)));
  }
  if (columns < 2 || rows < 1) {
    return invalid_argument(
        fmt::format("{}: expected rows of two columns or more, one of them {}, got {} rows of {}",
                    name, shown(table.names[static_cast<std::size_t>(target)]), rows, columns));
  }
  Dataset dataset;
  dataset.name = std::move(name);
  dataset.split = split;
  dataset.kind = DatasetKind::kRows;
  dataset.size = rows;
  dataset.ignored = table.ignored;
  dataset.target_columns = {{.name = table.names[static_cast<std::size_t>(target)]}};
  for (std::int64_t column = 0; column < columns; ++column) {
    const auto at = static_cast<std::size_t>(column);
    if (column == target) continue;
    dataset.columns.push_back({.name = table.names[at], .words = table.words[at]});
  }
  dataset.rows = Array::empty({rows, columns - 1});
  const double* values = table.values.data<double>();
  float* inputs = dataset.rows.data<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      if (column == target) continue;
      *inputs++ = static_cast<float>(values[row * columns + column]);
    }
  }
  const auto& words = table.words[static_cast<std::size_t>(target)];
  if (!words.empty() || options.classify) {
    std::vector<std::int64_t> labels;
    WEFT_TRY_ASSIGN(dataset.classes, read_labels(table, target, labels));
    dataset.labels = pack_labels(labels, dataset.classes);
    dataset.class_names = words;
    WEFT_TRY(keep_row_split(dataset, split));
    return dataset;
  }
  dataset.targets = Array::empty({rows, 1});
  for (std::int64_t row = 0; row < rows; ++row) {
    dataset.targets.data<float>()[row] = static_cast<float>(values[row * columns + target]);
  }
  WEFT_TRY(keep_row_split(dataset, split));
  return dataset;
}

}  // namespace weft
