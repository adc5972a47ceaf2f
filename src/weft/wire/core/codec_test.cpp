#include "weft/wire/codec.h"

#include <limits>

#include <gtest/gtest.h>

namespace weft::codec_test {
namespace {

Bytes sample() {
  PeerId peer;
  peer.bytes[0] = 0xb8;
  return Writer()
      .u8(1)
      .u16(0x0203)
      .u32(0x04050607)
      .u64(0x08090a0b0c0d0e0f)
      .f64(-1.5)
      .bytes(as_bytes(std::string_view("xyz")))
      .peer(peer)
      .view({ViewNumber(9), {}})
      .round(Round(5))
      .take();
}

Status read_sample(ByteSpan bytes) {
  Reader reader("sample", bytes);
  EXPECT_LE(reader.u8("a"), 1);
  reader.u16("b");
  reader.u32("c");
  reader.u64("d");
  reader.f64("e");
  reader.text("f", 3);
  reader.peer("g");
  reader.view("h");
  reader.round("i");
  return reader.finish();
}

TEST(Codec, ReadsWhatWasWritten) {
  const Bytes bytes = sample();
  Reader reader("sample", bytes);
  EXPECT_EQ(reader.u8("a"), 1);
  EXPECT_EQ(reader.u16("b"), 0x0203);
  EXPECT_EQ(reader.u32("c"), 0x04050607U);
  EXPECT_EQ(reader.u64("d"), 0x08090a0b0c0d0e0fU);
  EXPECT_EQ(reader.f64("e"), -1.5);
  EXPECT_EQ(reader.text("f", 3), "xyz");
  EXPECT_EQ(reader.peer("g").bytes[0], 0xb8);
  EXPECT_EQ(reader.view("h").number, ViewNumber(9));
  EXPECT_EQ(reader.round("i"), Round(5));
  EXPECT_TRUE(reader.finish().ok());
}

TEST(Codec, TruncationAtEachByteIsCorrupt) {
  const Bytes bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(read_sample(ByteSpan(bytes).first(size)).code(), Code::kCorrupt) << size;
  }
  EXPECT_TRUE(read_sample(bytes).ok());
}

TEST(Codec, NamesTheFieldThatIsTooLong) {
  const Bytes bytes = Writer().text("four").take();
  Reader reader("hello", bytes);
  EXPECT_EQ(reader.text("name", 3), "");
  EXPECT_EQ(reader.finish().message(), "hello.name: expected at most 3 bytes, got 4");
}

TEST(Codec, RefusesBytesLeftOverAndValuesOutOfRange) {
  const Bytes two = Writer().u8(2).u8(0).take();
  Reader reader("m", two);
  EXPECT_FALSE(reader.boolean("flag"));
  EXPECT_EQ(reader.finish().message(), "m.flag: expected 0 or 1, got 2");
  Reader longer("m", two);
  longer.u8("flag");
  EXPECT_EQ(longer.finish().message(), "m: expected its end, got 1 bytes more");
  const Bytes nan = Writer().f64(std::numeric_limits<double>::quiet_NaN()).take();
  Reader bad("m", nan);
  EXPECT_EQ(bad.f64("x"), 0);
  EXPECT_FALSE(bad.finish().ok());
}

TEST(PeerId, ShowsEightCharacters) {
  PeerId id;
  id.bytes.fill(0xff);
  EXPECT_EQ(id.short_name(), "77777777");
  EXPECT_EQ(id.to_string().size(), 64U);
}

}  // namespace
}  // namespace weft::codec_test
