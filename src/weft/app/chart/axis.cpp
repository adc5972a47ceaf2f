#include "weft/app/chart/axis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace weft {
namespace {

struct UnitStep {
  double size;
  const char* name;  // with the blank before it
};

constexpr UnitStep kCounts[] = {{1, ""}, {1e3, " k"}, {1e6, " M"}, {1e9, " G"}};
constexpr UnitStep kSeconds[] = {{1, " s"}, {60, " min"}, {3600, " h"}};
constexpr UnitStep kBytes[] = {{1, " B"}, {1e3, " kB"}, {1e6, " MB"}, {1e9, " GB"}, {1e12, " TB"}};
constexpr UnitStep kShares[] = {{0.01, " %"}};
constexpr UnitStep kNumbers[] = {{1, ""}};
// A value from which on the next unit is used, in that unit: 90 s stay seconds.
constexpr double kSwitchAt = 2;
constexpr double kTickTolerance = 1e-9;

constexpr double kScientificBelow = 1e-3;

int digits_before_point(double value) {
  return std::max(1, static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1);
}

std::span<const UnitStep> units_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kCount:
      return kCounts;
    case Quantity::kSeconds:
      return kSeconds;
    case Quantity::kBytes:
      return kBytes;
    case Quantity::kShare:
      return kShares;
    case Quantity::kNumber:
      break;
  }
  return kNumbers;
}

const UnitStep& unit_for(double value, Quantity quantity) {
  const std::span<const UnitStep> units = units_of(quantity);
  const double at = quantity == Quantity::kSeconds ? kSwitchAt : 1;
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < units.size(); ++i) {
    if (std::abs(value) >= at * units[i].size) chosen = i;
  }
  return units[chosen];
}

// The nice number nearest to `wanted` from above: 1, 2 or 5 times a power of ten.
double nice_step(double wanted) {
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= wanted * (1 - kTickTolerance)) return factor * power;
  }
  return 10 * power;
}

std::string without_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

// As many decimals as distinguish ticks that are `step` from each other.
std::string tick_label(double value, double step, const UnitStep& unit) {
  const double scaled_step = step / unit.size;
  const double scaled = value / unit.size;
  if (std::abs(scaled) >= 1e6 || scaled_step < 1e-6)
    return fmt::format("{:g}{}", scaled, unit.name);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(scaled_step) + 1e-9)));
  return without_zeros(fmt::format("{:.{}f}", scaled, decimals)) + unit.name;
}

// Powers of ten, and 2 and 5 times them where those are few: the last one up to `low`, the first
// one from `high` on, and those between them.
std::vector<double> powers_around(double low, double high, int ticks_wanted) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const bool is_short = 3 * std::log10(high / low) <= ticks_wanted;
  const std::vector<double> factors =
      is_short ? std::vector<double>{1, 2, 5} : std::vector<double>{1};
  // Every so many powers of ten, where there are more than fit.
  const int most = std::max(2, ticks_wanted);
  const int stride = std::max(1, (last - first + most - 1) / most);
  std::vector<double> places;
  for (int power = first; power <= last; power += stride) {
    for (const double factor : factors) places.push_back(factor * std::pow(10.0, power));
  }
  const auto beyond = std::find_if(places.begin(), places.end(), [&](double place) {
    return place >= high * (1 - kTickTolerance);
  });
  if (beyond != places.end()) places.erase(beyond + 1, places.end());
  const auto within = std::find_if(places.begin(), places.end(), [&](double place) {
    return place > low * (1 + kTickTolerance);
  });
  if (within != places.begin()) places.erase(places.begin(), within - 1);
  return places;
}

}  // namespace

Axis::Axis(AxisRange range, Quantity quantity, int ticks_wanted) : range_(range) {
  if (!std::isfinite(range_.low) || !std::isfinite(range_.high) || range_.low > range_.high) {
    range_ = {0, 1, false};
  }
  if (range_.low <= 0) range_.logarithmic = false;
  if (range_.low == range_.high) {  // one value stands in the middle
    const double around = range_.low == 0 ? 1 : std::abs(range_.low) / 2;
    range_.low -= around;
    range_.high += around;
  }
  if (range_.logarithmic) {
    lay_out_logarithmic(quantity, ticks_wanted);
  } else {
    lay_out_linear(quantity, ticks_wanted);
  }
}

