// What a table holds, column by column.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/data/csv.h"
#include "weft/data/look/look.h"
#include "weft/data/safe_text.h"

namespace weft {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16U;
constexpr std::size_t kRowHashesMax = std::size_t{1} << 18U;
constexpr std::size_t kColumnsLookedAtMax = 1000;
constexpr std::size_t kDifferentInAll = 1000000;
constexpr std::size_t kWordBytesKept = 100;
constexpr std::size_t kWordsShown = 8;
constexpr std::size_t kLinesNamed = 5;
constexpr std::size_t kSampleRows = 3;
// A column in which so many percent are numbers was probably meant to hold no word.
constexpr std::int64_t kMeantPercent = 80;

std::string_view no_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Fewer rows do not show what a column is for.
constexpr std::int64_t kTellingRows = 20;
constexpr std::int64_t kNearlyAllPercent = 90;

// So many digits from `at` on, which goes behind them.
std::size_t digits_at(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at - begin;
}

// "2024-01-31", "31.1.24", "1/31/2024", and with a time behind.
bool is_date(std::string_view text) {
  std::size_t at = 0;
  const std::size_t first = digits_at(text, at);
  if (at == text.size() || std::string_view("-./").find(text[at]) == std::string_view::npos) {
    return false;
  }
  const char between = text[at++];
  const std::size_t second = digits_at(text, at);
  if (at == text.size() || text[at++] != between) return false;
  const std::size_t third = digits_at(text, at);
  const bool ends = at == text.size() || text[at] == ' ' || text[at] == 'T';
  const auto is_small = [](std::size_t digits) { return digits == 1 || digits == 2; };
  const bool year_first = first == 4 && is_small(third);
  const bool year_last = is_small(first) && (third == 4 || third == 2);
  return ends && is_small(second) && (year_first || year_last);
}

// "$12.50", "12,50 \xE2\x82\xAC", "95%", "70 kg".
bool has_unit(std::string_view text, char decimal) {
  constexpr std::string_view kSigns[] = {"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5", "%"};
  constexpr std::size_t kUnitBytesMax = 5;
  std::size_t stripped = 0;
  for (const std::string_view sign : kSigns) {
    const std::size_t before = text.size();
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
    if (text.ends_with(sign)) text.remove_suffix(sign.size());
    stripped += before - text.size();
  }
  const std::size_t blank = text.rfind(' ');
  if (stripped == 0 && blank != std::string_view::npos &&
      text.size() - blank - 1 <= kUnitBytesMax) {
    text = text.substr(0, blank);
    ++stripped;
  }
  double value = 0;
  return stripped > 0 && parse_csv_number(no_blanks(text), decimal, value);
}

struct ColumnCounts {
  std::string name;
  std::int64_t missing = 0;
  std::int64_t numbers = 0;
  std::int64_t words = 0;  // values that are no numbers
  bool whole = true;
  double min = 0;
  double max = 0;
  std::string first_word;
  std::size_t first_word_line = 0;
  std::unordered_map<std::string, std::int64_t> counts;
  std::int64_t dates = 0;
  std::int64_t with_units = 0;
  bool counts_up = true;            // each number is the one before and 1
  double last = 0;                  // number
  std::int64_t values_counted = 0;  // until `counts` was full

