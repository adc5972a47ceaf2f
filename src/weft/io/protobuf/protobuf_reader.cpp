#include "weft/io/protobuf_reader.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::size_t kVarintBytesMax = 10;
constexpr std::uint64_t kNumberMax = (std::uint64_t{1} << 29U) - 1;

const char* wire_type_name(ProtobufType type) {
  switch (type) {
    case ProtobufType::kVarint:
      return "a varint";
    case ProtobufType::kFixed64:
      return "8 bytes";
    case ProtobufType::kBytes:
      return "bytes with a length";
    case ProtobufType::kFixed32:
      break;
  }
  return "4 bytes";
}

Status fault_at(std::size_t offset, const std::string& expected, const std::string& got) {
  return corrupt(fmt::format("protobuf: byte {}: expected {}, got {}", offset, expected, got));
}

// Little-endian values of type T behind one another.
template <class T>
Status append_packed(const ProtobufField& field, std::vector<T>& values) {
  if (field.bytes.size() % sizeof(T) != 0) {
    return fault_at(field.offset, fmt::format("packed values of {} bytes each", sizeof(T)),
                    fmt::format("{} bytes", field.bytes.size()));
  }
  const std::size_t before = values.size();
  values.resize(before + field.bytes.size() / sizeof(T));
  if (!field.bytes.empty()) {
    std::memcpy(values.data() + before, field.bytes.data(), field.bytes.size());
  }
  return {};
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "packed values are copied as they are");

Status ProtobufField::expect(ProtobufType wanted) const {
  if (type == wanted) return {};
  return fault_at(offset, fmt::format("field {} as {}", number, wire_type_name(wanted)),
                  wire_type_name(type));
}

Result<std::int64_t> ProtobufField::integer() const {
  WEFT_TRY(expect(ProtobufType::kVarint));
  return static_cast<std::int64_t>(value);
}

Result<float> ProtobufField::float32() const {
  WEFT_TRY(expect(ProtobufType::kFixed32));
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

Result<double> ProtobufField::float64() const {
  WEFT_TRY(expect(ProtobufType::kFixed64));
  return std::bit_cast<double>(value);
}

Result<ByteSpan> ProtobufField::span() const {
  WEFT_TRY(expect(ProtobufType::kBytes));
  return bytes;
}

Result<std::string> ProtobufField::text(std::size_t bytes_max) const {
  WEFT_TRY(expect(ProtobufType::kBytes));
  if (bytes.size() > bytes_max) {
    return fault_at(offset, fmt::format("a text of at most {} bytes", bytes_max),
                    fmt::format("{} bytes", bytes.size()));
  }
  return to_text(bytes);
}

Status ProtobufField::append_integers(std::vector<std::int64_t>& values) const {
  if (type == ProtobufType::kVarint) {
    values.push_back(static_cast<std::int64_t>(value));
    return {};
  }
  WEFT_TRY(expect(ProtobufType::kBytes));
  ProtobufReader reader(bytes, offset);
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const std::uint64_t next, reader.varint());
    values.push_back(static_cast<std::int64_t>(next));
  }
  return {};
}

Status ProtobufField::append_floats(std::vector<float>& values) const {
  if (type == ProtobufType::kFixed32) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(value)));
    return {};
  }
  WEFT_TRY(expect(ProtobufType::kBytes));
  return append_packed(*this, values);
}

Status ProtobufField::append_doubles(std::vector<double>& values) const {
  if (type == ProtobufType::kFixed64) {
    values.push_back(std::bit_cast<double>(value));
    return {};
  }
  WEFT_TRY(expect(ProtobufType::kBytes));
  return append_packed(*this, values);
}

Status ProtobufReader::fault(std::size_t at, const std::string& expected,
                             const std::string& got) const {
  return fault_at(offset_ + at, expected, got);
}

Result<std::uint64_t> ProtobufReader::varint() {
  const std::size_t begin = at_;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kVarintBytesMax; ++i) {
    if (at_ == bytes_.size()) return fault(begin, "a varint", "the end of the message");
    const std::uint8_t byte = bytes_[at_++];
    if (i + 1 == kVarintBytesMax && byte > 1) break;  // beyond 64 bits
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) == 0) return value;
  }
  return fault(begin, "a varint of at most 64 bits", "more");
}

Result<std::uint64_t> ProtobufReader::fixed(std::size_t count) {
  if (bytes_.size() - at_ < count) {
    return fault(at_, fmt::format("{} bytes", count), fmt::format("{}", bytes_.size() - at_));
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= static_cast<std::uint64_t>(bytes_[at_ + i]) << (8 * i);
  }
  at_ += count;
  return value;
}

Result<ProtobufField> ProtobufReader::next() {
  const std::size_t begin = at_;
  WEFT_TRY_ASSIGN(const std::uint64_t key, varint());
  if (key >> 3U == 0 || key >> 3U > kNumberMax) {
    return fault(begin, "a field number of 1 to 2^29 - 1", fmt::format("{}", key >> 3U));
  }
  ProtobufField field;
  field.number = static_cast<std::uint32_t>(key >> 3U);
  field.type = static_cast<ProtobufType>(key & 7U);
  field.offset = offset_ + at_;
  switch (field.type) {
    case ProtobufType::kVarint: {
      WEFT_TRY_ASSIGN(field.value, varint());
      return field;
    }
    case ProtobufType::kFixed64: {
      WEFT_TRY_ASSIGN(field.value, fixed(8));
      return field;
    }
    case ProtobufType::kFixed32: {
      WEFT_TRY_ASSIGN(field.value, fixed(4));
      return field;
    }
    case ProtobufType::kBytes: {
      WEFT_TRY_ASSIGN(const std::uint64_t length, varint());
      if (length > bytes_.size() - at_) {
        return fault(begin,
                     fmt::format("field {} of at most {} bytes", field.number, bytes_.size() - at_),
                     fmt::format("{}", length));
      }
      field.offset = offset_ + at_;
      field.bytes = bytes_.subspan(at_, length);
      at_ += length;
      return field;
    }
  }
  return fault(begin, "a field of wire type 0, 1, 2 or 5", fmt::format("{}", key & 7U));
}

}  // namespace weft
