// The functions of oneDNN's memory orders that our kernels need, without oneDNN's headers.
//
// For this folder. Threads: as the kernels; caches belong to one thread each.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

// A new array of the shape, type and order of `array`, which is contiguous or blocked.
Array like(const Array& array);
// The same in another type. Blocked arrays keep their order in f32, bf16 and f16; other types are
// contiguous.
Array like(const Array& array, DType dtype);
// Values that `array`, which is contiguous or blocked, holds, those that fill its blocks included.
std::int64_t dense_elements(const Array& array);
// A new array of another shape [N, C, H, W], of the type of `array`, f32, bf16 or f16, with the
// channels in blocks as it has them.
Array like_with_shape(const Array& array, const Shape& shape);

// `values` in the order of `model`; itself if it is so already. Shapes are equal.
Array in_order_of(const Array& values, const Array& model);

// The number of adjacent channels at each position of a dense [N, C, H, W] array: 1 for contiguous,
// 8 or 16 for blocks, C for channels last; 0 for any other order. Channels are padded to a multiple
// of it.
std::int64_t channel_block(const Array& array);

// A new array [N, C, H, W] of f32, bf16 or f16 on `device` with its channels in blocks of 8, and
// `array` in that order. REQUIRES: C is a multiple of 8.
Array blocks_of_8(const Shape& shape, DType dtype, Device device);
Array in_blocks_of_8(const Array& array);

}  // namespace weft
