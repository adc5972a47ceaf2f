// Readers against files that NumPy wrote or that were built byte by byte, and damaged ones.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/base/rng.h"
#include "weft/data/batch.h"
#include "weft/data/cifar.h"
#include "weft/data/csv.h"
#include "weft/data/image_file.h"
#include "weft/data/image_folder.h"
#include "weft/data/npy.h"
#include "weft/data/open_path.h"

namespace weft::file_readers_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

std::string golden(const std::string& name) {
  return std::string(WEFT_SOURCE_DIR) + "/tests/golden/files/" + name;
}

const Json& expected() {
  static const Json kJson = [] {
    std::ifstream file(golden("expected.json"));
    return Json::parse(file);
  }();
  return kJson;
}

Bytes bytes_of(const std::string& name) {
  Result<Bytes> bytes = read_file(golden(name), 1U << 20U);
  EXPECT_TRUE(bytes.ok()) << name;
  return bytes.ok() ? std::move(*bytes) : Bytes();
}

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        (std::filesystem::temp_directory_path() / ("weft_readers_" + std::to_string(::getpid())))
            .string();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string put(const std::string& name, ByteSpan bytes) {
    std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(write_file_atomically(path, bytes).ok());
    return path;
  }
  std::string put(const std::string& name, std::string_view text) {
    return put(name, as_bytes(text));
  }
  std::string folder_;
};
using ImageFolderTest = FolderTest;
using CsvFileTest = FolderTest;
using OpenPathTest = FolderTest;

void expect_values(const Array& array, const Json& json) {
  const auto shape = json["shape"].get<std::vector<std::int64_t>>();
  EXPECT_EQ(array.shape(), Shape(std::span<const std::int64_t>(shape)));
  EXPECT_EQ(array.to(DType::kF64).to_vector<double>(), json["values"].get<std::vector<double>>());
}

TEST(Npy, FilesOfNumPyAreRead) {
  const std::map<std::string, DType> types = {
      {"f4.npy", DType::kF32},     {"f8_big.npy", DType::kF64}, {"f4_fortran.npy", DType::kF32},
      {"f2.npy", DType::kF16},     {"i8_v2.npy", DType::kI64},  {"i4_big_v3.npy", DType::kI32},
      {"i2.npy", DType::kI64},     {"i1.npy", DType::kI8},      {"u1.npy", DType::kU8},
      {"u2_big.npy", DType::kI64}, {"u4.npy", DType::kI64},     {"bool.npy", DType::kBool},
      {"scalar.npy", DType::kF64}, {"empty.npy", DType::kF32},  {"strided.npy", DType::kF64},
  };
  for (const auto& [name, type] : types) {
    SCOPED_TRACE(name);
    const Result<Array> array = read_npy(golden(name));
    ASSERT_TRUE(array.ok()) << array.status().to_string();
    EXPECT_EQ(array->dtype(), type);
    expect_values(*array, expected()[name]);
    const Result<Array> again = parse_npy(npy_bytes(*array));
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_EQ(again->dtype(), type);
    expect_values(*again, expected()[name]);
  }
}

TEST(Npy, WhatIsWrittenIsWhatNumPyWrites) {
  for (const char* name : {"f4.npy", "u1.npy", "i1.npy", "f2.npy", "bool.npy", "scalar.npy"}) {
    EXPECT_EQ(npy_bytes(*read_npy(golden(name))), bytes_of(name)) << name;
  }
}

TEST(Npz, StoredAndDeflatedArchivesAreRead) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const auto arrays = read_npz(golden(name));
    ASSERT_TRUE(arrays.ok()) << arrays.status().to_string();
    ASSERT_EQ(arrays->size(), 2U);
    for (const auto& [key, array] : *arrays) expect_values(array, expected()["npz:" + key]);
  }
  EXPECT_FALSE(read_npz(golden("stored.npz"), 1000).ok());
}

