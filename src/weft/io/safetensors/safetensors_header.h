// The JSON header of a safetensors file, parsed as JSON; safetensors.cpp checks the meaning of its
// numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/io/safetensors.h"

namespace weft {

struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;  // at most Shape::kDimsMax sizes
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderTensor> tensors;  // names differ
  SafetensorsMetadata metadata;
};

// kCorrupt if the text is not the JSON that the format requires: another structure, unknown,
// missing or repeated keys, numbers that are not whole, too many dimensions or tensors.
Result<Header> parse_header(ByteSpan text);

// A JSON string literal, ASCII only.
std::string json_text(std::string_view text);

}  // namespace weft
