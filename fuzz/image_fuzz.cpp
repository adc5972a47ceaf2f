// Any bytes as a PNG or a JPEG: decoded to the announced size or refused, within the bound.
#include "weft/base/check.h"
#include "weft/data/image_file.h"

namespace {

constexpr std::int64_t kPixelsMax = std::int64_t{1} << 16U;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const std::int64_t channels : {1, 3}) {
    const auto image = weft::decode_image(weft::ByteSpan(data, size), channels, kPixelsMax);
    if (!image.ok()) {
      WEFT_CHECK(image.status().code() == weft::Code::kCorrupt);
      continue;
    }
    WEFT_CHECK(image->size.channels == channels);
    WEFT_CHECK(image->size.height * image->size.width <= kPixelsMax);
    WEFT_CHECK(static_cast<std::int64_t>(image->pixels.size()) == image->size.bytes());
  }
  return 0;
}
