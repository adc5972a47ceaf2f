// Any bytes as CSV: read whole or in two pieces, the records are the same; a table is refused or
// has a number for each field.
#include <string>
#include <vector>

#include "weft/base/check.h"
#include "weft/data/csv.h"

namespace {

// All fields one after another with marks, or the fault.
std::string records_of(std::string_view text, std::size_t cut) {
  weft::CsvParser parser(',');
  std::vector<std::string> record;
  std::string all;
  for (const std::string_view piece : {text.substr(0, cut), text.substr(cut)}) {
    parser.feed(piece);
    if (piece.data() + piece.size() == text.data() + text.size()) parser.finish();
    for (;;) {
      const weft::Result<bool> got = parser.next(record);
      if (!got.ok()) return all + got.status().message();
      if (!*got) break;
      for (const std::string& field : record) all += field + '\x1F';
      all += std::to_string(parser.line()) + '\x1E';
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  WEFT_CHECK(records_of(text, 0) == records_of(text, text.size() * data[0] / 256));
  const auto table = weft::parse_csv(text, {.missing = weft::MissingValues::kZero});
  if (!table.ok()) {
    WEFT_CHECK(table.status().code() == weft::Code::kCorrupt);
    return 0;
  }
  WEFT_CHECK(table->values.dim(1) == static_cast<std::int64_t>(table->names.size()));
  const auto dataset = weft::make_csv_dataset("fuzz", *table, weft::Split::kTrain);
  WEFT_CHECK(dataset.ok() || dataset.status().code() == weft::Code::kInvalidArgument);
  return 0;
}
