// Byte spans, shared immutable bytes, and their text forms (hex, base32).
//
// SharedBytes keeps its owner alive: a transport may hold one until it has been sent, while the
// part that made it goes on. The bytes behind it must not change while any copy is alive.
// Threads: values; the bytes are read-only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

using Bytes = std::vector<std::uint8_t>;
using ByteSpan = std::span<const std::uint8_t>;
using MutableByteSpan = std::span<std::uint8_t>;

class SharedBytes {
 public:
  SharedBytes() = default;
  // Takes `bytes`.
  explicit SharedBytes(Bytes bytes);
  // Views `view`, whose memory `owner` keeps alive.
  SharedBytes(std::shared_ptr<const void> owner, ByteSpan view)
      : owner_(std::move(owner)), view_(view) {}

  ByteSpan span() const { return view_; }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  // The same owner, a part of the bytes. REQUIRES: offset + length <= size().
  SharedBytes slice(std::size_t offset, std::size_t length) const;

 private:
  std::shared_ptr<const void> owner_;
  ByteSpan view_;
};

// The bytes of a span of trivially copyable values.
template <class T>
ByteSpan as_bytes(std::span<const T> values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}
ByteSpan as_bytes(std::string_view text);
std::string to_text(ByteSpan bytes);

// Lower-case hexadecimal, two digits a byte.
std::string to_hex(ByteSpan bytes);
Result<Bytes> from_hex(std::string_view text);

// Lower-case base32 after RFC 4648 without padding; from_base32 ignores the letters' case.
std::string to_base32(ByteSpan bytes);
Result<Bytes> from_base32(std::string_view text);

// Equal in time that depends on the lengths only. For secrets.
bool equal_constant_time(ByteSpan a, ByteSpan b);

}  // namespace weft