TEST(Npz, GivesBackWhatWasWritten) {
  const std::vector<std::pair<std::string, Array>> arrays = {
      {"x", Array::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}).transpose(0, 1)},
      {"labels", Array::from(std::vector<std::int64_t>{-1, 7}, {2})},
      {"none", Array::zeros({0, 3})},
      {"flag", Array::from(std::vector<bool>{true}, {})}};
  const Bytes bytes = npz_bytes(arrays).value();
  EXPECT_EQ(npz_bytes(arrays).value(), bytes);
  const auto again = parse_npz(bytes).value();
  ASSERT_EQ(again.size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(again[i].first, arrays[i].first);
    EXPECT_EQ(npy_bytes(again[i].second), npy_bytes(arrays[i].second));
  }
  const std::string path = testing::TempDir() + "weft_written.npz";
  ASSERT_TRUE(write_npz(path, arrays).ok());
  EXPECT_EQ(read_npz(path)->size(), 4U);
  EXPECT_TRUE(parse_npz(npz_bytes({}).value())->empty());
}

TEST(Npz, RefusesNamesThatCannotBeRead) {
  const Array x = Array::zeros({1});
  const auto refused = [&](const std::vector<std::pair<std::string, Array>>& arrays) {
    return npz_bytes(arrays).status().code();
  };
  EXPECT_EQ(refused({{"", x}}), Code::kInvalidArgument);
  EXPECT_EQ(refused({{"x", x}, {"x", x}}), Code::kInvalidArgument);
  EXPECT_EQ(refused({{std::string(300, 'x'), x}}), Code::kInvalidArgument);
}

// A .npy file with this header text.
Bytes npy_of(const std::string& header, std::size_t values, std::uint8_t major = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(major);
  text += '\0';
  text += static_cast<char>(header.size() & 0xFFU);
  text += static_cast<char>(header.size() >> 8U);
  if (major > 1) text += std::string(2, '\0');
  text += header + std::string(values, 'v');
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

TEST(Npy, DamagedFilesAreRefused) {
  const auto message = [](const Bytes& bytes) { return parse_npy(bytes).status().message(); };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_TRUE(parse_npy(npy_of(good, 8)).ok());
  EXPECT_EQ(
      message(npy_of(good, 7)),
      fmt::format(".npy values: expected 8 bytes from offset {} on, got 7", 10 + good.size()));
  EXPECT_THAT(message(npy_of(good, 8, 4)),
              HasSubstr("version at offset 6: expected 1 to 3, got 4"));
  EXPECT_THAT(message({}), HasSubstr("magic"));
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "expected a type of"},
      {"{'descr': '<f4', 'fortran_order': False}", "descr, fortran_order and shape"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "each key once"},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}", "True or False"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (-1,)}", "sizes from 0 on"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (1,1,1,1,1,1,1,1,1)}", "at most 8 sizes"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (4294967296, 4294967296)}", "2^60"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (0, 4294967296, 4294967296)}", "2^60"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (9223372036854775807,)}", "2^60"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,)} + 1", "nothing after"},
      {"{'descr': [('a', '<f4')], 'fortran_order': True, 'shape': (2,)}", "expected a type of"},
      {"import os", "expected '{'"},
  };
  for (const auto& [header, words] : headers) {
    EXPECT_THAT(message(npy_of(header, 8)), HasSubstr(words)) << header;
  }
  EXPECT_THAT(message(npy_of("{'descr': '|b1', 'fortran_order': True, 'shape': (1,)}", 1)),
              HasSubstr("booleans of 0 or 1"));
}

// Whatever byte is changed, the reader ends with values or with kCorrupt.
TEST(Npz, ChangedBytesDoNoHarm) {
  for (const char* name : {"stored.npz", "deflated.npz", "f4_fortran.npy"}) {
    const Bytes good = bytes_of(name);
    Rng rng(7);
    for (int i = 0; i < 2000; ++i) {
      Bytes bytes = good;
      for (std::uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
        bytes[rng.below(bytes.size())] = static_cast<std::uint8_t>(rng.below(256));
      }
      bytes.resize(rng.chance(0.3) ? rng.below(bytes.size() + 1) : bytes.size());
      const Status archive = parse_npz(bytes, 1U << 20U).status();
      const Status array = parse_npy(bytes).status();
      EXPECT_TRUE(archive.ok() || archive.code() == Code::kCorrupt);
      EXPECT_TRUE(array.ok() || array.code() == Code::kCorrupt);
    }
  }
}

