#include "weft/io/protobuf_writer.h"

#include <bit>

namespace weft {

void ProtobufWriter::varint(std::uint64_t value) {
  for (; value >= 0x80U; value >>= 7U) {
    bytes_.push_back(static_cast<std::uint8_t>(value | 0x80U));
  }
  bytes_.push_back(static_cast<std::uint8_t>(value));
}

void ProtobufWriter::key(std::uint32_t number, std::uint32_t type) {
  varint((std::uint64_t{number} << 3U) | type);
}

void ProtobufWriter::fixed(std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i, value >>= 8U) bytes_.push_back(static_cast<std::uint8_t>(value));
}

void ProtobufWriter::integer(std::uint32_t number, std::int64_t value) {
  key(number, 0);
  varint(static_cast<std::uint64_t>(value));
}

void ProtobufWriter::float32(std::uint32_t number, float value) {
  key(number, 5);
  fixed(std::bit_cast<std::uint32_t>(value), 4);
}

void ProtobufWriter::float64(std::uint32_t number, double value) {
  key(number, 1);
  fixed(std::bit_cast<std::uint64_t>(value), 8);
}

void ProtobufWriter::bytes(std::uint32_t number, ByteSpan value) {
  key(number, 2);
  varint(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

void ProtobufWriter::text(std::uint32_t number, std::string_view value) {
  bytes(number, as_bytes(value));
}

void ProtobufWriter::packed_integers(std::uint32_t number, std::span<const std::int64_t> values) {
  if (values.empty()) return;
  ProtobufWriter inner;
  for (const std::int64_t value : values) inner.varint(static_cast<std::uint64_t>(value));
  bytes(number, inner.bytes_);
}

}  // namespace weft
