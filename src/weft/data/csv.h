// CSV (RFC 4180): records of quoted or plain fields, read as a stream, and tables of numbers.
//
//   file   := record (newline record)* newline?      newline := "\n" | "\r\n"
//   record := field (separator field)*
//   field  := '"' (any but '"' | '""')* '"' | (any but '"', separator, newline)*
//
// A column is of numbers where its first value that is not missing is one; else it is of words,
// and each different word is a number in the order of first appearance. A later value that does
// not fit is an error with its line and column.
// Fails: kCorrupt "path: line N: expected X, got Y"; kUnavailable where a file cannot be read.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/data/dataset.h"

namespace weft {

inline constexpr std::size_t kCsvColumnsMax = 65536;
inline constexpr std::size_t kCsvFieldBytesMax = std::size_t{1} << 20U;
inline constexpr std::size_t kCsvRecordBytesMax = std::size_t{16} << 20U;

// Accepts pieces of a file as they arrive and returns its records; holds one record at a time.
class CsvParser {
 public:
  explicit CsvParser(char separator) : separator_(separator) {}

  // Adds bytes, or marks the end of the input.
  void feed(std::string_view bytes) { pending_.append(bytes); }
  void finish() { finished_ = true; }

  // Fills `fields` with the next record; false if more bytes are needed, or none are left.
  Result<bool> next(std::vector<std::string>& fields);
  // The line at which the last record returned by next() begins, from 1.
  std::size_t line() const { return record_line_; }

 private:
  enum class Place { kFieldStart, kPlain, kQuoted, kQuoteInQuoted };
  Status add(char byte, std::vector<std::string>& fields, bool& ended);
  Status end_field(std::vector<std::string>& fields);

  char separator_;
  std::string pending_;
  std::size_t used_ = 0;  // bytes of pending_ that are done with
  bool finished_ = false;
  Place place_ = Place::kFieldStart;
  bool after_return_ = false;  // a "\n" now belongs to the end of the record before
  std::string field_;
  std::vector<std::string> record_;
  std::size_t record_bytes_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
};

enum class MissingValues { kRefuse, kNan, kZero, kColumnMean };

// True if a field in a column of numbers stands for a missing value: an empty field, "NA", "N/A",
// "nan", "null", "None", "-" or "?".
bool is_missing_field(std::string_view text);
// True if `text` is a finite number with `decimal` before its fraction; then sets `value`.
// Thousands may be separated by the other one of point and comma, a blank or an apostrophe:
// "1.234,50", "1'234".
bool parse_csv_number(std::string_view text, char decimal, double& value);

// The row of the file at each position when its rows are mixed.
std::vector<std::size_t> mixed_order(std::size_t rows);

struct CsvOptions {
  char separator = ',';
  char decimal = '.';  // or ',': "1,5"
  bool header = true;  // the first record names the columns
  // The rows are shuffled, in the same way for every file with as many rows; otherwise they stay in
  // the file's order.
  bool mixed = false;
  // Columns to ignore, given by name or, without a header, by position: "0", "1", ... Each must
  // exist.
  std::vector<std::string> ignored = {};
  // The replacement for a missing field in a column of numbers; with kNan also in one of words.
  MissingValues missing = MissingValues::kRefuse;
  std::size_t bytes_max = std::size_t{1} << 31U;  // of values, in memory
};

struct CsvTable {
  // One name for each column that is not ignored; without a header its position in the file, "0",
  // "1", ...
  std::vector<std::string> names;
  std::vector<std::string> ignored;
  std::vector<std::vector<std::string>> words;  // one a column: its words, or none for numbers
  Array values;                                 // f64 [rows, columns]
};

// Passes each record of a text or file to `take`, with its line number; stops if `take` fails.
using CsvRecordSink =
    std::function<Status(const std::vector<std::string>& fields, std::size_t line)>;
Status parse_csv_records(std::string_view text, char separator, const CsvRecordSink& take);
Status read_csv_records(const std::string& path, char separator, const CsvRecordSink& take);

// The column names of a table from its first record, trimmed. Empty names, and all names without a
// header, are replaced by positions, "0", "1", ...; the second of two equal names becomes "NAME.1",
// so that names are unique.
std::vector<std::string> csv_column_names(const std::vector<std::string>& first, bool header);

// True for the record of an empty line.
bool is_empty_line(const std::vector<std::string>& record);
// The field without surrounding blanks.
std::string_view csv_trimmed(std::string_view field);

Result<CsvTable> read_csv(const std::string& path, const CsvOptions& options = {});
Result<CsvTable> parse_csv(std::string_view text, const CsvOptions& options = {});

// Column `target` is what a model learns: classes if it holds words, or whole numbers from 0 on and
// `classify` is set, otherwise a value. All other columns are inputs: the dataset's rows hold the
// file's values, for a word its number and for a missing value NaN; its columns hold their names
// and words (rows.h encodes these as inputs). The last tenth of the rows is the test split. Fails:
// kInvalidArgument on an unknown column, or on labels that are no classes.
struct CsvDatasetOptions {
  std::string target;  // empty: the last column
  bool classify = true;
};
Result<Dataset> make_csv_dataset(std::string name, const CsvTable& table, Split split,
                                 const CsvDatasetOptions& options = {});

}  // namespace weft