  // At most `different_max` different values are counted.
  void take(std::string_view field, char decimal, std::size_t line, std::size_t different_max) {
    if (is_missing_field(field)) {
      ++missing;
      return;
    }
    const std::string shown(field.substr(0, kWordBytesKept));
    if (counts.size() < different_max) ++values_counted;
    if (counts.size() < different_max || counts.contains(shown)) ++counts[shown];
    double value = 0;
    if (!parse_csv_number(field, decimal, value)) {
      if (is_date(field)) ++dates;
      if (has_unit(field, decimal)) ++with_units;
      if (words++ == 0) {
        first_word = safe_text(field, 40);
        first_word_line = line;
      }
      return;
    }
    min = numbers == 0 ? value : std::min(min, value);
    max = numbers == 0 ? value : std::max(max, value);
    whole = whole && value == std::floor(value);
    counts_up = counts_up && (numbers == 0 || value == last + 1);
    last = value;
    ++numbers;
  }
};

bool is_identifier(const ColumnCounts& column) {
  if (column.numbers + column.words <= kTellingRows) return false;
  if (column.words == 0) return column.whole && column.counts_up;
  const auto different = static_cast<std::int64_t>(column.counts.size());
  if (column.with_units * 100 >= column.words * kMeantPercent) return false;
  return column.numbers == 0 && different * 100 >= column.values_counted * kNearlyAllPercent;
}

ColumnLook look_of(const ColumnCounts& column) {
  ColumnLook look;
  look.name = safe_text(column.name);
  look.exact = look.name == column.name;
  look.identifier = is_identifier(column);
  look.dates = column.dates * 100 > (column.numbers + column.words) * kMeantPercent;
  look.of_numbers = column.words == 0 && column.numbers > 0;
  look.whole = column.whole;
  look.missing = column.missing;
  look.values = column.numbers + column.words;
  look.different = static_cast<std::int64_t>(column.counts.size());
  look.min = column.min;
  look.max = column.max;
  std::vector<std::pair<std::string, std::int64_t>> words(column.counts.begin(),
                                                          column.counts.end());
  std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  words.resize(std::min(words.size(), kWordsShown));
  for (const auto& [word, count] : words) look.words.emplace_back(safe_text(word, 40), count);
  return look;
}

class TableLooker {
 public:
  explicit TableLooker(DataLook& look) : look_(look), form_(look.table.form) {}

  void take(const std::vector<std::string>& record, std::size_t line) {
    if (columns_.empty()) {
      if (is_empty_line(record)) return;
      begin(record);
      if (form_.header) return;
    }
    if (is_empty_line(record) && columns_.size() > 1) return;
    if (record.size() != columns_.size()) {
      note_width(record.size(), line);
      return;
    }
    ++look_.table.rows;
    std::string whole;
    for (std::size_t i = 0; i < record.size(); ++i) {
      const std::string_view field = no_blanks(record[i]);
      if (i < kColumnsLookedAtMax) columns_[i].take(field, form_.decimal, line, different_max_);
      whole.append(field).push_back('\x1F');
    }
    const Hash128 hash = xxh3_128(as_bytes(std::string_view(whole)));
    if (rows_.size() < kRowHashesMax && !rows_.insert(to_hex(hash)).second) ++doubles_;
    if (look_.samples.size() < kSampleRows) {
      look_.samples.push_back(safe_text(fmt::format("{}", fmt::join(record, " | ")), 160));
    }
  }

  // "", or that the first line has another number of fields than others.
  std::string other_widths() const {
    return widths_.empty() ? ""
                           : fmt::format("; the first line has {}, {}", columns_.size(), widths_);
  }

  void finish() {
    if (wrong_width_ > 0) {
      look_.oddities.push_back(
          fmt::format("{} row{} of another number of fields than the {} of the first line: {}. A "
                      "recipe refuses "
                      "the table until {} mended.",
                      wrong_width_, wrong_width_ == 1 ? " is" : "s are", columns_.size(), widths_,
                      wrong_width_ == 1 ? "it is" : "they are"));
    }
    if (doubles_ > 0) {
      look_.oddities.push_back(fmt::format("{} row{} there before: the same row again.", doubles_,
                                           doubles_ == 1 ? " was" : "s were"));
    }
    columns_.resize(std::min(columns_.size(), kColumnsLookedAtMax));
    for (const ColumnCounts& column : columns_) {
      look_.table.columns.push_back(look_of(column));
      note_column(column, look_.table.columns.back());
    }
  }

