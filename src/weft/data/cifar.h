// CIFAR-10 and CIFAR-100 in their binary format (Krizhevsky 2009).
//
//   CIFAR-10   record := label:u8 pixel:u8{3 * 32 * 32}            label < 10
//   CIFAR-100  record := coarse:u8 fine:u8 pixel:u8{3 * 32 * 32}   coarse < 20, fine < 100
//   file   := record{..}
//   names  := (name "\n"){classes}; empty lines may follow
//
// Pixels are red, green, blue planes, each row by row. Every label is checked.
// Fails: kCorrupt "path: expected X, got Y" with the record; kUnavailable where a file cannot be
// read.
#pragma once

#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

enum class CifarKind : std::uint8_t { kCifar10, kCifar100 };

struct CifarRecords {
  Bytes images;  // [n, 3, 32, 32]
  Bytes labels;  // [n]; fine labels of CIFAR-100
};

// Appends the records of one file to `out`. REQUIRES of the file: exactly `count` records; 0
// stands for any number but none.
Status append_cifar(ByteSpan bytes, CifarKind kind, std::int64_t count, CifarRecords& out);

// The class names of batches.meta.txt or fine_label_names.txt.
Result<std::vector<std::string>> parse_class_names(std::string_view text, std::size_t classes);

}  // namespace weft
