#include "weft/data/idx.h"

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/data/file/gzip.h"

namespace weft {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::uint8_t kUnsignedByte = 0x08;

std::uint32_t big_endian_u32(ByteSpan bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = (value << 8U) | bytes[i];
  return value;
}

}  // namespace

Result<IdxView> parse_idx(ByteSpan bytes) {
  if (bytes.size() < kMagicBytes) {
    return corrupt(fmt::format("IDX header: expected 4 bytes, got {}", bytes.size()));
  }
  if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != kUnsignedByte) {
    return corrupt(fmt::format("IDX magic at offset 0: expected 00 00 08 (unsigned bytes), got {}",
                               to_hex(bytes.first(3))));
  }
  const std::size_t dimensions = bytes[3];
  if (dimensions < 1 || dimensions > kIdxDimensionsMax) {
    return corrupt(fmt::format("IDX dimensions at offset 3: expected 1 to {}, got {}",
                               kIdxDimensionsMax, dimensions));
  }
  const std::size_t header_bytes = kMagicBytes + 4 * dimensions;
  if (bytes.size() < header_bytes) {
    return corrupt(
        fmt::format("IDX header: expected {} bytes, got {}", header_bytes, bytes.size()));
  }
  IdxView view;
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::uint64_t size = big_endian_u32(bytes.subspan(kMagicBytes + 4 * i));
    view.sizes.push_back(static_cast<std::int64_t>(size));
    count *= size;
    if (count > kIdxBytesMax) {  // before the next factor of 2^32 can overflow
      return corrupt(fmt::format("IDX sizes at offset {}: expected at most {} values, got more",
                                 kMagicBytes, kIdxBytesMax));
    }
  }
  view.values = bytes.subspan(header_bytes);
  if (view.values.size() != count) {
    return corrupt(fmt::format("IDX values: expected {} bytes from offset {} on, got {}", count,
                               header_bytes, view.values.size()));
  }
  return view;
}

Result<IdxFile> read_idx(const std::string& path, std::size_t bytes_max) {
  WEFT_TRY_ASSIGN(Bytes bytes, read_file(path, bytes_max));
  if (is_gzip(bytes)) {
    Result<Bytes> inflated = gunzip(bytes, bytes_max);
    if (!inflated.ok()) return inflated.status().with_context(path);
    bytes = std::move(*inflated);
  }
  IdxFile file;
  file.contents = SharedBytes(std::move(bytes));
  Result<IdxView> view = parse_idx(file.contents.span());
  if (!view.ok()) return view.status().with_context(path);
  file.sizes = view->sizes;
  file.values =
      file.contents.slice(file.contents.size() - view->values.size(), view->values.size());
  return file;
}

}  // namespace weft
