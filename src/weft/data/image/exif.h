// The orientation that a camera stores beside the pixels of a JPEG, and its application to an
// image.
//
// Only the tag "Orientation" of the first directory is read. A file may come from anywhere: every
// offset is checked, the work is linear in its bytes, and a damaged block counts as upright.
// Threads: pure functions. Fails: never.
#pragma once

#include "weft/base/bytes.h"
#include "weft/data/transform.h"

namespace weft {

inline constexpr int kUpright = 1;

// Exif's orientation, 1 to 8; 1, which is upright, if the file has none.
int jpeg_orientation(ByteSpan file);

// Turns `image`, whose pixels were stored at `orientation`, upright: 2 is mirrored, 3 rotated by
// half a turn, 4 upside down and mirrored, 6 and 8 lie on a side, 5 and 7 do so and are mirrored.
Image turned_upright(Image image, int orientation);

}  // namespace weft
