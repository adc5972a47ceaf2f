#include "weft/codec/payload.h"

#include <cstring>

#include <fmt/format.h>

namespace weft {

// wire_precision.cpp asserts that this machine is little-endian.
template <class Int>
static void append_integer(Int value, Bytes& out) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

template <class Int>
static Int take_integer(ByteSpan& bytes) {
  Int value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

void write_payload_head(const PayloadHead& head, Bytes& out) {
  append_integer(static_cast<std::uint8_t>(head.element_type), out);
  append_integer(head.codec, out);
  append_integer(head.elements, out);
  append_integer(head.length_bytes, out);
}

Result<PayloadHead> read_payload_head(ByteSpan bytes, const PayloadLimits& limits) {
  if (bytes.size() < kPayloadHeadBytes) {
    return corrupt(fmt::format("payload: expected a head of {} bytes, got {}", kPayloadHeadBytes,
                               bytes.size()));
  }
  PayloadHead head;
  const auto type = take_integer<std::uint8_t>(bytes);
  head.element_type = static_cast<ElementType>(type);
  head.codec = take_integer<std::uint32_t>(bytes);
  head.elements = take_integer<std::uint64_t>(bytes);
  head.length_bytes = take_integer<std::uint64_t>(bytes);
  if (head.element_type != ElementType::kF32) {
    return corrupt(fmt::format("payload: expected elements of type 0 (f32), got type {}", type));
  }
  if (head.codec != limits.codec) {
    return corrupt(
        fmt::format("payload: expected codec {:08x}, got {:08x}: all members need the "
                    "same codec with the same options",
                    limits.codec, head.codec));
  }
  if (head.elements != limits.elements || head.length_bytes > limits.length_bytes_max) {
    return corrupt(fmt::format("payload: expected {} elements in at most {} bytes, got {} in {}",
                               limits.elements, limits.length_bytes_max, head.elements,
                               head.length_bytes));
  }
  return head;
}

}  // namespace weft
