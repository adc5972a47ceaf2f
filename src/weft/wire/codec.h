// Writer and Reader: the only way bytes become messages and messages become bytes.
//
// Integers are little-endian and of fixed width; a variable part is a u32 length and that many
// bytes. Reader never reads past its span: after the first fault every further read returns zeros,
// and finish() reports the fault, so a decoder reads all its fields and checks once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

class Writer {
 public:
  Writer& u8(std::uint8_t value);
  Writer& u16(std::uint16_t value);
  Writer& u32(std::uint32_t value);
  Writer& u64(std::uint64_t value);
  Writer& f64(double value);
  // Writes the bytes without a length: for fields of fixed size.
  Writer& raw(ByteSpan bytes);
  // Writes a u32 length, then the bytes.
  Writer& bytes(ByteSpan bytes);
  Writer& text(std::string_view text) { return bytes(as_bytes(text)); }
  Writer& peer(const PeerId& id) { return raw(id.bytes); }
  Writer& view(const ViewId& id) { return u64(id.number.value()).raw(id.hash); }
  Writer& round(Round round) { return u64(round.value()); }

  const Bytes& written() const { return bytes_; }
  Bytes take() { return std::move(bytes_); }

 private:
  template <class Int>
  Writer& integer(Int value);

  Bytes bytes_;
};

class Reader {
 public:
  // Borrows `bytes`, which must outlive this. `what` names the message in errors.
  Reader(std::string_view what, ByteSpan bytes) : what_(what), rest_(bytes) {}

  std::uint8_t u8(std::string_view field);
  std::uint16_t u16(std::string_view field);
  std::uint32_t u32(std::string_view field);
  std::uint64_t u64(std::string_view field);
  // Infinities and NaN are refused.
  double f64(std::string_view field);
  template <std::size_t N>
  std::array<std::uint8_t, N> raw(std::string_view field) {
    std::array<std::uint8_t, N> out{};
    copy(field, out);
    return out;
  }
  // Reads a u32 length of at most `limit`, then that many bytes (borrowed from the span).
  ByteSpan bytes(std::string_view field, std::size_t limit);
  std::string text(std::string_view field, std::size_t limit);
  // Reads a u32 count of at most `limit`.
  std::uint32_t count(std::string_view field, std::uint32_t limit);
  bool boolean(std::string_view field);
  PeerId peer(std::string_view field) { return {raw<32>(field)}; }
  ViewId view(std::string_view field);
  Round round(std::string_view field) { return Round(u64(field)); }

  bool failed() const { return !status_.ok(); }
  // Records a fault that the caller's own check found; the first one wins.
  void fail(std::string_view field, std::string_view fault);
  // kCorrupt if a read failed or bytes are left over.
  Status finish();

 private:
  template <class Int>
  Int integer(std::string_view field);
  ByteSpan take(std::string_view field, std::size_t size);
  void copy(std::string_view field, MutableByteSpan out);

  std::string_view what_;
  ByteSpan rest_;
  Status status_;
};

}  // namespace weft
