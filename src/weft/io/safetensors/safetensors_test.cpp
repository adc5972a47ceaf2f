#include "weft/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::safetensors_test {
namespace {

using testing::HasSubstr;

Bytes file_of(std::string_view header, std::size_t data_bytes) {
  Bytes bytes(8);
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(std::uint64_t{header.size()} >> (8 * i));
  }
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (std::size_t i = 0; i < data_bytes; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  return bytes;
}

// The message of the kCorrupt that the file is refused with.
std::string refusal(std::string_view header, std::size_t data_bytes) {
  const Bytes file = file_of(header, data_bytes);
  const Result<SafetensorsView> view = parse_safetensors(file);
  EXPECT_FALSE(view.ok()) << header;
  EXPECT_EQ(view.status().code(), Code::kCorrupt);
  return view.status().message();
}

struct Sample {
  std::vector<float> floats = {1.5F, -2.0F, 3.25F, 0.0F, -0.0F, 1e-30F};
  std::vector<std::int64_t> integers = {-1, 1LL << 40};
  std::vector<std::uint8_t> bytes = {7, 8, 9};
  Bytes write() const {
    const std::vector<SafetensorsTensor> tensors = {
        {"f", DType::kF32, {2, 3}, as_bytes(std::span<const float>(floats))},
        {"scalar \"quoted\" \n",
         DType::kF32,
         {},
         as_bytes(std::span<const float>(floats).first(1))},
        {"i", DType::kI64, {2}, as_bytes(std::span<const std::int64_t>(integers))},
        {"none", DType::kF64, {0, 4}, {}},
        {"u", DType::kU8, {3, 1}, bytes},
    };
    return write_safetensors(tensors, {{"key", "value \x01 \"é\""}, {"b", ""}});
  }
};

TEST(Safetensors, EveryTypeOfAnArrayIsWrittenAndRead) {
  for (const auto& [dtype, name] : {std::pair<DType, const char*>{DType::kBF16, "BF16"},
                                    {DType::kF16, "F16"},
                                    {DType::kI8, "I8"},
                                    {DType::kI32, "I32"},
                                    {DType::kBool, "BOOL"}}) {
    const Array x = Array::full({2, 2}, 1.0, dtype);
    const ByteSpan values(static_cast<const std::uint8_t*>(x.raw_data()), x.size_bytes());
    const std::vector<SafetensorsTensor> tensors = {{"x", dtype, {2, 2}, values}};
    const Bytes file = write_safetensors(tensors, {});
    const auto view = parse_safetensors(file);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->entries[0].dtype, name);
    const Result<Array> back = to_array(view->entries[0]);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->dtype(), dtype);
    EXPECT_EQ(back->to(DType::kI64).to_vector<std::int64_t>(), std::vector<std::int64_t>(4, 1));
  }
  const Bytes two = {2};
  const auto hostile = to_array({"x", "BOOL", {1}, two});
  EXPECT_EQ(hostile.status().code(), Code::kCorrupt);
}

TEST(Safetensors, RoundTripKeepsNamesShapesTypesAndBits) {
  const Sample sample;
  const Bytes file = sample.write();
  const Result<SafetensorsView> view = parse_safetensors(file);
  ASSERT_TRUE(view.ok()) << view.status().message();
  ASSERT_EQ(view->entries.size(), 5U);
  EXPECT_EQ(view->metadata.at("key"), "value \x01 \"é\"");
  EXPECT_EQ(view->metadata.at("b"), "");
  const Result<Array> floats = to_array(*view->find("f"));
  ASSERT_TRUE(floats.ok());
  EXPECT_EQ(floats->shape(), (Shape{2, 3}));
  EXPECT_TRUE(std::ranges::equal(as_bytes(floats->flat<float>()),
                                 as_bytes(std::span<const float>(sample.floats))));
  EXPECT_EQ(to_array(*view->find("scalar \"quoted\" \n"))->item(), 1.5);
  EXPECT_EQ(to_array(*view->find("i"))->to_vector<std::int64_t>(), sample.integers);
  EXPECT_EQ(to_array(*view->find("none"))->shape(), (Shape{0, 4}));
  EXPECT_EQ(to_array(*view->find("u"))->to_vector<std::uint8_t>(), sample.bytes);
  EXPECT_EQ(view->find("missing"), nullptr);
}

