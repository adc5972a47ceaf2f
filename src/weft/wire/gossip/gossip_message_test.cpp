#include "weft/wire/gossip_message.h"

#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "weft/wire/core/message_checks.h"

namespace weft::gossip_message_test {
namespace {

MemberRecord full_record() {
  MemberRecord record;
  record.key = {1, 2, 3};
  record.standing = {7, true, {"10.0.0.1:7420", "[::1]:7420"}, RecordSignature{5}};
  record.presence = {Round(41), RecordSignature{6}};
  return record;
}

TEST(GossipMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(GossipBookMessage{});
  check_message(GossipBookMessage{{full_record(), MemberRecord{}}});
  check_message(GossipParametersHead{Round(9), 4, true, false, 1'000'000, 3});
  check_message(GossipParametersHead{Round(0), 0, false, true, 1, 0});
  check_message(GossipAbsentMessage{Round(12)});
  check_message(GossipParametersRequestMessage{3});
  check_message(GossipWelcomeMessage{Hash256{4}});
}

TEST(GossipMessage, AFieldBeyondItsBoundIsCorrupt) {
  GossipBookMessage many;
  many.records.assign(kBookMessageRecordsMax + 1, MemberRecord{});
  EXPECT_EQ(GossipBookMessage::decode(many.encode()).status().code(), Code::kCorrupt);
  GossipBookMessage endpoints{{full_record()}};
  endpoints.records[0].standing.endpoints.assign(kRecordEndpointsMax + 1, "a:1");
  EXPECT_EQ(GossipBookMessage::decode(endpoints.encode()).status().code(), Code::kCorrupt);
  endpoints.records[0].standing.endpoints = {std::string(kRecordEndpointBytesMax + 1, 'a')};
  EXPECT_EQ(GossipBookMessage::decode(endpoints.encode()).status().code(), Code::kCorrupt);
  const GossipParametersHead good{Round(9), 4, true, false, kGossipPieceElements + 1, 1};
  EXPECT_TRUE(GossipParametersHead::decode(good.encode()).ok());
  for (const auto& [degree, elements, piece] :
       {std::tuple{kGossipDegreeMax + 1, std::uint64_t{5}, 0U},
        {4U, std::uint64_t{0}, 0U},
        {4U, kGossipElementsMax + 1, 0U},
        {4U, kGossipPieceElements, 1U}}) {
    const GossipParametersHead head{Round(9), degree, true, false, elements, piece};
    EXPECT_EQ(GossipParametersHead::decode(head.encode()).status().code(), Code::kCorrupt);
  }
}

TEST(GossipMessage, PiecesOfAVectorAddUpToIt) {
  const GossipParametersHead first{Round(1), 2, true, false, kGossipPieceElements + 5, 0};
  GossipParametersHead second = first;
  second.piece = 1;
  EXPECT_EQ(first.pieces(), 2U);
  EXPECT_EQ(first.piece_bytes() + second.piece_bytes(), first.elements * sizeof(float));
  EXPECT_EQ(second.piece_bytes(), 20U);
}

TEST(GossipMessage, ASignatureCoversEachFieldAndTheRun) {
  const MemberRecord record = full_record();
  const RunId run{9};
  const Bytes standing = signed_standing(run, record.standing);
  MemberStanding other = record.standing;
  other.signature = {};
  EXPECT_EQ(signed_standing(run, other), standing);
  other.counter += 1;
  EXPECT_NE(signed_standing(run, other), standing);
  other = record.standing;
  other.left = false;
  EXPECT_NE(signed_standing(run, other), standing);
  other = record.standing;
  other.endpoints.pop_back();
  EXPECT_NE(signed_standing(run, other), standing);
  EXPECT_NE(signed_standing(RunId{8}, record.standing), standing);
  const Bytes presence = signed_presence(run, record.presence);
  EXPECT_NE(signed_presence(run, {Round(42), {}}), presence);
  EXPECT_NE(signed_presence(RunId{8}, record.presence), presence);
  EXPECT_NE(presence, standing);
}

}  // namespace
}  // namespace weft::gossip_message_test
