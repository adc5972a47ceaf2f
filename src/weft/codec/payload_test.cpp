#include "weft/codec/payload.h"

#include <gtest/gtest.h>

namespace weft::payload_test {
namespace {

constexpr PayloadLimits kLimits = {.codec = 0xabcdef01, .elements = 1000, .length_bytes_max = 99};

Bytes head_bytes(const PayloadHead& head) {
  Bytes out;
  write_payload_head(head, out);
  return out;
}

TEST(Payload, HeadsComeBack) {
  const PayloadHead head = {ElementType::kF32, 0xabcdef01, 1000, 99};
  const Bytes bytes = head_bytes(head);
  EXPECT_EQ(bytes.size(), kPayloadHeadBytes);
  const Result<PayloadHead> read = read_payload_head(bytes, kLimits);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, head);
}

TEST(Payload, RefusesWhatIsCutOffOrBeyondTheLimits) {
  const PayloadHead good = {ElementType::kF32, 0xabcdef01, 1000, 99};
  const Bytes bytes = head_bytes(good);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(read_payload_head(ByteSpan(bytes).first(length), kLimits).status().code(),
              Code::kCorrupt);
  }
  const auto code = [](const PayloadHead& head) {
    return read_payload_head(head_bytes(head), kLimits).status().code();
  };
  EXPECT_EQ(code({static_cast<ElementType>(1), 0xabcdef01, 1000, 99}), Code::kCorrupt);
  EXPECT_EQ(code({ElementType::kF32, 0xabcdef02, 1000, 99}), Code::kCorrupt);
  EXPECT_EQ(code({ElementType::kF32, 0xabcdef01, 1001, 99}), Code::kCorrupt);
  EXPECT_EQ(code({ElementType::kF32, 0xabcdef01, 1000, 100}), Code::kCorrupt);
  EXPECT_EQ(code({ElementType::kF32, 0xabcdef01, 1000, ~std::uint64_t{0}}), Code::kCorrupt);
  EXPECT_EQ(code({ElementType::kF32, 0xabcdef01, 1000, 0}), Code::kOk);
}

}  // namespace
}  // namespace weft::payload_test
