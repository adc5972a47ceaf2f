#include "weft/data/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/base/file.h"

namespace weft {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kHeaderBytesMax = std::size_t{64} << 10U;
constexpr std::size_t kDimensionsMax = 8;

// How the values of a file become values of an Array.
struct Descr {
  char kind = 'f';  // b i u f
  std::size_t bytes = 4;
  bool big_endian = false;
};

struct Header {
  Descr descr;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

// The Python literal of the header, read from left to right.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  Result<Header> read() {
    Header header;
    bool seen[3] = {};
    if (!take('{')) return fault("'{'");
    while (!take('}')) {
      const std::optional<std::string_view> key = quoted();
      if (!key || !take(':')) return fault("a key in quotes and ':'");
      std::size_t which = 0;
      if (*key == "descr") {
        WEFT_TRY(read_descr(header.descr));
      } else if (*key == "fortran_order") {
        which = 1;
        WEFT_TRY(read_order(header.fortran));
      } else if (*key == "shape") {
        which = 2;
        WEFT_TRY(read_shape(header.shape));
      } else {
        return fault("descr, fortran_order or shape");
      }
      if (std::exchange(seen[which], true)) return fault("each key once");
      if (!take(',') && !at('}')) return fault("',' or '}'");
    }
    skip_spaces();
    if (place_ != text_.size()) return fault("nothing after '}'");
    if (!seen[0] || !seen[1] || !seen[2]) return fault("descr, fortran_order and shape");
    return header;
  }

 private:
  Status fault(std::string_view expected) const {
    return corrupt(
        fmt::format(".npy header: expected {} at offset {}, got other text", expected, place_));
  }
  void skip_spaces() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\n')) ++place_;
  }
  bool at(char mark) {
    skip_spaces();
    return place_ < text_.size() && text_[place_] == mark;
  }
  bool take(char mark) {
    if (!at(mark)) return false;
    ++place_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    if (text_.substr(place_, word.size()) != word) return false;
    place_ += word.size();
    return true;
  }
  std::optional<std::string_view> quoted() {
    const char quote = at('"') ? '"' : '\'';
    if (!take(quote)) return std::nullopt;
    const std::size_t end = text_.find(quote, place_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(place_, end - place_);
    place_ = end + 1;
    return inside;
  }
  Status read_descr(Descr& descr) {
    const std::optional<std::string_view> text = quoted();
    constexpr std::string_view kReadable[] = {"b1", "i1", "i2", "i4", "i8", "u1",
                                              "u2", "u4", "u8", "f2", "f4", "f8"};
    const bool known = text && text->size() == 3 &&
                       std::string_view("<>|=").find((*text)[0]) != std::string_view::npos &&
                       std::find(std::begin(kReadable), std::end(kReadable), text->substr(1)) !=
                           std::end(kReadable);
    if (!known) return fault("a type of b1, i1 to i8, u1 to u8, f2 to f8");
    descr.big_endian = (*text)[0] == '>';
    descr.kind = (*text)[1];
    descr.bytes = static_cast<std::size_t>((*text)[2] - '0');
    return {};
  }
  Status read_order(bool& fortran) {
    fortran = take_word("True");
    if (!fortran && !take_word("False")) return fault("True or False");
    return {};
  }
  Status read_shape(std::vector<std::int64_t>& shape) {
    if (!take('(')) return fault("'('");
    while (!take(')')) {
      skip_spaces();
      std::int64_t size = 0;
      const char* begin = text_.data() + place_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || shape.size() == kDimensionsMax) {
        return fault(fmt::format("at most {} sizes from 0 on", kDimensionsMax));
      }
      place_ += static_cast<std::size_t>(end - begin);
      shape.push_back(size);
      if (!take(',') && !at(')')) return fault("',' or ')'");
    }
    return {};
  }

  std::string_view text_;
  std::size_t place_ = 0;
};

// Splits a file into its header and its values.
Result<std::pair<Header, ByteSpan>> parse_header(ByteSpan bytes) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return corrupt(
        ".npy magic at offset 0: expected 93 4e 55 4d 50 59 and a version, got other bytes");
  }
  const std::uint8_t major = bytes[6];
  if (major < 1 || major > 3) {
    return corrupt(fmt::format(".npy version at offset 6: expected 1 to 3, got {}", major));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (bytes.size() < begin)
    return corrupt(".npy header: expected its length at offset 8, got the end");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i > 0; --i) length = (length << 8U) | bytes[8 + i - 1];
  if (length > kHeaderBytesMax || length > bytes.size() - begin) {
    return corrupt(fmt::format(".npy header at offset {}: expected at most {} bytes, got {}", begin,
                               std::min(kHeaderBytesMax, bytes.size() - begin), length));
  }
  const ByteSpan text = bytes.subspan(begin, length);
  HeaderText reader(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
  WEFT_TRY_ASSIGN(Header header, reader.read());
  const ByteSpan values = bytes.subspan(begin + length);
  std::uint64_t count = 1;  // of the axes that are not empty: the strides must fit too
  bool empty = false;
  for (const std::int64_t size : header.shape) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60U;
    empty = empty || size == 0;
    const std::uint64_t factor = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(size));
    if (count > kMost / factor) {
      return corrupt(".npy shape: expected at most 2^60 values, got more");
    }
    count *= factor;
  }
  if (empty) count = 0;
  if (values.size() != count * header.descr.bytes) {
    return corrupt(fmt::format(".npy values: expected {} bytes from offset {} on, got {}",
                               count * header.descr.bytes, begin + length, values.size()));
  }
  return std::pair(std::move(header), values);
}

