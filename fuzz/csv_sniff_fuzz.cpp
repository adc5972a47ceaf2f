// Any bytes as the beginning of a table: some form is found, always the same one, and a table that
// is read by it is refused or has a name for each column.
#include <string>

#include "weft/base/check.h"
#include "weft/data/csv.h"
#include "weft/data/csv_sniff.h"
#include "weft/data/safe_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const weft::CsvForm form = weft::sniff_csv(text, true);
  WEFT_CHECK(form == weft::sniff_csv(text, true));
  WEFT_CHECK(weft::separator_named(weft::separator_name(form.separator)) == form.separator);
  WEFT_CHECK(form.decimal == '.' || form.decimal == ',');
  static_cast<void>(weft::sniff_csv(text, false));
  for (const char letter : weft::safe_text(text, 100)) {
    WEFT_CHECK(static_cast<unsigned char>(letter) >= 0x20 && letter != 0x7F);
  }
  const auto table = weft::parse_csv(text, {.separator = form.separator,
                                            .decimal = form.decimal,
                                            .header = form.header,
                                            .mixed = true,
                                            .missing = weft::MissingValues::kColumnMean});
  WEFT_CHECK(!table.ok() || table->values.dim(1) == static_cast<std::int64_t>(table->names.size()));
  return 0;
}
