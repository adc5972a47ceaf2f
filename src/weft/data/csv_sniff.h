// How a table is written, recognised from the first part of its file: what separates the fields,
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

// So much of a file is looked at.
inline constexpr std::size_t kCsvSniffBytes = std::size_t{1} << 18U;

struct CsvForm {
  char separator = ',';
  char decimal = '.';
  bool header = true;
  // Words stand over a column of numbers, so that the first line can be nothing but a header.
  bool header_certain = false;
  friend bool operator==(const CsvForm&, const CsvForm&) = default;
};

// `whole`: the text ends where the file does; else its last record may be cut and is left out.
CsvForm sniff_csv(std::string_view text, bool whole);
Result<CsvForm> sniff_csv_file(const std::string& path);

// "comma", "semicolon", "tab" or "bar", as data.separator has them.
std::string_view separator_name(char separator);
// 0 where `name` is none of these.
char separator_named(std::string_view name);

}  // namespace weft
