#include "weft/net/code_discovery.h"

#include <string>

#include <gtest/gtest.h>

#include "weft/net/discovery.h"
#include "weft/net/identity/sealed.h"
#include "weft/wire/codec.h"

namespace weft::code_discovery_test {
namespace {

constexpr std::int64_t kNow = 1'900'000'000;
constexpr const char* kTicketLine = "weft2-aaaa";

TimePoint at(double seconds) { return TimePoint() + std::chrono::hours(1) + from_seconds(seconds); }

DiscoveryNonce nonce(int number) {
  DiscoveryNonce out{};
  out[0] = static_cast<std::uint8_t>(number);
  out[1] = static_cast<std::uint8_t>(number >> 8);
  return out;
}

// A member and a code of it, made once: codes are slow on purpose.
struct Issuer {
  PeerIdentity identity = PeerIdentity::generate();
  IssuedJoinCode issued = issue_join_code(identity.public_key());

  OfferedCode offered() const { return {issued.key, issued.salt, kTicketLine, kNow + 3600}; }
};
const Issuer& issuer() {
  static const Issuer made;
  return made;
}

class CodeDiscoveryTest : public ::testing::Test {
 protected:
  CodeDiscoveryTest() {
    DiscoveryCard card;
    card.run.fill(1);
    card.name = "digits";
    card.endpoints = {"192.0.2.1:7420"};
    responder.set_card(card);
    responder.set_codes({issuer().offered()});
  }
  std::optional<Bytes> answer(const Bytes& query, TimePoint now = at(1), std::int64_t unix = kNow) {
    return responder.answer("192.0.2.9", query, now, unix);
  }

