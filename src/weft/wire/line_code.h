// LineCode: a rate or a delay of a link in 16 bits; LineSummary: the rates and delays that a view
// carries.
//
//   summary := ring rate:u16 rate:u16 delay:u16      (LineCode each)
//
// Threads: values. Fails: never; every 16 bits are a LineCode.
#pragma once

#include <cstdint>

namespace weft {

// A positive quantity in 16 bits: 1024 times its logarithm to the base 2, at least 1. 0 means
// unknown.
class LineCode {
 public:
  constexpr LineCode() = default;
  constexpr explicit LineCode(std::uint16_t code) : code_(code) {}
  // Values below 2^(1/1024) are encoded as that, values from 2^64 on as just below it.
  static LineCode of(double value);
  // The value, or 0 if it is unknown.
  double value() const;
  bool known() const { return code_ != 0; }
  std::uint16_t code() const { return code_; }
  friend bool operator==(const LineCode&, const LineCode&) = default;

 private:
  std::uint16_t code_ = 0;
};

// What the members of a view agree on about the links between them, so that all choose the same
// route for data. The figures come from the measurements of one member: right or wrong, they are
// the same for all.
struct LineSummary {
  // Bytes per second of the slowest link of the ring in the view's order.
  LineCode ring_rate;
  // Bytes per second that every member can send in total, at least, while each sends to all others.
  LineCode rate;
  // The longest one-way delay between any two members, in microseconds.
  LineCode delay;
  bool known() const { return ring_rate.known() && rate.known(); }
  friend bool operator==(const LineSummary&, const LineSummary&) = default;
};

void write_line_summary(class Writer& out, const LineSummary& lines);
LineSummary read_line_summary(class Reader& in);

}  // namespace weft
