#include "weft/sim/liar/liar.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sim::liar_test {
namespace {

Liar made(const char* text, std::uint64_t seed) { return {*Attack::parse(text), seed}; }

}  // namespace

TEST(Liar, SendsWhatItsAttackHas) {
  Liar liar = made("sign_flip:scale=4", 1);
  EXPECT_THAT(liar.forge(std::vector<float>{1, -2, 0.5F}), testing::ElementsAre(-4, 8, -2));
  EXPECT_THAT(liar.forge({}), testing::IsEmpty());
}

TEST(Liar, RemembersTheRoundsBefore) {
  Liar liar = made("stale:age=1", 1);
  liar.forge(std::vector<float>{1, 2});
  EXPECT_THAT(liar.forge(std::vector<float>{3, 4}), testing::ElementsAre(1, 2));
  EXPECT_THAT(liar.forge(std::vector<float>{5, 6}), testing::ElementsAre(3, 4));
}

TEST(Liar, DrawsBySeedAndRound) {
  const std::vector<float> own(8, 1.0F);
  Liar first = made("gaussian", 1);
  Liar again = made("gaussian", 1);
  Liar other = made("gaussian", 2);
  const std::vector<float> drawn = first.forge(own);
  EXPECT_EQ(again.forge(own), drawn);
  EXPECT_NE(other.forge(own), drawn);
  EXPECT_NE(first.forge(own), drawn);
}

TEST(Liar, TheLastOfTheFirstPeersLie) {
  const LiarOptions options = *parse_liars("sign_flip", 2, 5);
  std::vector<bool> lie;
  for (std::size_t i = 0; i < 7; ++i) lie.push_back(liar_of(options, 5, i, 1).has_value());
  EXPECT_THAT(lie, testing::ElementsAre(false, false, false, true, true, false, false));
  EXPECT_FALSE(liar_of({}, 5, 4, 1).has_value());
  // What is false are their samples; what they send is what comes of these.
  const LiarOptions data = *parse_liars("label_flip", 2, 5);
  EXPECT_TRUE(data.lies(5, 4));
  EXPECT_FALSE(liar_of(data, 5, 4, 1).has_value());
}

TEST(Liar, SaysWhatIsWrongWithTheNumbers) {
  const auto wrong = [](const std::string& attack, int count) {
    return parse_liars(attack, count, 4).status().message();
  };
  EXPECT_THAT(wrong("", 2), testing::HasSubstr("expected --attack with it"));
  EXPECT_THAT(wrong("alie", 0), testing::HasSubstr("expected 1 to 3 liars of 4 peers"));
  EXPECT_THAT(wrong("alie", 4), testing::HasSubstr("got 4"));
  EXPECT_THAT(wrong("aile", 1), testing::HasSubstr("alie"));
  EXPECT_THAT(wrong("aile", 1), testing::HasSubstr("or one of backdoor, label_flip, label_swap"));
  EXPECT_THAT(wrong("label_swap:of=1", 1), testing::HasSubstr("from=NUMBER or to=NUMBER"));
}

}  // namespace weft::sim::liar_test
