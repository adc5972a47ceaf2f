// Golden bytes are those of protobuf's documentation ("Encoding") and of google.protobuf 4.21 for
// the same messages.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/io/protobuf_reader.h"
#include "weft/io/protobuf_writer.h"

namespace weft::protobuf_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Bytes hex(std::string_view text) { return from_hex(text).value(); }

ProtobufField first_field(const Bytes& bytes) { return ProtobufReader(bytes).next().value(); }

std::string fault_of(std::string_view text) {
  const Bytes bytes = hex(text);
  ProtobufReader reader(bytes);
  while (!reader.done()) {
    const Result<ProtobufField> field = reader.next();
    if (!field.ok()) {
      EXPECT_EQ(field.status().code(), Code::kCorrupt);
      return field.status().message();
    }
  }
  return "none";
}

TEST(ProtobufWriter, WritesTheDocumentedExamples) {
  ProtobufWriter number;
  number.integer(1, 150);
  EXPECT_EQ(to_hex(number.written()), "089601");
  ProtobufWriter text;
  text.text(2, "testing");
  EXPECT_EQ(to_hex(text.written()), "120774657374696e67");
  ProtobufWriter inner;
  inner.message(3, number);
  EXPECT_EQ(to_hex(inner.written()), "1a03089601");
  ProtobufWriter packed;
  packed.packed_integers(6, std::vector<std::int64_t>{3, 270, 86942});
  EXPECT_EQ(to_hex(packed.written()), "3206038e029ea705");
  ProtobufWriter negative;
  negative.integer(1, -1);
  EXPECT_EQ(to_hex(negative.written()), "08ffffffffffffffffff01");
  ProtobufWriter reals;
  reals.float32(2, 1.5F);
  reals.float64(1, -2.0);
  EXPECT_EQ(to_hex(reals.written()), "150000c03f0900000000000000c0");
}

TEST(ProtobufReader, GivesBackWhatWasWritten) {
  ProtobufWriter writer;
  writer.integer(1, std::numeric_limits<std::int64_t>::min());
  writer.float32(2, 0.25F);
  writer.float64(3, 1e300);
  writer.text(536870911, "end");
  ProtobufReader reader(writer.written());
  EXPECT_EQ(reader.next()->integer().value(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(reader.next()->float32().value(), 0.25F);
  EXPECT_EQ(reader.next()->float64().value(), 1e300);
  const ProtobufField last = reader.next().value();
  EXPECT_EQ(last.number, 536870911U);
  EXPECT_EQ(last.text(3).value(), "end");
  EXPECT_THAT(last.text(2).status().message(), HasSubstr("at most 2 bytes, got 3 bytes"));
  EXPECT_TRUE(reader.done());
}

TEST(ProtobufReader, ReadsRepeatedNumbersPackedOrOneByOne) {
  std::vector<std::int64_t> integers;
  const Bytes packed = hex("3206038e029ea705");
  ASSERT_TRUE(first_field(packed).append_integers(integers).ok());
  const Bytes single = hex("3007");
  ASSERT_TRUE(first_field(single).append_integers(integers).ok());
  EXPECT_THAT(integers, ElementsAre(3, 270, 86942, 7));
  std::vector<float> floats;
  const Bytes two = hex("0a080000c03f00000040");
  ASSERT_TRUE(first_field(two).append_floats(floats).ok());
  const Bytes one = hex("0d0000803f");
  ASSERT_TRUE(first_field(one).append_floats(floats).ok());
  EXPECT_THAT(floats, ElementsAre(1.5F, 2.0F, 1.0F));
  std::vector<double> doubles;
  const Bytes wrong = hex("0a080000c03f00000040");
  ASSERT_TRUE(first_field(wrong).append_doubles(doubles).ok());
  EXPECT_EQ(doubles.size(), 1U);
}

TEST(ProtobufReader, RefusesWhatIsNoMessageAndNamesTheByte) {
  EXPECT_EQ(fault_of(""), "none");
  EXPECT_THAT(fault_of("80"), HasSubstr("byte 0: expected a varint, got the end"));
  EXPECT_THAT(fault_of("089601"
                       "0a05616263"),
              HasSubstr("byte 3: expected field 1 of at most 3"));
  EXPECT_THAT(fault_of("00"), HasSubstr("expected a field number of 1 to 2^29 - 1, got 0"));
  EXPECT_THAT(fault_of("0b"), HasSubstr("wire type 0, 1, 2 or 5, got 3"));
  EXPECT_THAT(fault_of("0e"), HasSubstr("got 6"));
  EXPECT_THAT(fault_of("0d000000"), HasSubstr("byte 1: expected 4 bytes, got 3"));
  EXPECT_THAT(fault_of("0900"), HasSubstr("byte 1: expected 8 bytes, got 1"));
  EXPECT_THAT(fault_of("08ffffffffffffffffff02"), HasSubstr("at most 64 bits"));
  EXPECT_THAT(fault_of("0affffffffffffffffff01"), HasSubstr("at most 0 bytes"));
}

TEST(ProtobufReader, RefusesAFieldOfAnotherType) {
  const Bytes bytes = hex("089601");
  const ProtobufField field = first_field(bytes);
  EXPECT_THAT(field.text(10).status().message(),
              HasSubstr("byte 1: expected field 1 as bytes with a length, got a varint"));
  EXPECT_FALSE(field.float32().ok());
  EXPECT_FALSE(field.float64().ok());
  const Bytes odd = hex("0a03000000");
  std::vector<float> floats;
  EXPECT_THAT(first_field(odd).append_floats(floats).message(), HasSubstr("got 3 bytes"));
}

TEST(ProtobufReader, CountsBytesOfInnerMessagesFromTheOutermost) {
  const Bytes bytes =
      hex("089601"
          "1a020980");
  ProtobufReader outer(bytes);
  ASSERT_TRUE(outer.next().ok());
  const ProtobufField inner = outer.next().value();
  ProtobufReader reader(inner.bytes, inner.offset);
  EXPECT_THAT(reader.next().status().message(), HasSubstr("byte 6"));
}

}  // namespace
}  // namespace weft::protobuf_test
