#include "weft/sim/machine/spread.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "weft/base/rng.h"

namespace weft::sim {
namespace {

Result<double> parse_number(std::string_view flag, std::string_view text, SpreadBounds bounds) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  const bool whole = fault == std::errc() && stop == end && std::isfinite(value);
  if (!whole || value < bounds.least || value > bounds.most) {
    return invalid_argument(
        fmt::format("{}: expected a number from {} to {}, several with commas, or A..B, got '{}'",
                    flag, bounds.least, bounds.most, text));
  }
  return value;
}

}  // namespace

double Spread::at(std::size_t index, std::uint64_t seed, std::uint64_t what) const {
  if (!drawn) return values[index % values.size()];
  Rng rng(seed ^ (0x9e3779b97f4a7c15U * (index + 1)), 0x5e00 + what);
  return values[0] + (values[1] - values[0]) * rng.uniform();
}

Result<Spread> parse_spread(std::string_view flag, const std::string& text, SpreadBounds bounds) {
  Spread spread;
  spread.values.clear();
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    WEFT_TRY_ASSIGN(const double low, parse_number(flag, text.substr(0, dots), bounds));
    WEFT_TRY_ASSIGN(const double high, parse_number(flag, text.substr(dots + 2), bounds));
    if (low > high) {
      return invalid_argument(
          fmt::format("{}: expected A..B with A at most B, got '{}'", flag, text));
    }
    spread.values = {low, high};
    spread.drawn = true;
    return spread;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    WEFT_TRY_ASSIGN(const double value,
                    parse_number(flag, text.substr(begin, comma - begin), bounds));
    spread.values.push_back(value);
    begin = comma + 1;
  }
  return spread;
}

}  // namespace weft::sim
