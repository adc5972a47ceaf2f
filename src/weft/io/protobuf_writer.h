// ProtobufWriter: the bytes of one message in protobuf's wire format (see protobuf_reader.h).
//
// Fields come out in the order of the calls; the same calls give the same bytes. Zeros and empty
// texts are written like any other value: proto2 messages (ONNX) tell them from absent ones.
// Threads: a value. Fails: never.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/base/bytes.h"

namespace weft {

class ProtobufWriter {
 public:
  void integer(std::uint32_t number, std::int64_t value);
  void float32(std::uint32_t number, float value);
  void float64(std::uint32_t number, double value);
  void bytes(std::uint32_t number, ByteSpan value);
  void text(std::uint32_t number, std::string_view value);
  void message(std::uint32_t number, const ProtobufWriter& inner) { bytes(number, inner.bytes_); }
  // Repeated integers in one packed field; nothing if there are none.
  void packed_integers(std::uint32_t number, std::span<const std::int64_t> values);

  const Bytes& written() const { return bytes_; }
  Bytes take() { return std::move(bytes_); }

 private:
  void key(std::uint32_t number, std::uint32_t type);
  void varint(std::uint64_t value);
  void fixed(std::uint64_t value, int count);

  Bytes bytes_;
};

}  // namespace weft
