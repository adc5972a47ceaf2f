#include "weft/net/join_code.h"

#include <cctype>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace weft::join_code_test {
namespace {

constexpr const char* kExample = "k7q2m4-xd9fhj-2wpz8y";

template <class Array>
Array filled(std::uint8_t value) {
  Array out{};
  out.fill(value);
  return out;
}

TEST(JoinCode, ReadsBackAndIsTakenAsPeopleTypeIt) {
  const Result<JoinCode> code = parse_join_code(kExample);
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(format_join_code(*code), kExample);
  for (const char* typed :
       {"K7Q2M4-XD9FHJ-2WPZ8Y", "k7q2m4xd9fhj2wpz8y", " k7q2 m4xd 9fhj 2wpz 8y\n",
        "weft join k7q2m4-xd9fhj-2wpz8y", "weft\njoin\nk7q2m4-xd9fhj-2wpz8y",
        "\"k7q2m4-xd9fhj-2wpz8y\".", "`weft join k7q2m4\n  xd9fhj\n  2wpz8y`"}) {
    EXPECT_TRUE(looks_like_join_code(typed)) << typed;
    const Result<JoinCode> got = parse_join_code(typed);
    ASSERT_TRUE(got.ok()) << typed << ": " << got.status().message();
    EXPECT_EQ(*got, *code);
  }
}

TEST(JoinCode, LettersThatLookAlikeAreOne) {
  const Result<JoinCode> code = parse_join_code("012345-6789ab-cdefgc");
  ASSERT_TRUE(code.ok());
  for (const char* typed :
       {"o12345-6789ab-cdefgc", "Ol2345-6789ab-cdefgc", "0I2345-6789ab-cdefgc"}) {
    ASSERT_TRUE(parse_join_code(typed).ok()) << typed;
    EXPECT_EQ(*parse_join_code(typed), *code);
  }
}

TEST(JoinCode, OneWrongCharacterOrTwoExchangedAreNoticed) {
  const std::string plain = "k7q2m4xd9fhj2wpz8y";
  const std::string symbols = "0123456789abcdefghjkmnpqrstvwxyz";
  for (std::size_t at = 0; at < plain.size(); ++at) {
    for (const char other : symbols) {
      if (other == plain[at]) continue;
      std::string typo = plain;
      typo[at] = other;
      EXPECT_FALSE(parse_join_code(typo).ok()) << typo;
    }
    for (std::size_t with = at + 1; with < plain.size(); ++with) {
      if (plain[at] == plain[with]) continue;
      std::string typo = plain;
      std::swap(typo[at], typo[with]);
      EXPECT_FALSE(parse_join_code(typo).ok()) << typo;
    }
  }
}

TEST(JoinCode, SaysWhatIsWrong) {
  EXPECT_EQ(parse_join_code("k7q2m4-xd9fhj-2wpz8").status().message(),
            "code: expected 18 letters and digits, as in k7q2m4-xd9fhj-2wpz8y, got 17");
  EXPECT_EQ(parse_join_code("k7q2m4-xd9fhj-2wpz8u").status().message(),
            "code: no code has the character 'u'; read it again");
  EXPECT_EQ(parse_join_code("k7q2m4-xd9fhj-2wpz8\x1b").status().message(),
            "code: no code has the character '?'; read it again");
  EXPECT_EQ(parse_join_code("k7q2m4-xd9fhj-2wpz8x").status().message(),
            "code: a character is wrong or two are exchanged; read it again, letter by letter");
}

TEST(JoinCode, IsNotTakenForATicketNorATicketForIt) {
  EXPECT_FALSE(looks_like_join_code(""));
  EXPECT_FALSE(looks_like_join_code("nonsense"));
  EXPECT_FALSE(looks_like_join_code("weft2-aiaqcaibaeaq"));
  EXPECT_FALSE(looks_like_join_code("weft join weft2-aiaqcaibaeaq"));
  EXPECT_FALSE(looks_like_join_code("weft2-" + std::string(170, 'a')));
  EXPECT_FALSE(looks_like_join_code("k7q2m4-xd9fhj-2wpz8\x1b"));
  // One with a character too few or too many is told so.
  EXPECT_TRUE(looks_like_join_code("k7q2m4-xd9fhj-2wpz8"));
  EXPECT_TRUE(looks_like_join_code("k7q2m4-xd9fhj-2wpz8yy"));
}

// The values are those of Python's hashlib.pbkdf2_hmac and a check written anew.
TEST(JoinCode, IsTheBeginningOfASlowHashOfItsIssuersKey) {
  const auto key = filled<PublicKey>(3);
  const auto salt = filled<Hash256>(4);
  const JoinCode code = join_code_of(key, salt);
  EXPECT_EQ(format_join_code(code), "8yb9wb-jj4f1f-ymma6b");
  EXPECT_EQ(to_hex(join_code_key(code)),
            "ebecd4844ed568dc85c5d853a624eb662cc39d9d389cc384217df3ac3d878bb9");
  EXPECT_NE(join_code_of(filled<PublicKey>(5), salt), code);
  EXPECT_NE(join_code_of(key, filled<Hash256>(5)), code);
}

TEST(JoinCode, EachOneIssuedIsNew) {
  const auto key = filled<PublicKey>(3);
  const IssuedJoinCode first = issue_join_code(key);
  EXPECT_NE(first.code, issue_join_code(key).code);
  EXPECT_EQ(join_code_of(key, first.salt), first.code);
  EXPECT_EQ(join_code_key(first.code), first.key);
}

}  // namespace
}  // namespace weft::join_code_test
