// ProtobufReader: the fields of one message in protobuf's wire format, one after another.
//
//   message := field*
//   field   := key:varint payload     key = number << 3 | type
//   payload := varint (type 0) | 8 bytes (1) | length:varint bytes{length} (2) | 4 bytes (5)
//
//   ProtobufReader reader(bytes);
//   while (!reader.done()) {
//     WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
//     if (field.number == 1) { WEFT_TRY_ASSIGN(name, field.text()); }   // others are passed over
//   }
//
// Where it stands: ONNX models are read with it. It borrows the bytes and allocates nothing; an
// inner message is another reader over the bytes of its field, so how deep one goes is the
// caller's choice. Groups (types 3 and 4), long out of use, are refused.
// Threads: a value. Fails: kCorrupt "protobuf: byte N: expected X, got Y", N counted from the
// start of the outermost message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

enum class ProtobufType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct ProtobufField {
  std::uint32_t number = 0;
  ProtobufType type = ProtobufType::kVarint;
  std::uint64_t value = 0;  // of the types that are numbers, as it stands there
  ByteSpan bytes;           // of kBytes; borrowed
  std::size_t offset = 0;   // of the payload, behind its length

  // The payload in the type of the message's definition; kCorrupt if it is of another type.
  Result<std::int64_t> integer() const;  // int32, int64, uint32, enum, bool
  Result<float> float32() const;
  Result<double> float64() const;
  Result<ByteSpan> span() const;
  Result<std::string> text(std::size_t bytes_max) const;
  // A repeated number: one value, or several of them packed into one field.
  Status append_integers(std::vector<std::int64_t>& values) const;
  Status append_floats(std::vector<float>& values) const;
  Status append_doubles(std::vector<double>& values) const;

 private:
  Status expect(ProtobufType wanted) const;
};

class ProtobufReader {
 public:
  // `offset` is the position of `bytes` in the outermost message.
  explicit ProtobufReader(ByteSpan bytes, std::size_t offset = 0)
      : bytes_(bytes), offset_(offset) {}

  bool done() const { return at_ == bytes_.size(); }
  // Reads the next field. REQUIRES: !done().
  Result<ProtobufField> next();
  Result<std::uint64_t> varint();

 private:
  Status fault(std::size_t at, const std::string& expected, const std::string& got) const;
  Result<std::uint64_t> fixed(std::size_t count);

  ByteSpan bytes_;
  std::size_t offset_;
  std::size_t at_ = 0;
};

}  // namespace weft
