#include "weft/wire/codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace weft {

template <class Int>
Writer& Writer::integer(Int value) {
  for (std::size_t i = 0; i < sizeof(Int); ++i) {
    bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  return *this;
}

Writer& Writer::u8(std::uint8_t value) { return integer(value); }
Writer& Writer::u16(std::uint16_t value) { return integer(value); }
Writer& Writer::u32(std::uint32_t value) { return integer(value); }
Writer& Writer::u64(std::uint64_t value) { return integer(value); }
Writer& Writer::f64(double value) { return integer(std::bit_cast<std::uint64_t>(value)); }

Writer& Writer::raw(ByteSpan bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

Writer& Writer::bytes(ByteSpan bytes) {
  WEFT_CHECK(bytes.size() <= UINT32_MAX);
  return u32(static_cast<std::uint32_t>(bytes.size())).raw(bytes);
}

ByteSpan Reader::take(std::string_view field, std::size_t size) {
  if (failed()) return {};
  if (size > rest_.size()) {
    fail(field, fmt::format("expected {} bytes, got {}", size, rest_.size()));
    return {};
  }
  const ByteSpan taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

void Reader::copy(std::string_view field, MutableByteSpan out) {
  const ByteSpan taken = take(field, out.size());
  std::copy(taken.begin(), taken.end(), out.begin());
}

template <class Int>
Int Reader::integer(std::string_view field) {
  const ByteSpan taken = take(field, sizeof(Int));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    value |= static_cast<std::uint64_t>(taken[i]) << (8 * i);
  }
  return static_cast<Int>(value);
}

std::uint8_t Reader::u8(std::string_view field) { return integer<std::uint8_t>(field); }
std::uint16_t Reader::u16(std::string_view field) { return integer<std::uint16_t>(field); }
std::uint32_t Reader::u32(std::string_view field) { return integer<std::uint32_t>(field); }
std::uint64_t Reader::u64(std::string_view field) { return integer<std::uint64_t>(field); }

double Reader::f64(std::string_view field) {
  const double value = std::bit_cast<double>(u64(field));
  if (std::isfinite(value)) return value;
  fail(field, "expected a finite number");
  return 0;
}

ByteSpan Reader::bytes(std::string_view field, std::size_t limit) {
  const std::uint32_t size = u32(field);
  if (size > limit) {
    fail(field, fmt::format("expected at most {} bytes, got {}", limit, size));
    return {};
  }
  return take(field, size);
}

std::string Reader::text(std::string_view field, std::size_t limit) {
  return to_text(bytes(field, limit));
}

std::uint32_t Reader::count(std::string_view field, std::uint32_t limit) {
  const std::uint32_t value = u32(field);
  if (value <= limit) return value;
  fail(field, fmt::format("expected at most {} entries, got {}", limit, value));
  return 0;
}

bool Reader::boolean(std::string_view field) {
  const std::uint8_t value = u8(field);
  if (value > 1) fail(field, fmt::format("expected 0 or 1, got {}", value));
  return value == 1;
}

ViewId Reader::view(std::string_view field) {
  const ViewNumber number(u64(field));
  return {number, raw<32>(field)};
}

void Reader::fail(std::string_view field, std::string_view fault) {
  if (!failed()) status_ = corrupt(fmt::format("{}.{}: {}", what_, field, fault));
}

Status Reader::finish() {
  if (!failed() && !rest_.empty()) {
    status_ = corrupt(fmt::format("{}: expected its end, got {} bytes more", what_, rest_.size()));
  }
  return status_;
}

}  // namespace weft