TEST(ImageFile, PngAndJpegHaveTheValuesTheyWereBuiltFrom) {
  for (const char* name : {"rgb.png", "rgba.png", "grey.png", "palette.png", "rgb16.png",
                           "grey16.png", "grey.jpg", "color.jpg"}) {
    SCOPED_TRACE(name);
    const Result<Image> image = decode_image(bytes_of(name), 3);
    ASSERT_TRUE(image.ok()) << image.status().to_string();
    const Json& json = expected()[name];
    EXPECT_EQ(image->size, (ImageSize{3, json["height"], json["width"]}));
    const auto planes = json["planes"].get<std::vector<int>>();
    ASSERT_EQ(image->pixels.size(), planes.size());
    const int tolerance = std::string(name) == "color.jpg" ? 1 : 0;
    for (std::size_t i = 0; i < planes.size(); ++i) {
      ASSERT_NEAR(image->pixels[i], planes[i], tolerance) << i;
    }
  }
}

TEST(ImageFile, GreyIsTheWeightedSum) {
  const Result<Image> color = decode_image(bytes_of("rgb.png"), 3);
  const Result<Image> grey = decode_image(bytes_of("rgb.png"), 1);
  ASSERT_TRUE(color.ok() && grey.ok());
  for (std::size_t i = 0; i < 35; ++i) {
    const double value =
        0.299 * color->pixels[i] + 0.587 * color->pixels[35 + i] + 0.114 * color->pixels[70 + i];
    EXPECT_NEAR(grey->pixels[i], value, 0.51);
  }
  EXPECT_EQ(decode_image(bytes_of("grey.jpg"), 1)->pixels[0], 10);
}

TEST(ImageFile, EncodedPngComesBack) {
  for (const std::int64_t channels : {1, 3}) {
    Image image{{channels, 5, 3}, Bytes(static_cast<std::size_t>(channels * 15))};
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] = static_cast<std::uint8_t>(i * 5);
    }
    const Result<Bytes> file = encode_png(image);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(decode_image(*file, channels)->pixels, image.pixels);
  }
}

TEST(ImageFile, DamagedFilesAreRefused) {
  EXPECT_EQ(decode_image({}, 3).status().message(), "image: expected a PNG or a JPEG, got nothing");
  EXPECT_THAT(decode_image(as_bytes("GIF89a..."), 3).status().message(), HasSubstr("474946383961"));
  EXPECT_THAT(decode_image(bytes_of("rgb.png"), 3, 34).status().message(),
              HasSubstr("expected 1 to 34 pixels, got 5x7"));
  for (const char* name : {"rgb.png", "palette.png", "grey.jpg", "color.jpg"}) {
    const Bytes good = bytes_of(name);
    // A PNG may lack its last checksums; its pixels are whole then.
    const Image whole = *decode_image(good, 3);
    for (std::size_t size = 0; size < good.size(); ++size) {
      const Result<Image> image = decode_image(ByteSpan(good).first(size), 3);
      EXPECT_EQ(image.status().code(), image.ok() ? Code::kOk : Code::kCorrupt);
      EXPECT_FALSE(image.ok() && image->pixels != whole.pixels) << name << " " << size;
      EXPECT_FALSE(image.ok() && size + 24 < good.size()) << name << " " << size;
    }
    Rng rng(5);
    for (int i = 0; i < 2000; ++i) {
      Bytes bytes = good;
      for (int change = 0; change < 2; ++change) {
        bytes[rng.below(bytes.size())] = static_cast<std::uint8_t>(rng.below(256));
      }
      const Status status = decode_image(bytes, 3, 1 << 16).status();
      EXPECT_TRUE(status.ok() || status.code() == Code::kCorrupt);
    }
  }
}

// A record with label bytes, then pixel p of value (p * 7 + first) mod 256.
Bytes cifar_record(const Bytes& labels, std::size_t first) {
  Bytes record = labels;
  for (std::size_t p = 0; p < 3072; ++p) record.push_back(static_cast<std::uint8_t>(p * 7 + first));
  return record;
}

