#include "weft/wire/mix_message.h"

#include <cmath>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "weft/wire/core/message_checks.h"

namespace weft::mix_message_test {
namespace {

TEST(MixMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(MixGivenMessage{{2, 4'000'000, 3}, 7, 20});
  check_message(MixGivenMessage{{0, 1, 0}, 0, 0});
  check_message(MixReturnedMessage{{1, kMixPieceBytes, 0}, 9, 5, 1.5, 230.25, 17, 32, 32});
}

TEST(MixMessage, TheOthersSurviveARoundTrip) {
  check_message(MixReceivedMessage{7});
  check_message(MixHistoryMessage{3, 1'000'000'000'000, kMixDistanceMax});
  EXPECT_EQ(MixHistoryMessage{}.encode().size(), kMixHistoryBytes);
  for (const std::uint32_t distance : {0U, kMixDistanceMax + 1}) {
    const Bytes odd = MixHistoryMessage{3, 9, distance}.encode();
    EXPECT_EQ(MixHistoryMessage::decode(odd).status().code(), Code::kCorrupt) << distance;
  }
  MixRosterMessage roster;
  roster.members = {{PeerId{{1}}, {"10.0.0.1:7420", "host:7421"}}, {PeerId{{2}}, {}}};
  check_message(roster);
  EXPECT_EQ(MixRosterMessage::decode(roster.encode())->members, roster.members);
  EXPECT_TRUE(MixLeavingMessage::decode({}).ok());
  EXPECT_EQ(MixLeavingMessage::decode(Bytes(1)).status().code(), Code::kCorrupt);
}

TEST(MixMessage, ARosterNamesSomebodyAndNobodyTwice) {
  EXPECT_EQ(MixRosterMessage::decode(MixRosterMessage{}.encode()).status().code(), Code::kCorrupt);
  MixRosterMessage twice;
  twice.members = {{PeerId{{1}}, {}}, {PeerId{{1}}, {}}};
  EXPECT_EQ(MixRosterMessage::decode(twice.encode()).status().code(), Code::kCorrupt);
  MixRosterMessage many;
  for (std::uint32_t i = 0; i <= kMixMembersMax; ++i) {
    PeerId id;
    id.bytes[0] = static_cast<std::uint8_t>(i);
    id.bytes[1] = static_cast<std::uint8_t>(i >> 8U);
    many.members.push_back({id, {}});
  }
  EXPECT_EQ(MixRosterMessage::decode(many.encode()).status().code(), Code::kCorrupt);
  many.members.pop_back();
  for (MixRosterMessage::Member& member : many.members) {
    member.endpoints.assign(4, std::string(94, 'a') + ":1");
  }
  EXPECT_LE(many.encode().size(), std::size_t{256} * 1024);
}

TEST(MixMessage, ALossNeedNotBeANumber) {
  for (const double loss : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const MixReturnedMessage message{{0, 5, 0}, 9, 5, 1.5, loss, 17, 32, 32};
    const auto again = MixReturnedMessage::decode(message.encode());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(std::isnan(again->loss), std::isnan(loss));
  }
}

TEST(MixMessage, AFieldBeyondItsBoundIsCorrupt) {
  for (const auto& [bytes, piece] : {std::pair{std::uint64_t{0}, 0U},
                                     {kMixBytesMax + 1, 0U},
                                     {kMixPieceBytes, 1U},
                                     {std::uint64_t{1}, 9U}}) {
    const MixGivenMessage given{{0, bytes, piece}, 7, 20};
    EXPECT_EQ(MixGivenMessage::decode(given.encode()).status().code(), Code::kCorrupt);
    const MixReturnedMessage returned{{0, bytes, piece}, 7, 20, 1, 1, 1, 1, 1};
    EXPECT_EQ(MixReturnedMessage::decode(returned.encode()).status().code(), Code::kCorrupt);
  }
  const MixGivenMessage steps{{0, 5, 0}, 7, kMixStepsMax + 1};
  EXPECT_EQ(MixGivenMessage::decode(steps.encode()).status().code(), Code::kCorrupt);
  for (int field = 0; field < 4; ++field) {
    MixReturnedMessage wrong{{0, 5, 0}, 9, 5, 1, 1, 1, 1, 1};
    double* const fields[] = {&wrong.seconds, &wrong.correct, &wrong.samples, &wrong.labels};
    for (const double value : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      *fields[field] = value;
      EXPECT_EQ(MixReturnedMessage::decode(wrong.encode()).status().code(), Code::kCorrupt);
    }
  }
}

TEST(MixMessage, PiecesOfAVectorAddUpToIt) {
  const MixPiece first{0, kMixPieceBytes + 5, 0};
  const MixPiece second{0, kMixPieceBytes + 5, 1};
  EXPECT_EQ(first.pieces(), 2U);
  EXPECT_EQ(first.size() + second.size(), first.bytes);
  EXPECT_EQ(second.begin(), kMixPieceBytes);
}

}  // namespace
}  // namespace weft::mix_message_test
