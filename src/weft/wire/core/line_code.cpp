#include "weft/wire/line_code.h"

#include <algorithm>
#include <cmath>

#include "weft/wire/codec.h"

namespace weft {

static constexpr double kCodesAnOctave = 1024;
static constexpr double kCodeMax = 65535;

LineCode LineCode::of(double value) {
  const double code = std::round(kCodesAnOctave * std::log2(std::max(value, 1.0)));
  return LineCode(static_cast<std::uint16_t>(std::clamp(code, 1.0, kCodeMax)));
}

double LineCode::value() const { return known() ? std::exp2(code_ / kCodesAnOctave) : 0; }

void write_line_summary(Writer& out, const LineSummary& lines) {
  out.u16(lines.ring_rate.code()).u16(lines.rate.code()).u16(lines.delay.code());
}

LineSummary read_line_summary(Reader& in) {
  LineSummary lines;
  lines.ring_rate = LineCode(in.u16("lines.ring_rate"));
  lines.rate = LineCode(in.u16("lines.rate"));
  lines.delay = LineCode(in.u16("lines.delay"));
  return lines;
}

}  // namespace weft
