// Recognises how a table is written from the first part of its file: the separator of fields,
// whether numbers have a decimal comma, and whether the first line names the columns.
//
// Where it stands: `weft data look`, `weft new` and recipes whose data.separator or data.decimal is
// "auto" -> here -> CsvOptions.
// Threads: pure functions; bounded work for any bytes.
// Fails: sniff_csv_file with kUnavailable where the file cannot be read, kCorrupt where it is
// UTF-16 or another encoding than UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/base/status.h"

namespace weft {

// Only this many bytes of a file are examined.
inline constexpr std::size_t kCsvSniffBytes = std::size_t{1} << 18U;

struct CsvForm {
  char separator = ',';
  char decimal = '.';
  bool header = true;
  // Words stand above a column of numbers, so the first line must be a header.
  bool header_certain = false;
  friend bool operator==(const CsvForm&, const CsvForm&) = default;
};

// `whole`: the text ends where the file does; otherwise its last record may be cut off and is
// ignored.
CsvForm sniff_csv(std::string_view text, bool whole);
Result<CsvForm> sniff_csv_file(const std::string& path);

// "comma", "semicolon", "tab" or "bar", as data.separator has them.
std::string_view separator_name(char separator);
// Returns 0 if `name` is none of these.
char separator_named(std::string_view name);

}  // namespace weft
