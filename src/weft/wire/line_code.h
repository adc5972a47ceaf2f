// LineCode: a rate or a delay of a line in 16 bits; LineSummary: what a view says of its lines.
//
//   summary := ring rate:u16 rate:u16 delay:u16      (LineCode each)
//
// Threads: values. Fails: never; every 16 bits are a LineCode.
#pragma once

#include <cstdint>

namespace weft {

// A positive quantity in 16 bits: 1024 times its logarithm to the base 2, at least 1. 0: not known.
class LineCode {
 public:
  constexpr LineCode() = default;
  constexpr explicit LineCode(std::uint16_t code) : code_(code) {}
  // Below 2^(1/1024) it is taken for that, from 2^64 on for just below.
  static LineCode of(double value);
  // 0 where it is not known.
  double value() const;
  bool known() const { return code_ != 0; }
  std::uint16_t code() const { return code_; }
  friend bool operator==(const LineCode&, const LineCode&) = default;

 private:
  std::uint16_t code_ = 0;
};

// What the members of a view agree on about the lines between them, so that all choose the same
// way to exchange data. It came from measurements of one of them: right or wrong, it is the same.
struct LineSummary {
  // Bytes a second: of the slowest line of the ring in the view's order, ...
  LineCode ring_rate;
  // ... and what every member sends in all, at least, while each sends to all others alike.
  LineCode rate;
  // Microseconds one way: the longest between any two.
  LineCode delay;
  bool known() const { return ring_rate.known() && rate.known(); }
  friend bool operator==(const LineSummary&, const LineSummary&) = default;
};

void write_line_summary(class Writer& out, const LineSummary& lines);
LineSummary read_line_summary(class Reader& in);

}  // namespace weft