  DiscoveryResponder responder{issuer().identity};
  CodeSearch search{issuer().issued.code};
};

TEST_F(CodeDiscoveryTest, TheHolderOfACodeGetsTheTicket) {
  const auto bytes = answer(search.query(nonce(1)));
  ASSERT_TRUE(bytes.has_value());
  EXPECT_LE(bytes->size(), kDiscoveryQueryBytes);
  const Result<std::string> ticket = search.on_datagram(*bytes);
  ASSERT_TRUE(ticket.ok()) << ticket.status().message();
  EXPECT_EQ(*ticket, kTicketLine);
  // Nothing of it can be read on the way.
  EXPECT_EQ(to_text(*bytes).find(kTicketLine), std::string::npos);
}

TEST_F(CodeDiscoveryTest, AnotherCodeIsNotAnswered) {
  JoinCode other = issuer().issued.code;
  other.symbols[16] ^= 1U;
  CodeSearch guess(other);
  EXPECT_FALSE(answer(guess.query(nonce(1))).has_value());
  // Nor is what the code's tag was in another query.
  const DiscoveryQuery moved{nonce(2), code_query_tag(issuer().issued.key, nonce(1)), {}};
  EXPECT_FALSE(answer(moved.encode()).has_value());
}

TEST_F(CodeDiscoveryTest, QueriesOfOneCodeHaveNothingInCommon) {
  const auto tag = [&](int number) {
    return DiscoveryQuery::decode(search.query(nonce(number)))->tag;
  };
  EXPECT_NE(tag(1), tag(2));
}

TEST_F(CodeDiscoveryTest, WhoRepeatsAQueryGetsWhatOnlyTheCodeOpens) {
  const Bytes overheard = search.query(nonce(1));
  const auto first = answer(overheard);
  const auto second = answer(overheard);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  JoinCode other = issuer().issued.code;
  other.symbols[0] ^= 1U;
  CodeSearch stranger(other);
  static_cast<void>(stranger.query(nonce(1)));
  EXPECT_EQ(stranger.on_datagram(*first).status().message(),
            "code: the sender does not know the code");
}

TEST_F(CodeDiscoveryTest, AnAnswerIsOfOneQuery) {
  const auto old = answer(search.query(nonce(1)));
  ASSERT_TRUE(old.has_value());
  CodeSearch later(issuer().issued.code);
  static_cast<void>(later.query(nonce(2)));
  EXPECT_EQ(later.on_datagram(*old).status().message(), "code: the answer is to no query of ours");
  // Under the nonce of another query it does not open.
  CodeAnswer moved = *CodeAnswer::decode(*old);
  moved.nonce = nonce(2);
  EXPECT_FALSE(later.on_datagram(moved.encode()).ok());
}

TEST_F(CodeDiscoveryTest, NoByteOfAnAnswerCanBeAltered) {
  const auto bytes = answer(search.query(nonce(1)));
  ASSERT_TRUE(bytes.has_value());
  for (std::size_t i = 0; i < bytes->size(); ++i) {
    Bytes altered = *bytes;
    altered[i] ^= 1U;
    EXPECT_FALSE(search.on_datagram(altered).ok()) << "byte " << i;
  }
  EXPECT_TRUE(search.on_datagram(*bytes).ok());
}

TEST_F(CodeDiscoveryTest, OthersWhoWereToldTheCodeCannotAnswerForItsIssuer) {
  const PeerIdentity liar = PeerIdentity::generate();
  static_cast<void>(search.query(nonce(1)));
  // With a key of its own, whatever the salt.
  OfferedCode forged = issuer().offered();
  forged.ticket = "weft2-bbbb";
  const auto own = answer_to_code(liar, forged, nonce(1));
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(search.on_datagram(*own).status().message(), "code: the sender did not issue it");
  // With the issuer's key and salt, which an answer has shown to it, it cannot sign.
  CodeTicket inside;
  inside.key = issuer().identity.public_key();
  inside.salt = forged.salt;
  inside.ticket = forged.ticket;
  inside.signature = liar.sign(
      Writer().text("weft code ticket").raw(nonce(1)).bytes(inside.signed_part()).written());
  const Hash256 key =
      hmac_sha256(issuer().issued.key, Writer().text("weft code answer").raw(nonce(1)).written());
  const CodeAnswer stolen{nonce(1), seal(key, nonce(1), inside.encode())};
  EXPECT_EQ(search.on_datagram(stolen.encode()).status().message(),
            "code: the signature is not its sender's");
}

TEST_F(CodeDiscoveryTest, ACodeEndsWithItsTicketAndWithTheMembership) {
  const Bytes query = search.query(nonce(1));
  EXPECT_TRUE(answer(query, at(1), kNow + 3599).has_value());
  EXPECT_FALSE(answer(query, at(2), kNow + 3600).has_value());
  responder.set_codes({});
  EXPECT_FALSE(answer(query, at(3)).has_value());
  responder.set_codes({issuer().offered()});
  responder.set_card(std::nullopt);
  EXPECT_FALSE(answer(query, at(4)).has_value());
}

TEST_F(CodeDiscoveryTest, AskersAreHeldToTheSameRates) {
  int answered = 0;
  for (int i = 0; i < 100; ++i) answered += answer(search.query(nonce(i)), at(0)) ? 1 : 0;
  EXPECT_EQ(answered, 6);
}

TEST_F(CodeDiscoveryTest, OnlySoManyCodesAreAnsweredToAndNoTicketTooLongForAQuery) {
  std::vector<OfferedCode> many(kOfferedCodesMax, OfferedCode{{7}, {8}, "x", kNow + 3600});
  many.push_back(issuer().offered());
  responder.set_codes(many);
  EXPECT_FALSE(answer(search.query(nonce(1))).has_value());
  OfferedCode longest = issuer().offered();
  longest.ticket = std::string(kCodeTicketBytesMax, 'a');
  responder.set_codes({longest});
  const auto bytes = answer(search.query(nonce(2)), at(2));
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->size(), kDiscoveryQueryBytes);
  EXPECT_EQ(*search.on_datagram(*bytes), longest.ticket);
  longest.ticket += 'a';
  responder.set_codes({longest});
  EXPECT_FALSE(answer(search.query(nonce(3)), at(3)).has_value());
}

TEST_F(CodeDiscoveryTest, NoiseAndFloodsAreOutlived) {
  static_cast<void>(search.query(nonce(1)));
  for (std::size_t size = 0; size <= kDiscoveryQueryBytes + 1; size += 41) {
    EXPECT_FALSE(search.on_datagram(Bytes(size, 0x5a)).ok());
  }
  // Few of those who know the code are looked at, as each costs a slow hash.
  CodeSearch flooded(issuer().issued.code);
  static_cast<void>(flooded.query(nonce(1)));
  OfferedCode forged = issuer().offered();
  forged.salt[0] ^= 1U;
  const auto lie = answer_to_code(issuer().identity, forged, nonce(1));
  int looked_at = 0;
  for (int i = 0; i < 40; ++i) {
    const Status status = flooded.on_datagram(*lie).status();
    looked_at += status.code() == Code::kCorrupt ? 1 : 0;
  }
  EXPECT_EQ(looked_at, 16);
  int counted = 0;
  for (int i = 0; i < 3000; ++i) {
    counted += flooded.on_datagram(Bytes(1)).status().code() == Code::kCorrupt ? 1 : 0;
  }
  EXPECT_EQ(counted, 2048 - 40);
}

}  // namespace
}  // namespace weft::code_discovery_test
