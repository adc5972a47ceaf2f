// LinkCode: a rate or a delay of a link in 16 bits; LinkSummary: the rates and delays that a view
// carries.
//
//   summary := ring rate:u16 rate:u16 delay:u16      (LinkCode each)
//
// Threads: values. Fails: never; every 16 bits are a LinkCode.
#pragma once

#include <cstdint>

namespace weft {

// A positive quantity in 16 bits: 1024 times its logarithm to the base 2, at least 1. 0 means
// unknown.
class LinkCode {
 public:
  constexpr LinkCode() = default;
  constexpr explicit LinkCode(std::uint16_t code) : code_(code) {}
  // Values below 2^(1/1024) are encoded as that, values from 2^64 on as just below it.
  static LinkCode of(double value);
  // The value, or 0 if it is unknown.
  double value() const;
  bool known() const { return code_ != 0; }
  std::uint16_t code() const { return code_; }
  friend bool operator==(const LinkCode&, const LinkCode&) = default;

 private:
  std::uint16_t code_ = 0;
};

// What the members of a view agree on about the links between them, so that all choose the same
// route for data. The figures come from the measurements of one member: right or wrong, they are
// the same for all.
struct LinkSummary {
  // Bytes per second of the slowest link of the ring in the view's order.
  LinkCode ring_rate;
  // Bytes per second that every member can send in total, at least, while each sends to all others.
  LinkCode rate;
  // The longest one-way delay between any two members, in microseconds.
  LinkCode delay;
  bool known() const { return ring_rate.known() && rate.known(); }
  friend bool operator==(const LinkSummary&, const LinkSummary&) = default;
};

void write_link_summary(class Writer& out, const LinkSummary& links);
LinkSummary read_link_summary(class Reader& in);

}  // namespace weft
