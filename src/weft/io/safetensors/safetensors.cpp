#include "weft/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/array/bad_argument.h"
#include "weft/io/safetensors/safetensors_header.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they are");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kEmptyElementsMax = std::uint64_t{1} << 48U;

struct TypeSize {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr TypeSize kTypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
    {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},
    {"I32", 4},  {"F32", 4}, {"U64", 8}, {"I64", 8},     {"F64", 8},
};

// In the order of the enumerators.
constexpr std::array<std::string_view, kDTypes> kDTypeNames = {"F32", "F64", "I64", "U8",  "BF16",
                                                               "F16", "I8",  "I32", "BOOL"};

std::string_view dtype_name(DType dtype) { return kDTypeNames[static_cast<std::size_t>(dtype)]; }

std::uint64_t read_length(ByteSpan bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = kLengthBytes; i > 0; --i) value = (value << 8U) | bytes[i - 1];
  return value;
}

// The bytes that type and shape call for; kCorrupt beyond `bytes_max`.
Result<std::uint64_t> bytes_of(const HeaderTensor& tensor, std::uint64_t bytes_max) {
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeSize& known) {
    return known.name == tensor.dtype;
  });
  if (type == std::end(kTypes)) {
    return corrupt(fmt::format("safetensors: {}: expected a known type, got \"{}\"", tensor.name,
                               tensor.dtype));
  }
  // The sizes beside a 0 are bounded too, so that no later product overflows.
  const bool is_empty =
      std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
  const std::uint64_t limit = is_empty ? kEmptyElementsMax : bytes_max;
  std::uint64_t bytes = type->bytes;
  for (const std::uint64_t size : tensor.shape) {
    if (size > limit / bytes) {
      return corrupt(fmt::format("safetensors: {}: expected at most {} bytes, got the shape [{}]",
                                 tensor.name, limit, fmt::join(tensor.shape, ", ")));
    }
    bytes *= std::max<std::uint64_t>(size, 1);
  }
  if (is_empty) return std::uint64_t{0};
  return bytes;
}

Result<SafetensorsEntry> entry_of(const HeaderTensor& tensor, ByteSpan data,
                                  std::uint64_t expected_begin) {
  if (tensor.begin != expected_begin || tensor.end < tensor.begin || tensor.end > data.size()) {
    return corrupt(
        fmt::format("safetensors: {}: expected offsets from {} to at most {}, got [{}, {}]",
                    tensor.name, expected_begin, data.size(), tensor.begin, tensor.end));
  }
  WEFT_TRY_ASSIGN(const std::uint64_t bytes, bytes_of(tensor, data.size()));
  if (bytes != tensor.end - tensor.begin) {
    return corrupt(fmt::format("safetensors: {}: expected {} bytes for {} [{}], got {}",
                               tensor.name, bytes, tensor.dtype, fmt::join(tensor.shape, ", "),
                               tensor.end - tensor.begin));
  }
  SafetensorsEntry entry{.name = tensor.name, .dtype = tensor.dtype, .shape = {}, .values = {}};
  for (const std::uint64_t size : tensor.shape) {
    entry.shape.push_back(static_cast<std::int64_t>(size));
  }
  entry.values =
      data.subspan(static_cast<std::size_t>(tensor.begin), static_cast<std::size_t>(bytes));
  return entry;
}

// The gap at the end of the header that aligns the data.
std::size_t padding_after(std::size_t bytes) {
  return (kAlignment - bytes % kAlignment) % kAlignment;
}

}  // namespace