TEST(Safetensors, HeaderEndsOnAMultipleOf64Bytes) {
  const Bytes file = Sample().write();
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), 8);
  EXPECT_EQ((header_bytes + 8) % 64, 0U);
}

TEST(Safetensors, FileCutAtAnyByteIsCorrupt) {
  const Bytes file = Sample().write();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    const Result<SafetensorsView> view = parse_safetensors(cut);
    ASSERT_FALSE(view.ok()) << size;
    ASSERT_EQ(view.status().code(), Code::kCorrupt);
  }
}

TEST(Safetensors, ReadsAFileOfAnotherWriter) {
  // Keys in another order, spaces, data not in the order of the header.
  const Bytes file = file_of(R"( )"
                             R"({"b":{"shape":[2],"data_offsets":[4,6],"dtype":"I16"})"
                             R"(,"a" : {"data_offsets":[0,4], "dtype":"F32","shape":[1]} }    )",
                             6);
  EXPECT_FALSE(parse_safetensors(file).ok()) << "a space before {";
  const Bytes good = file_of(R"({"b":{"shape":[1],"data_offsets":[4,6],"dtype":"I16"})"
                             R"(,"a" : {"data_offsets":[0,4], "dtype":"F32","shape":[1]} }    )",
                             6);
  const Result<SafetensorsView> view = parse_safetensors(good);
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->entries[0].name, "a");
  EXPECT_EQ(view->find("b")->values[0], 4);
  EXPECT_EQ(to_array(*view->find("b")).status().code(), Code::kInvalidArgument);
}

TEST(Safetensors, AFaultOfTheHeaderHasItsPlaceInTheFile) {
  // Seen when the value behind the key has been read: 8 bytes of length, then the text up to there.
  const std::string text = R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})";
  const std::size_t value = 8 + text.find("7,") + 2;
  EXPECT_THAT(refusal(text, 4), HasSubstr("before byte " + std::to_string(value) + " of the file"));
  EXPECT_THAT(refusal("{]", 0), HasSubstr("before byte 10 of the file"));
}

TEST(Safetensors, HeaderLengthBeyondFileOrLimitIsRefused) {
  const std::string text = "[run]\nsteps = 3\n";
  EXPECT_THAT(
      parse_safetensors(ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()))
          .status()
          .message(),
      HasSubstr("or of another kind"));
  Bytes file = file_of("{}", 0);
  EXPECT_TRUE(parse_safetensors(file).ok());
  file[7] = 0xFF;
  EXPECT_THAT(parse_safetensors(file).status().message(), HasSubstr("header of at most 2 bytes"));
  const std::string large(kSafetensorsHeaderBytesMax, ' ');
  EXPECT_THAT(refusal("{}" + large, 0), HasSubstr("header of at most"));
}

TEST(Safetensors, OffsetsThatOverlapOrLeaveGapsOrTheFileAreRefused) {
  const auto two = [](std::string_view second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],)"
           R"("data_offsets":)" +
           std::string(second) + "}}";
  };
  EXPECT_TRUE(parse_safetensors(file_of(two("[4,8]"), 8)).ok());
  EXPECT_THAT(refusal(two("[3,7]"), 8), HasSubstr("b: expected offsets from 4"));
  EXPECT_THAT(refusal(two("[0,4]"), 8), HasSubstr("expected offsets from 4"));
  EXPECT_THAT(refusal(two("[5,9]"), 9), HasSubstr("expected offsets from 4"));
  EXPECT_THAT(refusal(two("[4,8]"), 7), HasSubstr("to at most 7"));
  EXPECT_THAT(refusal(two("[4,8]"), 9), HasSubstr("expected 8 bytes of data, got 9"));
  EXPECT_THAT(refusal(two("[8,4]"), 8), HasSubstr("got [8, 4]"));
  EXPECT_THAT(refusal(two("[4,18446744073709551615]"), 8), HasSubstr("to at most 8"));
  EXPECT_THAT(refusal(two("[4,18446744073709551616]"), 8), HasSubstr("fraction"));
  EXPECT_THAT(refusal(two("[4]"), 8), HasSubstr("end of data_offsets"));
  EXPECT_THAT(refusal(two("[4,8,9]"), 8), HasSubstr("a number"));
  EXPECT_THAT(refusal(two("[-4,8]"), 8), HasSubstr("negative"));
  EXPECT_THAT(refusal(two("[4,8.0]"), 8), HasSubstr("fraction"));
}

