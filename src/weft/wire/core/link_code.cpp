#include "weft/wire/link_code.h"

#include <algorithm>
#include <cmath>

#include "weft/base/portable_math.h"
#include "weft/wire/codec.h"

namespace weft {

static constexpr double kCodesAnOctave = 1024;
static constexpr double kCodeMax = 65535;

LinkCode LinkCode::of(double value) {
  const double code = std::round(kCodesAnOctave * std::log2(std::max(value, 1.0)));
  return LinkCode(static_cast<std::uint16_t>(std::clamp(code, 1.0, kCodeMax)));
}

double LinkCode::value() const { return known() ? portable_pow(2, code_ / kCodesAnOctave) : 0; }

void write_link_summary(Writer& out, const LinkSummary& links) {
  out.u16(links.ring_rate.code()).u16(links.rate.code()).u16(links.delay.code());
}

LinkSummary read_link_summary(Reader& in) {
  LinkSummary links;
  links.ring_rate = LinkCode(in.u16("links.ring_rate"));
  links.rate = LinkCode(in.u16("links.rate"));
  links.delay = LinkCode(in.u16("links.delay"));
  return links;
}

}  // namespace weft
