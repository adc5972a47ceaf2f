// .npz: a ZIP archive of .npy files, stored or deflated. Only what NumPy writes is read: one disk,
// no encryption, sizes below 4 GiB in the central directory.
#include <memory>
#include <set>

#include <fmt/format.h>
#include <libdeflate.h>

#include "weft/base/file.h"
#include "weft/data/file/decompressor.h"
#include "weft/data/file/gzip.h"
#include "weft/data/npy.h"

namespace weft {
namespace {

constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kCommentBytesMax = 65535;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kZipNameBytesMax = 256;
constexpr std::uint32_t kEndMagic = 0x06054B50;
constexpr std::uint32_t kEntryMagic = 0x02014B50;
constexpr std::uint32_t kLocalMagic = 0x04034B50;
constexpr std::uint32_t kStored = 0;
constexpr std::uint32_t kDeflated = 8;

// Little-endian; REQUIRES: in range.
std::uint32_t u16(ByteSpan bytes, std::size_t at) {
  return bytes[at] | (std::uint32_t{bytes[at + 1]} << 8U);
}
std::uint32_t u32(ByteSpan bytes, std::size_t at) {
  return u16(bytes, at) | (u16(bytes, at + 2) << 16U);
}

struct ZipEntry {
  std::string name;
  std::uint32_t method = 0;
  std::uint32_t crc = 0;
  std::size_t packed_bytes = 0;
  std::size_t bytes = 0;
  std::size_t local_offset = 0;
};

Result<std::size_t> find_end(ByteSpan bytes) {
  if (bytes.size() >= kEndBytes) {
    const std::size_t last = bytes.size() - kEndBytes;
    const std::size_t first = last > kCommentBytesMax ? last - kCommentBytesMax : 0;
    for (std::size_t at = last + 1; at > first; --at) {
      if (u32(bytes, at - 1) == kEndMagic) return at - 1;
    }
  }
  return corrupt(".npz: expected a ZIP archive, got no end record");
}

// The entry at `at`, which is moved behind it.
Result<ZipEntry> read_entry(ByteSpan bytes, std::size_t& at) {
  if (bytes.size() - at < kEntryBytes || u32(bytes, at) != kEntryMagic) {
    return corrupt(fmt::format(".npz: expected an entry at offset {}, got other bytes", at));
  }
  ZipEntry entry;
  const std::size_t name_bytes = u16(bytes, at + 28);
  const std::size_t rest = std::size_t{u16(bytes, at + 30)} + u16(bytes, at + 32);
  if (name_bytes < 1 || name_bytes > kZipNameBytesMax ||
      bytes.size() - at - kEntryBytes < name_bytes + rest) {
    return corrupt(fmt::format(".npz: expected a name of 1 to {} bytes at offset {}, got {}",
                               kZipNameBytesMax, at, name_bytes));
  }
  entry.method = u16(bytes, at + 10);
  entry.crc = u32(bytes, at + 16);
  entry.packed_bytes = u32(bytes, at + 20);
  entry.bytes = u32(bytes, at + 24);
  entry.local_offset = u32(bytes, at + 42);
  entry.name = to_text(bytes.subspan(at + kEntryBytes, name_bytes));
  at += kEntryBytes + name_bytes + rest;
  return entry;
}

Result<Bytes> unpack(ByteSpan bytes, const ZipEntry& entry) {
  if (entry.local_offset > bytes.size() || bytes.size() - entry.local_offset < kLocalBytes ||
      u32(bytes, entry.local_offset) != kLocalMagic) {
    return corrupt(
        fmt::format("expected a local header at offset {}, got other bytes", entry.local_offset));
  }
  const std::size_t begin = entry.local_offset + kLocalBytes + u16(bytes, entry.local_offset + 26) +
                            u16(bytes, entry.local_offset + 28);
  if (begin > bytes.size() || bytes.size() - begin < entry.packed_bytes) {
    return corrupt(fmt::format("expected {} bytes at offset {}, got the end of the archive",
                               entry.packed_bytes, begin));
  }
  const ByteSpan packed = bytes.subspan(begin, entry.packed_bytes);
  Bytes contents;
  if (entry.method == kStored && entry.bytes == entry.packed_bytes) {
    contents.assign(packed.begin(), packed.end());
  } else if (entry.method == kDeflated && entry.bytes / kDeflateRatioMax <= packed.size()) {
    const Decompressor decompressor(libdeflate_alloc_decompressor());
    if (!decompressor) return unavailable(".npz: expected memory for libdeflate, got none");
    contents.resize(entry.bytes);
    if (libdeflate_deflate_decompress(decompressor.get(), packed.data(), packed.size(),
                                      contents.data(), contents.size(),
                                      nullptr) != LIBDEFLATE_SUCCESS) {
      return corrupt(fmt::format("expected {} deflated bytes, got damaged data", entry.bytes));
    }
  } else {
    return corrupt(fmt::format("expected stored or deflated data of {} bytes, got method {}",
                               entry.bytes, entry.method));
  }
  const std::uint32_t crc = libdeflate_crc32(0, contents.data(), contents.size());
  if (crc != entry.crc) {
    return corrupt(fmt::format("expected CRC {:08x}, got {:08x}", entry.crc, crc));
  }
  return contents;
}

}  // namespace

Result<std::vector<std::pair<std::string, Array>>> parse_npz(ByteSpan bytes,
                                                             std::size_t bytes_max) {
  WEFT_TRY_ASSIGN(const std::size_t end, find_end(bytes));
  const std::size_t count = u16(bytes, end + 10);
  std::size_t at = u32(bytes, end + 16);
  if (at > end) return corrupt(fmt::format(".npz: expected entries before {}, got {}", end, at));
  std::vector<std::pair<std::string, Array>> arrays;
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    WEFT_TRY_ASSIGN(const ZipEntry entry, read_entry(bytes.first(end), at));
    total += entry.bytes;
    if (total > bytes_max) {
      return corrupt(fmt::format(".npz: expected at most {} bytes, got more", bytes_max));
    }
    std::string name = entry.name;
    if (name.size() > 4 && name.ends_with(".npy")) name.resize(name.size() - 4);
    Result<Bytes> contents = unpack(bytes, entry);
    if (!contents.ok()) return contents.status().with_context(fmt::format("entry {}", i));
    Result<Array> array = parse_npy(*contents);
    if (!array.ok()) return array.status().with_context(fmt::format("entry {}", i));
    arrays.emplace_back(std::move(name), std::move(*array));
  }
  return arrays;
}