TEST(Safetensors, ShapesThatDoNotFitTheBytesAreRefused) {
  const auto shaped = [](std::string_view shape) {
    return R"({"a":{"dtype":"F32","shape":)" + std::string(shape) + R"(,"data_offsets":[0,8]}})";
  };
  EXPECT_TRUE(parse_safetensors(file_of(shaped("[2,1]"), 8)).ok());
  EXPECT_THAT(refusal(shaped("[3]"), 8), HasSubstr("expected at most 8 bytes"));
  EXPECT_THAT(refusal(shaped("[1]"), 8), HasSubstr("expected 4 bytes for F32 [1], got 8"));
  EXPECT_THAT(refusal(shaped("[4294967296,4294967296]"), 8), HasSubstr("at most 8 bytes"));
  EXPECT_THAT(refusal(shaped("[0,18446744073709551615]"), 8), HasSubstr("expected at most"));
  EXPECT_THAT(refusal(shaped("[0]"), 8), HasSubstr("expected 0 bytes"));
  EXPECT_THAT(refusal(shaped("[1,1,1,1,1,1,1,1,1]"), 8), HasSubstr("dimensions"));
  EXPECT_THAT(refusal(shaped("[[2]]"), 8), HasSubstr("an array"));
}

TEST(Safetensors, HeadersOfAnotherStructureAreRefused) {
  const std::string good = R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1]})";
  EXPECT_TRUE(parse_safetensors(file_of("{" + good + "}", 1)).ok());
  EXPECT_THAT(refusal("{" + good + "," + good + "}", 1), HasSubstr("a name twice"));
  EXPECT_THAT(refusal("", 0), HasSubstr("expected { at offset 8"));
  EXPECT_THAT(refusal("[]", 0), HasSubstr("expected { at offset 8"));
  EXPECT_THAT(refusal("{} x", 0), HasSubstr("expected JSON"));
  EXPECT_THAT(refusal("{\"a\":1}", 0), HasSubstr("a number"));
  EXPECT_THAT(refusal("{\"a\":null}", 0), HasSubstr("null"));
  EXPECT_THAT(refusal("{\"a\":true}", 0), HasSubstr("true or false"));
  EXPECT_THAT(refusal("{\"a\":{}}", 0), HasSubstr("the end of a tensor"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U9","shape":[],"data_offsets":[0,1]}})", 1),
              HasSubstr("expected a known type"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","dtype":"U8"}})", 0), HasSubstr("a field twice"));
  EXPECT_THAT(refusal(R"({"a":{"strides":[]}})", 0), HasSubstr("an unknown field"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"k":1}})", 0), HasSubstr("a number"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"k":"1","k":"2"}})", 0), HasSubstr("a key twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"k":{"l":"m"}}})", 0), HasSubstr("an object"));
  EXPECT_THAT(refusal("{\"" + std::string(2000, 'n') + "\":{}}", 0), HasSubstr("too long"));
  EXPECT_THAT(refusal("{\"a\":\"\xFF\"}", 0), HasSubstr("expected JSON"));
}

TEST(Safetensors, DeepNestingIsRefusedAtOnce) {
  EXPECT_THAT(refusal("{\"a\":" + std::string(1000000, '['), 0), HasSubstr("an array"));
  std::string objects;
  for (int i = 0; i < 200000; ++i) objects += "{\"a\":";
  EXPECT_THAT(refusal(objects, 0), HasSubstr("an unknown field"));
}

TEST(Safetensors, MoreTensorsThanTheLimitAreRefused) {
  std::string header = "{";
  for (std::size_t i = 0; i <= kSafetensorsTensorsMax; ++i) {
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  EXPECT_THAT(refusal(header + "}", 0), HasSubstr("too many tensors"));
}

TEST(Safetensors, InvalidUtf8InNamesIsReplaced) {
  const std::vector<SafetensorsTensor> tensors = {{"a\xFF", DType::kU8, {0}, {}}};
  const Bytes file = write_safetensors(tensors, {});
  const Result<SafetensorsView> view = parse_safetensors(file);
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->entries[0].name, "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace weft::safetensors_test