 private:
  void begin(const std::vector<std::string>& record) {
    columns_.resize(record.size());
    different_max_ = std::min(static_cast<std::size_t>(kLookDifferentMax),
                              kDifferentInAll / std::max<std::size_t>(1, record.size()));
    std::vector<std::string> names = csv_column_names(record, form_.header);
    for (std::size_t i = 0; i < record.size(); ++i) {
      if (form_.header && names[i] != no_blanks(record[i])) note_name(i, record[i], names[i]);
      columns_[i].name = std::move(names[i]);
    }
  }
  void note_name(std::size_t place, std::string_view name, const std::string& used) {
    if (no_blanks(name).empty()) {
      look_.oddities.push_back(
          fmt::format("Column {} has no name, and is called \"{}\".", place + 1, used));
    } else {
      look_.oddities.push_back(fmt::format("Two columns are called {}; the second is \"{}\" here.",
                                           safe_text(name), safe_text(used)));
    }
  }
  void note_width(std::size_t width, std::size_t line) {
    if (++wrong_width_ <= kLinesNamed) {
      widths_ += fmt::format("{}line {} has {}", widths_.empty() ? "" : ", ", line, width);
    }
    if (wrong_width_ == kLinesNamed + 1) widths_ += ", ...";
  }
  void note_column(const ColumnCounts& column, const ColumnLook& shown) {
    const std::int64_t values = column.numbers + column.words;
    const std::string name = fmt::format("Column {}", shown.name);
    if (column.words > 0 && column.with_units * 100 >= column.words * kMeantPercent) {
      look_.oddities.push_back(fmt::format(
          "{} holds numbers with signs or units about them, such as \"{}\", which count "
          "as words: write the numbers alone.",
          name, column.first_word));
    } else if (values == 0) {
      look_.oddities.push_back(name + " has no values at all.");
    } else if (column.words > 0 && column.numbers * 100 >= values * kMeantPercent) {
      look_.oddities.push_back(fmt::format(
          "{} looks like numbers, but {} of its values {}: \"{}\" in line {}.", name, column.words,
          column.words == 1 ? "is none" : "are none", column.first_word, column.first_word_line));
    } else if (shown.different == 1 && look_.table.rows > 1) {
      look_.oddities.push_back(name + " has the same value in every row: it says nothing.");
    } else if (const std::string_view why = why_to_leave_out(shown); !why.empty()) {
      look_.oddities.push_back(fmt::format("{} {}. Leave it out: data.columns_ignored = \"{}\".",
                                           name, why, shown.name));
    }
  }

  static std::string_view why_to_leave_out(const ColumnLook& column) {
    if (column.dates) return "holds dates, which count as words that new rows do not have";
    if (!column.identifier) return "";
    return column.of_numbers
               ? "counts up from row to row, as an identifier does"
               : "has another word in nearly every row, so that little is learned of it";
  }

  DataLook& look_;
  const CsvForm form_;
  std::vector<ColumnCounts> columns_;
  std::size_t different_max_ = 0;
  std::unordered_set<std::string> rows_;
  std::int64_t doubles_ = 0;
  std::size_t wrong_width_ = 0;
  std::string widths_;
};

}  // namespace

Status look_at_table(const std::string& path, DataLook& look) {
  look.kind = LookKind::kTable;
  WEFT_TRY_ASSIGN(look.table.form, sniff_csv_file(path));
  std::ifstream file(path, std::ios::binary);
  CsvParser parser(look.table.form.separator);
  TableLooker looker(look);
  std::vector<std::string> record;
  std::string piece(kPieceBytes, '\0');
  for (bool first = true; file; first = false) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    std::string_view bytes(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (first && bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    parser.feed(bytes);
    if (file.eof()) parser.finish();
    for (;;) {
      const Result<bool> got = parser.next(record);
      if (!got.ok()) return got.status().with_context(path);
      if (!*got) break;
      looker.take(record, parser.line());
    }
  }
  looker.finish();
  if (look.table.columns.size() < 2 || look.table.rows < 1) {
    return invalid_argument(
        fmt::format("{}: expected a table of two columns and a row at least, with commas, "
                    "semicolons, tabs or bars between the fields, got {} and {}{}",
                    path, look.table.columns.size(), look.table.rows, looker.other_widths()));
  }
  return {};
}

}  // namespace weft
