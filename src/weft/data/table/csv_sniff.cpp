#include "weft/data/csv_sniff.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "weft/base/utf8.h"
#include "weft/data/csv.h"

namespace weft {
namespace {

constexpr std::size_t kSniffRecordsMax = 1000;
constexpr std::size_t kSniffColumnsMax = 4096;
// A column is one of numbers where at least so many percent of its values are.
constexpr std::size_t kNumberPercent = 90;

struct SeparatorName {
  char separator;
  std::string_view name;
};
// Where two fit equally well the first one holds: tabs and semicolons are rare inside of fields.
constexpr SeparatorName kSeparators[] = {
    {'\t', "tab"}, {';', "semicolon"}, {'|', "bar"}, {',', "comma"}};

using Records = std::vector<std::vector<std::string>>;

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The first records, up to the first fault.
Records first_records(std::string_view text, char separator, bool whole) {
  CsvParser parser(separator);
  parser.feed(text);
  if (whole) parser.finish();
  Records records;
  std::vector<std::string> record;
  while (records.size() < kSniffRecordsMax) {
    const Result<bool> got = parser.next(record);
    if (!got.ok() || !*got) break;
    if (!is_empty_line(record)) records.push_back(record);
  }
  return records;
}

// How many fields most records have, and how many records have them.
std::pair<std::size_t, std::size_t> usual_width(const Records& records) {
  std::map<std::size_t, std::size_t> counts;
  for (const auto& record : records) ++counts[record.size()];
  std::pair<std::size_t, std::size_t> best = {0, 0};
  for (const auto& [width, count] : counts) {
    if (count >= best.second) best = {width, count};
  }
  return best;
}

bool is_number(std::string_view field, char decimal) {
  double value = 0;
  return parse_csv_number(without_blanks(field), decimal, value);
}

// What a column holds in the records after the first that have `width` fields.
struct ColumnCount {
  std::size_t values = 0;   // that are not missing
  std::size_t numbers = 0;  // among them
  bool of_numbers() const { return numbers > 0 && numbers * 100 >= values * kNumberPercent; }
};
std::vector<ColumnCount> count_columns(const Records& records, std::size_t width, char decimal) {
  std::vector<ColumnCount> columns(std::min(width, kSniffColumnsMax));
  for (std::size_t row = 1; row < records.size(); ++row) {
    if (records[row].size() != width) continue;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string_view field = without_blanks(records[row][c]);
      if (is_missing_field(field)) continue;
      ++columns[c].values;
      if (is_number(field, decimal)) ++columns[c].numbers;
    }
  }
  return columns;
}

// Numbers that only a comma makes one, against those that only a point does. "1,234" may be a
// fraction or thousands: it is a fraction where no other number tells, unless commas separate the
// fields.
char decimal_of(const Records& records, std::size_t width, char separator) {
  std::size_t commas = 0;
  std::size_t points = 0;
  std::size_t open_commas = 0;
  std::size_t open_points = 0;
  for (const auto& record : records) {
    if (record.size() != width) continue;
    for (const std::string& field : record) {
      const bool point = is_number(field, '.');
      const bool comma = is_number(field, ',');
      if (comma && !point) ++commas;
      if (point && !comma) ++points;
      if (point && comma && field.find(',') != std::string::npos) ++open_commas;
      if (point && comma && field.find('.') != std::string::npos) ++open_points;
    }
  }
  if (commas != points) return commas > points ? ',' : '.';
  return open_commas > open_points && separator != ',' ? ',' : '.';
}

// How well a separator fits; larger is better.
struct Fit {
  std::size_t several = 0;     // 1 where there are two columns or more
  std::size_t regular = 0;     // tenths of the records that have the usual width
  std::size_t of_numbers = 0;  // tenths of the columns
  std::size_t columns = 0;
  friend auto operator<=>(const Fit&, const Fit&) = default;
};

Fit fit_of(const Records& records) {
  const auto [width, count] = usual_width(records);
  if (width < 2) return {};
  std::size_t best = 0;
  for (const char decimal : {'.', ','}) {
    const std::vector<ColumnCount> columns = count_columns(records, width, decimal);
    const auto numbers = static_cast<std::size_t>(std::count_if(
        columns.begin(), columns.end(), [](const ColumnCount& c) { return c.of_numbers(); }));
    best = std::max(best, numbers);
  }
  return {1, 10 * count / records.size(), 10 * best / width, width};
}

// Whether the first record looks like one of the others, where no column is of numbers: names are
// all different, and do not come again below.
bool names_come_again(const Records& records, std::size_t width) {
  std::set<std::string> names;
  for (std::size_t c = 0; c < std::min(width, kSniffColumnsMax); ++c) {
    const std::string& name = records[0][c];
    if (is_missing_field(name) || !names.insert(name).second) return true;
    for (std::size_t row = 1; row < records.size(); ++row) {
      if (records[row].size() == width && records[row][c] == name) return true;
    }
  }
  return false;
}

void find_header(const Records& records, std::size_t width, CsvForm& form) {
  if (records.empty() || records[0].size() != width) return;
  const std::vector<ColumnCount> columns = count_columns(records, width, form.decimal);
  bool any_numbers = false;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::string_view first = without_blanks(records[0][c]);
    if (!columns[c].of_numbers()) continue;
    any_numbers = true;
    if (!is_missing_field(first) && !is_number(first, form.decimal)) form.header_certain = true;
  }
  form.header = form.header_certain || (!any_numbers && !names_come_again(records, width));
  if (records.size() > 1) return;
  form.header = std::none_of(records[0].begin(), records[0].end(),
                             [&](const std::string& f) { return is_number(f, form.decimal); });
}

// The last character of a part may be cut.
Status check_encoding(std::string_view text, bool whole) {
  constexpr std::size_t kCutBytesMax = 3;
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid == text.size() || (!whole && valid + kCutBytesMax >= text.size())) return {};
  const auto lines =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(valid), '\n');
  return corrupt(fmt::format("line {}: expected UTF-8, got byte {:02x}; save the table as UTF-8",
                             lines + 1, static_cast<std::uint8_t>(text[valid])));
}

}  // namespace

CsvForm sniff_csv(std::string_view text, bool whole) {
  if (text.size() > kCsvSniffBytes) {
    text = text.substr(0, kCsvSniffBytes);
    whole = false;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  CsvForm form;
  Fit best;
  Records records = first_records(text, form.separator, whole);
  for (const SeparatorName& candidate : kSeparators) {
    Records with = first_records(text, candidate.separator, whole);
    const Fit fit = fit_of(with);
    if (!(fit > best)) continue;
    best = fit;
    form.separator = candidate.separator;
    records = std::move(with);
  }
  const std::size_t width = usual_width(records).first;
  form.decimal = decimal_of(records, width, form.separator);
  find_header(records, width, form);
  return form;
}

Result<CsvForm> sniff_csv_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unavailable(fmt::format("{}: expected a file that can be read", path));
  std::string text(kCsvSniffBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return corrupt(fmt::format("{}: expected UTF-8, got UTF-16; save the table as UTF-8", path));
  }
  const bool whole = text.size() < kCsvSniffBytes;
  WEFT_TRY(check_encoding(text, whole).with_context(path));
  return sniff_csv(text, whole);
}

std::string_view separator_name(char separator) {
  for (const SeparatorName& known : kSeparators) {
    if (known.separator == separator) return known.name;
  }
  return "another";
}

char separator_named(std::string_view name) {
  for (const SeparatorName& known : kSeparators) {
    if (known.name == name) return known.separator;
  }
  return 0;
}

}  // namespace weft
