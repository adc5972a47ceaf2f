#include "weft/data/image_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include "weft/data/image/exif.h"

namespace weft {
namespace {

constexpr std::size_t kRgba = 4;
constexpr std::uint8_t kPngMagic[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
constexpr std::uint8_t kJpegMagic[] = {0xFF, 0xD8, 0xFF};

bool begins_with(ByteSpan bytes, ByteSpan magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

Status check_size(std::uint64_t width, std::uint64_t height, std::int64_t pixels_max) {
  const auto most = static_cast<std::uint64_t>(pixels_max);
  if (width >= 1 && height >= 1 && width <= most && height <= most / width) return {};
  return corrupt(
      fmt::format("image: expected 1 to {} pixels, got {}x{}", pixels_max, width, height));
}

// A colour, of which the fourth byte says how much covers white.
std::array<std::uint32_t, 3> over_white(const std::uint8_t* pixel) {
  std::array<std::uint32_t, 3> seen = {};
  const std::uint32_t alpha = pixel[3];
  for (std::size_t c = 0; c < 3; ++c)
    seen[c] = (pixel[c] * alpha + 255 * (255 - alpha) + 127) / 255;
  return seen;
}

// Interleaved values of `stride` bytes a pixel, red first, to planes.
Image planes_of(ByteSpan pixels, std::size_t stride, ImageSize size) {
  Image image;
  image.size = size;
  image.pixels.resize(static_cast<std::size_t>(size.bytes()));
  const auto plane = static_cast<std::size_t>(size.height * size.width);
  for (std::size_t i = 0; i < plane; ++i) {
    const std::uint8_t* const bytes = pixels.data() + i * stride;
    const std::array<std::uint32_t, 3> pixel =
        stride == kRgba ? over_white(bytes)
                        : std::array<std::uint32_t, 3>{bytes[0], bytes[1], bytes[2]};
    if (size.channels == 3) {
      for (std::size_t c = 0; c < 3; ++c)
        image.pixels[c * plane + i] = static_cast<std::uint8_t>(pixel[c]);
    } else {  // 16-bit fixed point of the weights, which sum to 65536
      image.pixels[i] = static_cast<std::uint8_t>(
          (19595U * pixel[0] + 38470U * pixel[1] + 7471U * pixel[2] + 32768U) >> 16U);
    }
  }
  return image;
}

struct PngImage {
  png_image control{};
  PngImage() { control.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&control); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  Status fault() const { return corrupt(fmt::format("PNG: {}", control.message)); }
};

Result<Image> decode_png(ByteSpan bytes, std::int64_t channels, std::int64_t pixels_max) {
  PngImage png;
  if (png_image_begin_read_from_memory(&png.control, bytes.data(), bytes.size()) == 0) {
    return png.fault();
  }
  WEFT_TRY(check_size(png.control.width, png.control.height, pixels_max));
  png.control.format = PNG_FORMAT_RGBA;
  // Otherwise libpng takes 16-bit values of a file that does not say for linear light.
  png.control.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  Bytes pixels(std::size_t{png.control.width} * png.control.height * kRgba);
  if (png_image_finish_read(&png.control, nullptr, pixels.data(), 0, nullptr) == 0) {
    return png.fault();
  }
  if (PNG_IMAGE_FAILED(png.control) || png.control.warning_or_error != 0) return png.fault();
  return planes_of(pixels, kRgba, {channels, png.control.height, png.control.width});
}

struct DestroyDecoder {
  void operator()(void* decoder) const { tjDestroy(decoder); }
};

Result<Image> decode_jpeg(ByteSpan bytes, std::int64_t channels, std::int64_t pixels_max) {
  const std::unique_ptr<void, DestroyDecoder> decoder(tjInitDecompress());
  if (!decoder) return unavailable("JPEG: expected memory for TurboJPEG, got none");
  const auto fault = [&] {
    return corrupt(fmt::format("JPEG: {}", tjGetErrorStr2(decoder.get())));
  };
  int width = 0;
  int height = 0;
  int sampling = 0;
  int colors = 0;
  const auto size = static_cast<unsigned long>(bytes.size());
  if (tjDecompressHeader3(decoder.get(), bytes.data(), size, &width, &height, &sampling, &colors) !=
      0) {
    return fault();
  }
  WEFT_TRY(check_size(static_cast<std::uint64_t>(std::max(0, width)),
                      static_cast<std::uint64_t>(std::max(0, height)), pixels_max));
  if (colors == TJCS_CMYK || colors == TJCS_YCCK) {
    return corrupt("JPEG: expected grey, RGB or YCbCr, got CMYK");
  }
  const ImageSize image_size{channels, height, width};
  const int format = channels == 1 ? TJPF_GRAY : TJPF_RGB;
  Bytes pixels(static_cast<std::size_t>(image_size.bytes()));
  if (tjDecompress2(decoder.get(), bytes.data(), size, pixels.data(), width, 0, height, format,
                    TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0) {
    return fault();
  }
  Image image =
      channels == 1 ? Image{image_size, std::move(pixels)} : planes_of(pixels, 3, image_size);
  return turned_upright(std::move(image), jpeg_orientation(bytes));
}

}  // namespace

Result<Image> decode_image(ByteSpan bytes, std::int64_t channels, std::int64_t pixels_max) {
  if (channels != 1 && channels != 3) {
    return invalid_argument(fmt::format("image: expected 1 or 3 channels, got {}", channels));
  }
  if (begins_with(bytes, kPngMagic)) return decode_png(bytes, channels, pixels_max);
  if (begins_with(bytes, kJpegMagic)) return decode_jpeg(bytes, channels, pixels_max);
  return corrupt(fmt::format(
      "image: expected a PNG or a JPEG, got {}",
      bytes.empty() ? "nothing"
                    : to_hex(bytes.first(std::min<std::size_t>(bytes.size(), sizeof(kPngMagic))))));
}

Result<Bytes> encode_png(const Image& image) {
  const auto plane = static_cast<std::size_t>(image.size.height * image.size.width);
  const auto channels = static_cast<std::size_t>(image.size.channels);
  Bytes pixels(image.pixels.size());
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < channels; ++c)
      pixels[i * channels + c] = image.pixels[c * plane + i];
  }
  PngImage png;
  png.control.width = static_cast<png_uint_32>(image.size.width);
  png.control.height = static_cast<png_uint_32>(image.size.height);
  png.control.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png.control);
  Bytes file(size);
  if (png_image_write_to_memory(&png.control, file.data(), &size, 0, pixels.data(), 0, nullptr) ==
      0) {
    return internal_error(fmt::format("PNG: {}", png.control.message));
  }
  file.resize(size);
  return file;
}

}  // namespace weft
