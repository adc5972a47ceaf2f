#include "weft/wire/stun_message.h"

#include <string>

#include <gtest/gtest.h>

namespace weft::stun_message_test {
namespace {

Bytes bytes_of(const std::string& hex) { return from_hex(hex).value(); }

// The sample answers of RFC 5769, sections 2.2 and 2.3, up to their attributes of authentication.
const std::string kTransaction = "b7e7a701bc34d686fa87dfae";
const std::string kSoftware = "8022000b7465737420766563746f7220";
const std::string kV4 = "0101001c2112a442" + kTransaction + kSoftware + "002000080001a147e112a643";
const std::string kV6 = "010100282112a442" + kTransaction + kSoftware +
                        "002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9";

TEST(StunMessage, ReadsTheSampleAnswersOfTheStandard) {
  const Result<StunReply> v4 = StunReply::decode(bytes_of(kV4));
  ASSERT_TRUE(v4.ok()) << v4.status().to_string();
  EXPECT_EQ(to_hex(v4->transaction), kTransaction);
  EXPECT_EQ(to_hex(v4->address), "c0000201");
  EXPECT_EQ(v4->port, 32853);
  const Result<StunReply> v6 = StunReply::decode(bytes_of(kV6));
  ASSERT_TRUE(v6.ok()) << v6.status().to_string();
  EXPECT_EQ(to_hex(v6->address), "20010db8123456780011223344556677");
  EXPECT_EQ(v6->port, 32853);
}

TEST(StunMessage, ReadsAPlainAddressFromOldServers) {
  const Result<StunReply> got =
      StunReply::decode(bytes_of("0101000c2112a442" + kTransaction + "000100080001005002030405"));
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(to_hex(got->address), "02030405");
  EXPECT_EQ(got->port, 80);
}

TEST(StunMessage, RefusesEveryPrefixAndEveryWrongLength) {
  const Bytes whole = bytes_of(kV6);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(StunReply::decode(ByteSpan(whole).first(size)).ok()) << size;
  }
  for (std::size_t at = 0; at < 8; ++at) {
    Bytes altered = whole;
    altered[at] ^= 0xffU;
    EXPECT_FALSE(StunReply::decode(altered).ok()) << at;
  }
  Bytes longer_attribute = whole;
  longer_attribute[22] = 0xff;
  EXPECT_FALSE(StunReply::decode(longer_attribute).ok());
}

TEST(StunMessage, ARequestIsAHeadWithItsTransaction) {
  StunRequest request;
  for (std::size_t i = 0; i < request.transaction.size(); ++i) {
    request.transaction[i] = static_cast<std::uint8_t>(i);
  }
  EXPECT_EQ(to_hex(request.encode()), "000100002112a442000102030405060708090a0b");
  EXPECT_FALSE(StunReply::decode(request.encode()).ok());
}

}  // namespace
}  // namespace weft::stun_message_test