TEST(Cifar, RecordsAreReadByteByByte) {
  Bytes file = cifar_record({9}, 1);
  const Bytes second = cifar_record({0}, 100);
  file.insert(file.end(), second.begin(), second.end());
  CifarRecords records;
  ASSERT_TRUE(append_cifar(file, CifarKind::kCifar10, 2, records).ok());
  EXPECT_THAT(records.labels, ElementsAre(9, 0));
  ASSERT_EQ(records.images.size(), 6144U);
  EXPECT_EQ(records.images[0], 1);
  EXPECT_EQ(records.images[3072 + 1024], static_cast<std::uint8_t>(1024 * 7 + 100));
  CifarRecords fine;
  ASSERT_TRUE(append_cifar(cifar_record({19, 99}, 0), CifarKind::kCifar100, 0, fine).ok());
  EXPECT_THAT(fine.labels, ElementsAre(99));
}

TEST(Cifar, WrongSizesAndLabelsAreNamed) {
  CifarRecords records;
  const auto message = [&](const Bytes& file, CifarKind kind, std::int64_t count) {
    return append_cifar(file, kind, count, records).message();
  };
  EXPECT_EQ(message(cifar_record({10}, 0), CifarKind::kCifar10, 1),
            "record 0: expected a label below 10, got 10");
  EXPECT_EQ(message(cifar_record({20, 3}, 0), CifarKind::kCifar100, 1),
            "record 0: expected a label below 20, got 20");
  EXPECT_EQ(message(cifar_record({3, 100}, 0), CifarKind::kCifar100, 1),
            "record 0: expected a label below 100, got 100");
  EXPECT_EQ(message(cifar_record({1}, 0), CifarKind::kCifar10, 2),
            "expected 2 records of 3073 bytes, got 3073 bytes");
  EXPECT_EQ(message({}, CifarKind::kCifar10, 0),
            "expected one or more records of 3073 bytes, got 0 bytes");
  EXPECT_THAT(*parse_class_names("cat\r\ndog\n\n", 2), ElementsAre("cat", "dog"));
  EXPECT_FALSE(parse_class_names("cat\n", 2).ok());
  EXPECT_FALSE(parse_class_names("cat\ndog\ncow\n", 2).ok());
  EXPECT_FALSE(parse_class_names("c\x01t\ndog\n", 2).ok());
}

TEST(Csv, FieldsFollowTheStandard) {
  const auto table = parse_csv(
      "a,\"b \"\"x\"\"\",c\r\n1,red,\"2\"\n-1.5e2,\"two\nlines, here\",+3\n\n4,red, 5 \n");
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_THAT(table->names, ElementsAre("a", "b \"x\"", "c"));
  EXPECT_EQ(table->values.to_vector<double>(), (std::vector<double>{1, 0, 2, -150, 1, 3, 4, 0, 5}));
  EXPECT_THAT(table->words[1], ElementsAre("red", "two\nlines, here"));
  EXPECT_TRUE(table->words[0].empty());
}

TEST(Csv, LinesMayEndInAnyOfTheThreeWays) {
  for (const char* end : {"\n", "\r\n", "\r"}) {
    std::string text;
    for (const char* line : {"a,b", "1,\"x\"", "", "2,y"}) text += std::string(line) + end;
    const auto table = parse_csv(text);
    ASSERT_TRUE(table.ok()) << table.status().to_string();
    EXPECT_EQ(table->values.to_vector<double>(), (std::vector<double>{1, 0, 2, 1}));
    EXPECT_THAT(table->words[1], ElementsAre("x", "y"));
    EXPECT_THAT(parse_csv(text + "3" + end).status().message(), HasSubstr("line 5: expected 2"));
  }
}

TEST(Csv, EveryCutOfTheStreamGivesTheSameRecords) {
  const std::string text = "x,y\r\n\"a\r\n\"\"b\",1\n\"\",2\r\nlast,3";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    CsvParser parser(',');
    std::vector<std::string> record;
    std::string all;
    const auto drain = [&] {
      while (*parser.next(record)) {
        for (const std::string& field : record) all += "[" + field + "]";
        all += std::to_string(parser.line());
      }
    };
    parser.feed(std::string_view(text).substr(0, cut));
    drain();
    parser.feed(std::string_view(text).substr(cut));
    parser.finish();
    drain();
    EXPECT_EQ(all, "[x][y]1[a\r\n\"b][1]2[][2]4[last][3]5") << cut;
  }
}

