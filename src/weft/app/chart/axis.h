// Axis: what a range of values looks like along one side of a plot: its ends, its ticks, their
// labels.
//
// IMPLEMENTATION: ticks are multiples of 1, 2 or 5 times a power of ten, chosen so that about as
// many as asked for fall into the range (Heckbert, "Nice numbers for graph labels", Graphics Gems,
// 1990), and the range is widened to the outer ones. A logarithmic axis has its ticks at powers of
// ten, and at 2 and 5 times them where those are few.
//
// Where it stands: line_plot.h -> here. Threads: values. Fails: never; a range that is empty or not
// finite becomes 0 to 1.
#pragma once

#include <string>
#include <vector>

namespace weft {

// What the numbers of an axis or a table measure.
enum class Quantity : unsigned char {
  kCount,    // 12, 3.4 k, 1.2 M
  kSeconds,  // s, min, h
  kBytes,    // B, kB, MB, GB; powers of 1000
  kShare,    // from 0 to 1, written in per cent
  kNumber,   // anything else
};

struct AxisTick {
  double value = 0;
  std::string label;
};

struct AxisRange {
  double low = 0;
  double high = 0;
  // Spread over the logarithms; both ends must be positive, otherwise it is ignored.
  bool logarithmic = false;
};

class Axis {
 public:
  // `ticks_wanted`: how many there is room for, 2 or more.
  Axis(AxisRange range, Quantity quantity, int ticks_wanted);

  double low() const { return range_.low; }
  double high() const { return range_.high; }
  bool logarithmic() const { return range_.logarithmic; }
  const std::vector<AxisTick>& ticks() const { return ticks_; }

  // 0 at the low end, 1 at the high one. REQUIRES: `value` is finite.
  double place(double value) const;

 private:
  void lay_out_linear(Quantity quantity, int ticks_wanted);
  void lay_out_logarithmic(Quantity quantity, int ticks_wanted);

  AxisRange range_;
  std::vector<AxisTick> ticks_;
};

// One value with its unit, with about three digits: "1.25 MB", "3.5 min", "87.3 %"; "–" for a value
// that is not finite.
std::string quantity_text(double value, Quantity quantity);

// A mean with its spread, both in the unit of the mean and with as many decimals as the spread has
// two digits, but no more than give the mean four: "87.31 ± 0.24 %". Without the spread where that
// is not finite.
std::string spread_text(double mean, double spread, Quantity quantity);

}  // namespace weft
