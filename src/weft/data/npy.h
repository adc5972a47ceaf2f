// .npy and .npz: NumPy's arrays in files (NEP 1; versions 1.0, 2.0 and 3.0).
//
//   file   := 0x93 "NUMPY" major:u8 minor:u8 length header value{product of shape}
//   length := u16le (major 1) | u32le (major 2, 3)
//   header := "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" padding "\n"
//
// descr: b1 i1 i4 i8 u1 f2 f4 f8 as they are; i2, u2, u4 become i64; u8 too where its values fit.
// '<', '>', '|' and '=' orders of bytes are read. An .npz is a ZIP of such files, stored or
// deflated. Every field is checked before it is used. Fails: kCorrupt "path: expected X, got Y";
// kUnavailable where a file cannot be read.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kNpyBytesMax = std::size_t{4} << 30U;

// Returns a copy of the values in C order, whatever the file's order.
Result<Array> parse_npy(ByteSpan bytes);
Result<Array> read_npy(const std::string& path, std::size_t bytes_max = kNpyBytesMax);

// Writes version 1.0, little-endian, C order. bf16, which NumPy lacks, becomes f4.
Bytes npy_bytes(const Array& array);
Status write_npy(const std::string& path, const Array& array);

// Returns the arrays of an archive in its order, named without ".npy"; at most `bytes_max` bytes of
// values in total.
Result<std::vector<std::pair<std::string, Array>>> parse_npz(ByteSpan bytes,
                                                             std::size_t bytes_max = kNpyBytesMax);
Result<std::vector<std::pair<std::string, Array>>> read_npz(const std::string& path,
                                                            std::size_t bytes_max = kNpyBytesMax);

// Writes members uncompressed, as NumPy's savez() does; the same arrays give the same bytes. Fails:
// kInvalidArgument if a name is empty, too long or repeated, or if a part exceeds 4 GiB.
Result<Bytes> npz_bytes(std::span<const std::pair<std::string, Array>> arrays);
Status write_npz(const std::string& path, std::span<const std::pair<std::string, Array>> arrays);

}  // namespace weft
