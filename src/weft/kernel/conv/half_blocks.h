// Images of 16-bit values [N, C, H W] in planes of channels, and in blocks of 8 channels.
//
// For onednn_memory.cpp: oneDNN copies such values on some processors only. Values are not looked
// at. Threads: the calling thread and the compute threads. Fails: never.
#pragma once

#include <cstdint>

namespace weft::half_blocks {

// Sizes of both; `channels` is a multiple of 8.
struct Images {
  std::int64_t count;
  std::int64_t channels;
  std::int64_t pixels;
};

void from_planes(const Images& images, const std::uint16_t* planes, std::uint16_t* blocks);
void to_planes(const Images& images, const std::uint16_t* blocks, std::uint16_t* planes);

}  // namespace weft::half_blocks
