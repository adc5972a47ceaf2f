// safetensors: the file format of named arrays that other frameworks read too.
//
//   file   := header_bytes:u64le header{header_bytes} data
//   header := a JSON object: name -> {"dtype": text, "shape": [int ...],
//             "data_offsets": [begin, end]}, and optionally "__metadata__" -> {text: text};
//             spaces may follow
// Offsets count from the start of data; the tensors fill data without gap or overlap, values are
// little-endian and row-major.
//
// A file may come from anywhere: every field is checked before it is used, and memory stays
// within a small factor of the header's size.
// Threads: pure functions. Fails: kCorrupt "safetensors: expected X, got Y".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kSafetensorsHeaderBytesMax = std::size_t{64} << 20U;
inline constexpr std::size_t kSafetensorsTensorsMax = 65536;
inline constexpr std::size_t kSafetensorsNameBytesMax = 1024;

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32", "BF16", "BOOL", ...: one of the format's types
  Shape shape;
  ByteSpan values;  // borrowed from the parsed bytes
};

using SafetensorsMetadata = std::map<std::string, std::string, std::less<>>;

struct SafetensorsView {
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  SafetensorsMetadata metadata;
  // nullptr if there is none of that name.
  const SafetensorsEntry* find(std::string_view name) const;
};

// Borrows `bytes`.
Result<SafetensorsView> parse_safetensors(ByteSpan bytes);

// Returns a copy. Fails: kInvalidArgument on a type that Array does not have (U16, I16, U32, U64,
// F8), kCorrupt on a BOOL tensor with other bytes than 0 and 1.
Result<Array> to_array(const SafetensorsEntry& entry);

// A tensor to write; borrows its values.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  ByteSpan values;
};

// Returns the bytes before the data of `tensors`, which follows without gaps; their length is a
// multiple of 64 bytes, so that the data of a mapped file is aligned. The same input gives the same
// bytes. Invalid UTF-8 in names or metadata becomes U+FFFD.
Bytes safetensors_header(std::span<const SafetensorsTensor> tensors,
                         const SafetensorsMetadata& metadata);
// Returns the whole file in memory.
Bytes write_safetensors(std::span<const SafetensorsTensor> tensors,
                        const SafetensorsMetadata& metadata);

}  // namespace weft