const SafetensorsEntry* SafetensorsView::find(std::string_view name) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(),
                   [&](const SafetensorsEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

Result<SafetensorsView> parse_safetensors(ByteSpan bytes) {
  if (bytes.size() < kLengthBytes) {
    return corrupt(fmt::format(
        "safetensors: expected the header's length at offset 0, got {} bytes", bytes.size()));
  }
  const std::uint64_t header_bytes = read_length(bytes);
  const std::uint64_t room =
      std::min<std::uint64_t>(bytes.size() - kLengthBytes, kSafetensorsHeaderBytesMax);
  if (header_bytes > room) {
    return corrupt(fmt::format(
        "safetensors: expected at offset 0 a header of at most {} bytes, got {}: a file "
        "that was cut, or of another kind",
        room, header_bytes));
  }
  const auto header_size = static_cast<std::size_t>(header_bytes);
  WEFT_TRY_ASSIGN(Header header, parse_header(bytes.subspan(kLengthBytes, header_size)));
  const ByteSpan data = bytes.subspan(kLengthBytes + header_size);
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const HeaderTensor& a, const HeaderTensor& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  SafetensorsView view;
  view.metadata = std::move(header.metadata);
  view.entries.reserve(header.tensors.size());
  std::uint64_t filled = 0;
  for (const HeaderTensor& tensor : header.tensors) {
    WEFT_TRY_ASSIGN(SafetensorsEntry entry, entry_of(tensor, data, filled));
    filled += entry.values.size();
    view.entries.push_back(std::move(entry));
  }
  if (filled != data.size()) {
    return corrupt(
        fmt::format("safetensors: expected {} bytes of data, got {}", filled, data.size()));
  }
  return view;
}

Result<Array> to_array(const SafetensorsEntry& entry) {
  const auto known = std::find(kDTypeNames.begin(), kDTypeNames.end(), entry.dtype);
  if (known == kDTypeNames.end()) {
    return invalid_argument(fmt::format("safetensors: {}: expected {}, got {}", entry.name,
                                        fmt::join(kDTypeNames, ", "), entry.dtype));
  }
  const auto dtype = static_cast<DType>(known - kDTypeNames.begin());
  // Any other byte than 0 and 1 is no value of a bool.
  const auto is_bool = [](std::uint8_t byte) { return byte <= 1; };
  if (dtype == DType::kBool && !std::all_of(entry.values.begin(), entry.values.end(), is_bool)) {
    return corrupt(fmt::format(
        "safetensors: {}: expected bytes 0 and 1 in a BOOL tensor, got others", entry.name));
  }
  const Array array = Array::empty(entry.shape, dtype);
  if (!entry.values.empty()) {
    std::copy(entry.values.begin(), entry.values.end(),
              static_cast<std::uint8_t*>(array.raw_data()));
  }
  return array;
}

Bytes safetensors_header(std::span<const SafetensorsTensor> tensors,
                         const SafetensorsMetadata& metadata) {
  std::string text = "{";
  const auto add = [&](const std::string& part) {
    if (text.size() > 1) text += ',';
    text += part;
  };
  if (!metadata.empty()) {
    std::string pairs;
    for (const auto& [key, value] : metadata) {
      pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : ",", json_text(key), json_text(value));
    }
    add(fmt::format("{}:{{{}}}", json_text("__metadata__"), pairs));
  }
  std::size_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const auto elements = static_cast<std::size_t>(tensor.shape.num_elements());
    if (tensor.values.size() != elements * size_of(tensor.dtype)) {
      throw_bad_argument(
          "safetensors",
          fmt::format("{} bytes for \"{}\"", elements * size_of(tensor.dtype), tensor.name),
          std::to_string(tensor.values.size()));
    }
    const nlohmann::ordered_json entry = {
        {"dtype", dtype_name(tensor.dtype)},
        {"shape", std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end())},
        {"data_offsets", {offset, offset + tensor.values.size()}}};
    // Not all in one object, which would look for each name among all before it.
    add(json_text(tensor.name) + ":" + entry.dump());
    offset += tensor.values.size();
  }
  text += '}';
  text.append(padding_after(kLengthBytes + text.size()), ' ');
  Bytes bytes;
  bytes.reserve(kLengthBytes + text.size());
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(text.size() >> (8 * i)));
  }
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

Bytes write_safetensors(std::span<const SafetensorsTensor> tensors,
                        const SafetensorsMetadata& metadata) {
  Bytes bytes = safetensors_header(tensors, metadata);
  std::size_t size = bytes.size();
  for (const SafetensorsTensor& tensor : tensors) size += tensor.values.size();
  bytes.reserve(size);
  for (const SafetensorsTensor& tensor : tensors) {
    bytes.insert(bytes.end(), tensor.values.begin(), tensor.values.end());
  }
  return bytes;
}

}  // namespace weft