TEST(Csv, FaultsHaveTheirPlace) {
  const auto message = [](std::string_view text) { return parse_csv(text).status().message(); };
  EXPECT_EQ(message("a,b\n1,2\n3\n"), "line 3: expected 2 fields, got 1");
  EXPECT_EQ(message("a,b\n1,2\n3,x\n"),
            "line 3, column 2 (\"b\"): expected a finite number, got \"x\"");
  EXPECT_EQ(message("a,b\n1,\n"), "line 2, column 2 (\"b\"): expected a value, got \"\"");
  EXPECT_EQ(message("a\n\"1\n"), "line 2: expected a closing quote, got the end");
  EXPECT_EQ(message("a\n\"1\"x\n"), "line 2: expected a separator after a quoted field, got \"x\"");
  EXPECT_EQ(message("a\n1\"2\n"), "line 2: expected quotes around a whole field, got one inside");
  EXPECT_EQ(message("a\n1\n1e999\n"),
            "line 3, column 1 (\"a\"): expected a finite number, got \"1e999\"");
  for (const char* first : {"inf", "-inf", "1e999", "+1e999"}) {
    EXPECT_EQ(
        message("a\n" + std::string(first) + "\n"),
        "line 2, column 1 (\"a\"): expected a finite number, got \"" + std::string(first) + "\"");
  }
  EXPECT_EQ(message(""), "expected at least one record, got none");
}

TEST(Csv, MissingValuesFollowTheirPolicy) {
  const std::string text = "a,b\n1,NA\n,2\n5,?\n";
  const auto values = [&](MissingValues missing) {
    return parse_csv(text, {.missing = missing})->values.to_vector<double>();
  };
  EXPECT_THAT(values(MissingValues::kZero), ElementsAre(1, 0, 0, 2, 5, 0));
  EXPECT_THAT(values(MissingValues::kColumnMean), ElementsAre(1, 2, 3, 2, 5, 2));
  EXPECT_TRUE(std::isnan(values(MissingValues::kNan)[1]));
  EXPECT_FALSE(parse_csv(text).ok());
}

TEST_F(CsvFileTest, AFileBecomesRowsWithClasses) {
  std::string text = "\xEF\xBB\xBFwidth,length,kind\n";
  for (int i = 0; i < 20000; ++i) {
    text += fmt::format("{},{}.5,{}\n", i, -i, i % 3 == 0 ? "iris" : "rose");
  }
  const auto table = read_csv(put("flowers.csv", text));
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  const auto train = make_csv_dataset("flowers", *table, Split::kTrain, {.target = "kind"});
  const auto test = make_csv_dataset("flowers", *table, Split::kTest);
  ASSERT_TRUE(train.ok() && test.ok());
  EXPECT_EQ(train->size, 18000);
  EXPECT_EQ(test->size, 2000);
  EXPECT_THAT(train->class_names, ElementsAre("iris", "rose"));
  const auto batch = make_batch(*test, 0, 3, {});
  ASSERT_TRUE(batch.ok());
  EXPECT_THAT(batch->inputs.to_vector<float>(),
              ElementsAre(18000, -18000.5F, 18001, -18001.5F, 18002, -18002.5F));
  EXPECT_THAT(batch->labels.to_vector<std::int64_t>(), ElementsAre(0, 1, 1));
  const auto values =
      make_csv_dataset("flowers", *table, Split::kTrain, {.target = "width", .classify = false});
  ASSERT_TRUE(values.ok());
  EXPECT_THAT(make_batch(*values, 5, 7, {})->labels.to_vector<float>(), ElementsAre(5, 6));
  EXPECT_FALSE(make_csv_dataset("flowers", *table, Split::kTrain, {.target = "scent"}).ok());
  EXPECT_EQ(read_csv(folder_ + "/none.csv").status().code(), Code::kUnavailable);
}

Image plain_image(std::int64_t height, std::int64_t width, std::uint8_t value) {
  return {{1, height, width}, Bytes(static_cast<std::size_t>(height * width), value)};
}

