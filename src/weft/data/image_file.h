// PNG and JPEG files as images of bytes, by libpng and TurboJPEG.
//
// Files are recognised by their first bytes. 16-bit values become 8-bit; transparent pixels become
// white; grey is 0.299 R + 0.587 G + 0.114 B. A JPEG is rotated as its camera recorded (exif.h). A
// file may come from anywhere: its size is checked before memory is allocated, and the decoder's
// warnings are errors here. Threads: pure functions. Fails: kCorrupt "expected X, got Y".
#pragma once

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/data/transform.h"

namespace weft {

inline constexpr std::int64_t kImagePixelsMax = std::int64_t{1} << 28U;

// REQUIRES: channels is 1 or 3.
Result<Image> decode_image(ByteSpan bytes, std::int64_t channels,
                           std::int64_t pixels_max = kImagePixelsMax);

// Encodes the image as a PNG with 8-bit values.
Result<Bytes> encode_png(const Image& image);

}  // namespace weft
