#include "weft/data/image/exif.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace weft {
namespace {

constexpr std::uint8_t kMark = 0xFF;  // begins each marker
constexpr std::uint8_t kStartOfScan = 0xDA;
constexpr std::uint8_t kEndOfImage = 0xD9;
constexpr std::uint8_t kApp1 = 0xE1;
constexpr std::string_view kExif("Exif\0\0", 6);
constexpr std::size_t kTiffHeaderBytes = 8;
constexpr std::size_t kTiffEntryBytes = 12;
constexpr std::size_t kOrientationTag = 0x0112;
constexpr std::size_t kShort = 3;  // the type of 16 bits
constexpr int kOrientationMax = 8;

// Numbers at offsets of a TIFF; 0 beyond its end.
class Tiff {
 public:
  explicit Tiff(ByteSpan bytes) : bytes_(bytes), little_(!bytes.empty() && bytes[0] == 'I') {}

  std::size_t number_at(std::size_t at, std::size_t width) const {
    if (at > bytes_.size() || width > bytes_.size() - at) return 0;
    std::size_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value = value << 8U | bytes_[at + (little_ ? width - 1 - i : i)];
    }
    return value;
  }
  bool is_one() const {
    const std::size_t order = number_at(0, 2);
    return (order == 0x4949 || order == 0x4D4D) && number_at(2, 2) == 42;
  }

 private:
  ByteSpan bytes_;
  bool little_ = false;
};

int tiff_orientation(ByteSpan bytes) {
  const Tiff tiff(bytes);
  const std::size_t directory = tiff.number_at(4, 4);
  if (!tiff.is_one() || directory < kTiffHeaderBytes || directory >= bytes.size()) return kUpright;
  const std::size_t count = tiff.number_at(directory, 2);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = directory + 2 + i * kTiffEntryBytes;
    if (entry + kTiffEntryBytes > bytes.size()) break;
    if (tiff.number_at(entry, 2) != kOrientationTag) continue;
    const bool one_short =
        tiff.number_at(entry + 2, 2) == kShort && tiff.number_at(entry + 4, 4) == 1;
    const auto value = static_cast<int>(tiff.number_at(entry + 8, 2));
    return one_short && value >= kUpright && value <= kOrientationMax ? value : kUpright;
  }
  return kUpright;
}

}  // namespace

int jpeg_orientation(ByteSpan file) {
  std::size_t at = 2;  // behind the start of the image
  while (at + 4 <= file.size() && file[at] == kMark) {
    const std::uint8_t marker = file[at + 1];
    if (marker == kMark) {  // filler
      ++at;
      continue;
    }
    if (marker == kStartOfScan || marker == kEndOfImage) break;
    const std::size_t length = std::size_t{file[at + 2]} << 8U | file[at + 3];  // its own bytes too
    if (length < 2 || length > file.size() - at - 2) break;
    const ByteSpan segment = file.subspan(at + 4, length - 2);
    if (marker == kApp1 && segment.size() >= kExif.size() &&
        std::equal(kExif.begin(), kExif.end(), segment.begin())) {
      return tiff_orientation(segment.subspan(kExif.size()));
    }
    at += 2 + length;
  }
  return kUpright;
}

Image turned_upright(Image image, int orientation) {
  if (orientation <= kUpright || orientation > kOrientationMax) return image;
  const bool rows_turned =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool columns_turned =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool lies = orientation >= 5;
  const auto high = static_cast<std::size_t>(image.size.height);
  const auto wide = static_cast<std::size_t>(image.size.width);
  Image upright{image.size, Bytes(image.pixels.size())};
  if (lies) std::swap(upright.size.height, upright.size.width);
  std::uint8_t* out = upright.pixels.data();
  for (std::size_t c = 0; c < static_cast<std::size_t>(image.size.channels); ++c) {
    const std::uint8_t* const plane = image.pixels.data() + c * high * wide;
    for (std::size_t y = 0; y < (lies ? wide : high); ++y) {
      for (std::size_t x = 0; x < (lies ? high : wide); ++x) {
        const std::size_t row = lies ? x : y;
        const std::size_t column = lies ? y : x;
        *out++ = plane[(rows_turned ? high - 1 - row : row) * wide +
                       (columns_turned ? wide - 1 - column : column)];
      }
    }
  }
  return upright;
}

}  // namespace weft
