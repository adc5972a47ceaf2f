// Any bytes as the results of a program: a fault, or numbers that a comparison can draw.
#include <cmath>
#include <string>

#include "weft/app/program/program_results.h"
#include "weft/base/bytes.h"
#include "weft/base/check.h"
#include "weft/base/printable.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = weft::to_text(weft::ByteSpan(data, size));
  const weft::ProgramResults results = weft::parse_program_results(text, "fuzz.jsonl");
  WEFT_CHECK(results.fault.empty() ? !results.measured.empty() : results.fault.size() < 2000);
  WEFT_CHECK(weft::is_printable_text(results.fault));
  double before = 0;
  for (const weft::RunPoint& point : results.measured) {
    WEFT_CHECK(point.round >= before && std::isfinite(point.virtual_seconds));
    WEFT_CHECK(point.bytes_sent >= 0 && point.samples >= 0);
    WEFT_CHECK(std::isfinite(point.accuracy) || std::isfinite(point.loss));
    before = point.round;
  }
  return 0;
}