// One value of the file's width, as an unsigned integer of the machine.
std::uint64_t load(const std::uint8_t* from, const Descr& descr) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < descr.bytes; ++i) {
    const std::size_t at = descr.big_endian ? i : descr.bytes - 1 - i;
    value = (value << 8U) | from[at];
  }
  return value;
}

DType dtype_of_descr(const Descr& descr) {
  if (descr.kind == 'b') return DType::kBool;
  if (descr.kind == 'f') {
    return descr.bytes == 2 ? DType::kF16 : descr.bytes == 4 ? DType::kF32 : DType::kF64;
  }
  if (descr.bytes == 1) return descr.kind == 'i' ? DType::kI8 : DType::kU8;
  return descr.kind == 'i' && descr.bytes == 4 ? DType::kI32 : DType::kI64;
}

// Writes the values in the file's order into `to`, `size` bytes each; false where a u8 is above
// what an i64 holds or a b1 is neither 0 nor 1.
bool convert(ByteSpan values, const Descr& descr, std::uint8_t* to, std::size_t size) {
  const std::size_t count = values.size() / descr.bytes;
  const bool widened = size != descr.bytes;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = load(values.data() + i * descr.bytes, descr);
    if (descr.kind == 'b' && value > 1) return false;
    if (descr.kind == 'u' && descr.bytes == 8 && value >> 63U != 0) return false;
    if (widened && descr.kind == 'i') {  // i2
      value =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int16_t>(value)));
    }
    std::memcpy(to + i * size, &value, size);
  }
  return true;
}

Shape shape_of(const std::vector<std::int64_t>& sizes) {
  return Shape(std::span<const std::int64_t>(sizes));
}

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kBF16:
      return "<f4";
    case DType::kF64:
      return "<f8";
    case DType::kI64:
      return "<i8";
    case DType::kU8:
      return "|u1";
    case DType::kF16:
      return "<f2";
    case DType::kI8:
      return "|i1";
    case DType::kI32:
      return "<i4";
    case DType::kBool:
      break;
  }
  return "|b1";
}

}  // namespace

static_assert(std::endian::native == std::endian::little);

Result<Array> parse_npy(ByteSpan bytes) {
  WEFT_TRY_ASSIGN(const auto parts, parse_header(bytes));
  const auto& [header, values] = parts;
  std::vector<std::int64_t> sizes = header.shape;
  if (header.fortran) std::reverse(sizes.begin(), sizes.end());
  Array array = Array::empty(shape_of(sizes), dtype_of_descr(header.descr));
  auto* to = static_cast<std::uint8_t*>(array.raw_data());
  if (!convert(values, header.descr, to, size_of(array.dtype()))) {
    return corrupt(".npy values: expected booleans of 0 or 1 and integers below 2^63, got others");
  }
  if (!header.fortran || sizes.size() < 2) return array;
  std::vector<int> axes(sizes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(axes.size() - 1 - i);
  return array.permute(axes).contiguous();
}

Result<Array> read_npy(const std::string& path, std::size_t bytes_max) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, bytes_max));
  Result<Array> array = parse_npy(bytes);
  if (!array.ok()) return array.status().with_context(path);
  return array;
}

Bytes npy_bytes(const Array& array) {
  const Array dense = (array.dtype() == DType::kBF16 ? array.to(DType::kF32) : array).contiguous();
  std::string shape;
  for (int axis = 0; axis < dense.ndim(); ++axis) shape += fmt::format("{}, ", dense.dim(axis));
  if (dense.ndim() > 1) shape.resize(shape.size() - 2);
  if (dense.ndim() == 1) shape.pop_back();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr_of(dense.dtype()), shape);
  while ((10 + header.size() + 1) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  Bytes bytes(kMagic.begin(), kMagic.end());
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, header.size() & 0xFFU, header.size() >> 8U}) {
    bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  bytes.insert(bytes.end(), header.begin(), header.end());
  const auto* values = static_cast<const std::uint8_t*>(dense.raw_data());
  bytes.insert(bytes.end(), values, values + dense.size_bytes());
  return bytes;
}

Status write_npy(const std::string& path, const Array& array) {
  return write_output_file(path, npy_bytes(array));
}

}  // namespace weft
