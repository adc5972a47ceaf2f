// The orientation that a camera notes beside the pixels of a JPEG, and images turned by it.
//
// Only the tag "Orientation" of the first directory is read. A file may come from anywhere:
// every offset is checked, the work is linear in its bytes, and what is damaged counts as upright.
// Threads: pure functions. Fails: never.
#pragma once

#include "weft/base/bytes.h"
#include "weft/data/transform.h"

namespace weft {

inline constexpr int kUpright = 1;

// 1 to 8 as Exif counts them; 1, which is upright, where the file does not say.
int jpeg_orientation(ByteSpan file);

// `image`, whose pixels were stored at `orientation`, as it is to be seen: 2 is mirrored, 3 turned
// by half, 4 upside down and mirrored, 6 and 8 lie on a side, 5 and 7 lie so and are mirrored.
Image turned_upright(Image image, int orientation);

}  // namespace weft