void Axis::lay_out_linear(Quantity quantity, int ticks_wanted) {
  const double largest = std::max(std::abs(range_.low), std::abs(range_.high));
  const UnitStep& unit = unit_for(largest, quantity);
  const double width = (range_.high - range_.low) / unit.size;
  double step = nice_step(width / std::max(1, ticks_wanted - 1)) * unit.size;
  if (quantity == Quantity::kCount) step = std::max(step, 1.0);
  const double first = std::floor(range_.low / step + kTickTolerance);
  const double last = std::ceil(range_.high / step - kTickTolerance);
  range_.low = first * step;
  range_.high = last * step;
  for (double i = first; i <= last; ++i) {
    ticks_.push_back({i * step, tick_label(i * step, step, unit)});
  }
}

void Axis::lay_out_logarithmic(Quantity quantity, int ticks_wanted) {
  // Minutes and hours are no powers of ten of seconds, so that one unit counts for all ticks.
  const UnitStep unit =
      quantity == Quantity::kSeconds ? unit_for(range_.high, quantity) : UnitStep{1, ""};
  const double low = range_.low / unit.size;
  const double high = range_.high / unit.size;
  std::vector<double> places = powers_around(low, high, ticks_wanted);
  range_.low = std::min(low, places.front()) * unit.size;
  range_.high = std::max(high, places.back()) * unit.size;
  for (const double place : places) {
    const std::string label = quantity == Quantity::kSeconds
                                  ? fmt::format("{:g}{}", place, unit.name)
                                  : quantity_text(place, quantity);
    ticks_.push_back({place * unit.size, label});
  }
}

double Axis::place(double value) const {
  if (!range_.logarithmic) return (value - range_.low) / (range_.high - range_.low);
  if (value <= 0) return 0;
  return std::log(value / range_.low) / std::log(range_.high / range_.low);
}

std::string quantity_text(double value, Quantity quantity) {
  if (!std::isfinite(value)) return "–";
  if (value == 0) return fmt::format("0{}", units_of(quantity)[0].name);
  const UnitStep& unit = unit_for(value, quantity);
  const double scaled = value / unit.size;
  const double size = std::abs(scaled);
  if (size >= 1e6 || size < kScientificBelow) return fmt::format("{:.3g}{}", scaled, unit.name);
  if (quantity == Quantity::kCount && unit.size == 1 && scaled == std::floor(scaled)) {
    return fmt::format("{:.0f}", scaled);
  }
  const int most = quantity == Quantity::kNumber ? 4 : 3;
  const int decimals = std::max(0, most - digits_before_point(size));
  return without_zeros(fmt::format("{:.{}f}", scaled, decimals)) + unit.name;
}

std::string spread_text(double mean, double spread, Quantity quantity) {
  if (!std::isfinite(mean) || !std::isfinite(spread)) return quantity_text(mean, quantity);
  const UnitStep& unit = unit_for(mean, quantity);
  const double scaled_mean = mean / unit.size;
  const double scaled = spread / unit.size;
  const std::string name = unit.name;
  const std::string alone = quantity_text(mean, quantity);
  if (std::abs(scaled_mean) >= 1e6 || std::abs(scaled) >= 1e6) {
    return fmt::format("{:.3g} ± {:.2g}{}", scaled_mean, scaled, name);
  }
  if (scaled == 0) return alone.substr(0, alone.size() - name.size()) + " ± 0" + name;
  if (std::abs(scaled_mean) < kScientificBelow) {
    return fmt::format("{:.2g} ± {:.1g}{}", scaled_mean, scaled, name);
  }
  const int spread_decimals = std::max(0, 1 - static_cast<int>(std::floor(std::log10(scaled))));
  const int decimals = std::min(spread_decimals, std::max(0, 4 - digits_before_point(scaled_mean)));
  return fmt::format("{:.{}f} ± {:.{}f}{}", scaled_mean, decimals, scaled, decimals, name);
}

}  // namespace weft
