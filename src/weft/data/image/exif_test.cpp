// Photos as a camera wrote them: the values of Orientation against images turned by hand.
#include "weft/data/image/exif.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/file.h"
#include "weft/base/rng.h"
#include "weft/data/image_file.h"

namespace weft::exif_test {
namespace {

using testing::ElementsAreArray;

struct ExifForm {
  bool little = true;
  int orientation = 6;
  std::uint16_t tag = 0x0112;
  std::uint16_t type = 3;
  std::uint32_t count = 1;
  std::uint32_t directory = 8;
};

// A segment APP1 with two entries, of which the second is the orientation.
Bytes exif_segment(const ExifForm& form) {
  Bytes tiff;
  const auto put = [&](std::uint32_t value, int width) {
    for (int i = 0; i < width; ++i) {
      const int byte = form.little ? i : width - 1 - i;
      tiff.push_back(static_cast<std::uint8_t>(value >> (8 * byte)));
    }
  };
  tiff.assign(2, form.little ? 'I' : 'M');
  put(42, 2);
  put(form.directory, 4);
  put(2, 2);
  put(0x010F, 2);  // the maker, some text elsewhere
  put(2, 2);
  put(5, 4);
  put(38, 4);
  put(form.tag, 2);
  put(form.type, 2);
  put(form.count, 4);
  put(static_cast<std::uint32_t>(form.orientation), 2);
  put(0, 2);
  put(0, 4);
  Bytes segment = {0xFF, 0xE1, 0, static_cast<std::uint8_t>(tiff.size() + 8), 'E', 'x', 'i',
                   'f',  0,    0};
  segment.insert(segment.end(), tiff.begin(), tiff.end());
  return segment;
}

// Six squares of 8 pixels, 2 rows of 3: 10 250 128, 0 77 200.
Bytes photo(const Bytes& behind_start) {
  Bytes file = *read_file(std::string(WEFT_SOURCE_DIR) + "/tests/golden/files/grey.jpg",
                          std::size_t{1} << 20U);
  file.insert(file.begin() + 2, behind_start.begin(), behind_start.end());
  return file;
}

// The value of each square, row by row.
std::vector<int> squares(const Image& image) {
  std::vector<int> values;
  for (std::int64_t y = 4; y < image.size.height; y += 8) {
    for (std::int64_t x = 4; x < image.size.width; x += 8) {
      values.push_back(image.pixels[static_cast<std::size_t>(y * image.size.width + x)]);
    }
  }
  return values;
}

struct Turned {
  int orientation;
  std::int64_t wide;  // squares
  std::vector<int> values;
};

TEST(Exif, EachOrientationIsTurnedUpright) {
  const Turned all[] = {
      {1, 3, {10, 250, 128, 0, 77, 200}}, {2, 3, {128, 250, 10, 200, 77, 0}},
      {3, 3, {200, 77, 0, 128, 250, 10}}, {4, 3, {0, 77, 200, 10, 250, 128}},
      {5, 2, {10, 0, 250, 77, 128, 200}}, {6, 2, {0, 10, 77, 250, 200, 128}},
      {7, 2, {200, 128, 77, 250, 0, 10}}, {8, 2, {128, 200, 250, 77, 10, 0}},
  };
  for (const Turned& one : all) {
    for (const bool little : {true, false}) {
      SCOPED_TRACE(one.orientation);
      const Bytes file = photo(exif_segment({.little = little, .orientation = one.orientation}));
      EXPECT_EQ(jpeg_orientation(file), one.orientation);
      for (const std::int64_t channels : {1, 3}) {
        const Result<Image> image = decode_image(file, channels);
        ASSERT_TRUE(image.ok()) << image.status().message();
        EXPECT_EQ(image->size, (ImageSize{channels, 8 * (6 / one.wide), 8 * one.wide}));
        EXPECT_THAT(squares(*image), ElementsAreArray(one.values));
      }
    }
  }
}

TEST(Exif, ColoursStayTogether) {
  Image image{{3, 1, 2}, {1, 2, 11, 12, 21, 22}};
  EXPECT_THAT(turned_upright(image, 3).pixels, ElementsAreArray({2, 1, 12, 11, 22, 21}));
  const Image lying = turned_upright(image, 6);
  EXPECT_EQ(lying.size, (ImageSize{3, 2, 1}));
  EXPECT_EQ(lying.pixels, image.pixels);
}

TEST(Exif, WhatItDoesNotSayIsUpright) {
  EXPECT_EQ(jpeg_orientation({}), kUpright);
  EXPECT_EQ(jpeg_orientation(photo({})), kUpright);
  const ExifForm odd[] = {{.orientation = 0}, {.orientation = 9}, {.tag = 0x0113},
                          {.type = 4},        {.count = 2},       {.directory = 4},
                          {.directory = 99},  {.directory = ~0U}};
  for (const ExifForm& form : odd) {
    EXPECT_EQ(jpeg_orientation(photo(exif_segment(form))), kUpright);
  }
  // Behind another APP1, and behind filler, it still counts.
  Bytes segments = {0xFF, 0xE1, 0, 6, 'h', 't', 't', 'p', 0xFF};
  const Bytes exif = exif_segment({});
  segments.insert(segments.end(), exif.begin(), exif.end());
  EXPECT_EQ(jpeg_orientation(photo(segments)), 6);
}

TEST(Exif, DamagedOnesDoNoHarm) {
  const Bytes good = photo(exif_segment({}));
  for (std::size_t size = 0; size < good.size(); ++size) {
    const int orientation = jpeg_orientation(ByteSpan(good).first(size));
    EXPECT_TRUE(orientation == kUpright || orientation == 6) << size;
  }
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = good;
    for (int change = 0; change < 3; ++change) {
      bytes[rng.below(64)] = static_cast<std::uint8_t>(rng.below(256));
    }
    const int orientation = jpeg_orientation(bytes);
    EXPECT_TRUE(orientation >= 1 && orientation <= 8);
  }
}

}  // namespace
}  // namespace weft::exif_test