TEST_F(ImageFolderTest, FoldersAreClassesAndFilesAreReadWhenAskedFor) {
  for (int i = 0; i < 20; ++i) {
    put(fmt::format("cat/{:02}.png", i),
        *encode_png(plain_image(8, 8, static_cast<std::uint8_t>(i))));
    put(fmt::format("ant/{:02}.PNG", i), *encode_png(plain_image(4, 9, 200)));
  }
  put("cat/readme.txt", "not an image");
  const ImageFolderOptions options{.channels = 3, .height = 6, .width = 6};
  const auto train = open_image_folder(folder_, Split::kTrain, options);
  const auto test = open_image_folder(folder_, Split::kTest, options);
  ASSERT_TRUE(train.ok()) << train.status().to_string();
  ASSERT_TRUE(test.ok());
  EXPECT_EQ(train->size, 36);
  EXPECT_EQ(test->size, 4);
  EXPECT_THAT(train->class_names, ElementsAre("ant", "cat"));
  const auto batch = make_batch(*train, 17, 20, {});
  ASSERT_TRUE(batch.ok()) << batch.status().to_string();
  EXPECT_EQ(batch->inputs.shape(), (Shape{3, 3, 6, 6}));
  EXPECT_THAT(batch->labels.to_vector<std::int64_t>(), ElementsAre(0, 1, 1));
  EXPECT_FLOAT_EQ(batch->inputs.to_vector<float>()[2 * 108], 1.0F / 255);
  EXPECT_NEAR(train->mean[0], (18 * 200 + 17 * 9) / 36.0 / 255.0, 1e-6);
  const auto loaded = open_image_folder(
      folder_, Split::kTrain, {.channels = 3, .height = 6, .width = 6, .in_memory = true});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(make_batch(*loaded, 0, 36, {})->inputs.to_vector<float>(),
            make_batch(*train, 0, 36, {})->inputs.to_vector<float>());
}

TEST_F(ImageFolderTest, ADamagedFileIsNamedByTheBatchThatReadsIt) {
  for (int i = 0; i < 3; ++i)
    put(fmt::format("train/a/{}.png", i), *encode_png(plain_image(8, 8, 1)));
  put("val/a/0.jpg", "no image at all");
  const ImageFolderOptions options{.channels = 1, .height = 8, .width = 8};
  EXPECT_EQ(open_image_folder(folder_, Split::kTrain, options)->size, 3);
  const auto test = open_image_folder(folder_, Split::kTest, options);
  ASSERT_TRUE(test.ok());
  const Status status = make_batch(*test, 0, 1, {}).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_THAT(status.message(), HasSubstr("val/a/0.jpg: image: expected a PNG or a JPEG"));
  EXPECT_EQ(open_image_folder(folder_ + "/none", Split::kTrain, options).status().code(),
            Code::kUnavailable);
  EXPECT_EQ(open_image_folder(folder_ + "/train/a", Split::kTrain, options).status().code(),
            Code::kInvalidArgument);
}

TEST_F(OpenPathTest, EachKindIsToldByItsName) {
  const std::string text(1000, 'x');
  const auto from_text =
      open_path(put("a.txt", text), Split::kTest, {.text = {.tokenizer = "byte", .context = 9}});
  ASSERT_TRUE(from_text.ok()) << from_text.status().to_string();
  EXPECT_EQ(from_text->tokens.size(), 100);
  const auto tokens = open_path(put("a.bin", text), Split::kTrain, {.text = {.context = 9}});
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(tokens->tokens.size(), 450);
  put("arrays/x.npy", npy_bytes(Array::zeros({20, 2, 3})));
  put("arrays/y.npy", npy_bytes(Array::full({20}, 4, DType::kI64)));
  const auto arrays = open_path(folder_ + "/arrays", Split::kTest);
  ASSERT_TRUE(arrays.ok()) << arrays.status().to_string();
  EXPECT_EQ(arrays->size, 2);
  EXPECT_EQ(arrays->classes, 5);
  EXPECT_EQ(make_batch(*arrays, 0, 2, {})->inputs.shape(), (Shape{2, 6}));
  put("tokens/train.bin", text);
  put("tokens/val.bin", text);
  EXPECT_TRUE(open_path(folder_ + "/tokens", Split::kTest).ok());
  EXPECT_EQ(open_path(put("a.gif", text), Split::kTrain).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(open_path(folder_ + "/b.gif", Split::kTrain).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace weft::file_readers_test