Result<std::vector<std::pair<std::string, Array>>> read_npz(const std::string& path,
                                                            std::size_t bytes_max) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, bytes_max));
  auto arrays = parse_npz(bytes, bytes_max);
  if (!arrays.ok()) return arrays.status().with_context(path);
  return arrays;
}

namespace {

constexpr std::uint32_t kDate = 0x21;  // 1980-01-01, as zip begins to count: no time in the bytes
constexpr std::uint32_t kVersion = 20;

void put(Bytes& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i, value >>= 8U) bytes.push_back(static_cast<std::uint8_t>(value));
}

// What the local header and the central directory share, from the version needed on.
void put_fields(Bytes& bytes, const ZipEntry& entry) {
  put(bytes, kVersion, 2);
  put(bytes, 0, 2);  // flags
  put(bytes, kStored, 2);
  put(bytes, 0, 2);  // time
  put(bytes, kDate, 2);
  put(bytes, entry.crc, 4);
  put(bytes, entry.packed_bytes, 4);
  put(bytes, entry.bytes, 4);
  put(bytes, entry.name.size(), 2);
  put(bytes, 0, 2);  // extra field
}

void put_directory(Bytes& bytes, const std::vector<ZipEntry>& entries) {
  const std::size_t begin = bytes.size();
  for (const ZipEntry& entry : entries) {
    put(bytes, kEntryMagic, 4);
    put(bytes, kVersion, 2);  // made by
    put_fields(bytes, entry);
    put(bytes, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    put(bytes, entry.local_offset, 4);
    bytes.insert(bytes.end(), entry.name.begin(), entry.name.end());
  }
  const std::size_t size = bytes.size() - begin;
  put(bytes, kEndMagic, 4);
  put(bytes, 0, 4);  // disks
  put(bytes, entries.size(), 2);
  put(bytes, entries.size(), 2);
  put(bytes, size, 4);
  put(bytes, begin, 4);
  put(bytes, 0, 2);  // comment
}

}  // namespace

Result<Bytes> npz_bytes(std::span<const std::pair<std::string, Array>> arrays) {
  constexpr std::size_t kBytesMax = 0xFFFFFFFF;
  constexpr std::size_t kEntriesMax = 0xFFFF;
  constexpr std::string_view kSuffix = ".npy";
  if (arrays.size() > kEntriesMax) {
    return invalid_argument(
        fmt::format(".npz: expected at most {} arrays, got {}", kEntriesMax, arrays.size()));
  }
  std::set<std::string> names;
  std::vector<ZipEntry> entries;
  Bytes bytes;
  for (const auto& [name, array] : arrays) {
    if (name.empty() || name.size() + kSuffix.size() > kZipNameBytesMax ||
        !names.insert(name).second) {
      return invalid_argument(
          fmt::format(".npz: expected names of 1 to {} bytes, each once, got \"{}\"",
                      kZipNameBytesMax - kSuffix.size(), name));
    }
    const Bytes contents = npy_bytes(array);
    if (bytes.size() + contents.size() > kBytesMax - kCommentBytesMax) {
      return invalid_argument(fmt::format(".npz: {}: expected less than 4 GiB in all", name));
    }
    ZipEntry entry{
        name + std::string(kSuffix), kStored, 0, contents.size(), contents.size(), bytes.size()};
    entry.crc = libdeflate_crc32(0, contents.data(), contents.size());
    put(bytes, kLocalMagic, 4);
    put_fields(bytes, entry);
    bytes.insert(bytes.end(), entry.name.begin(), entry.name.end());
    bytes.insert(bytes.end(), contents.begin(), contents.end());
    entries.push_back(std::move(entry));
  }
  put_directory(bytes, entries);
  return bytes;
}

Status write_npz(const std::string& path, std::span<const std::pair<std::string, Array>> arrays) {
  WEFT_TRY_ASSIGN(const Bytes bytes, npz_bytes(arrays));
  return write_output_file(path, bytes);
}

}  // namespace weft
