#include "weft/wire/branch_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::branch_message_test {
namespace {

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes.fill(number);
  return id;
}

Member member(std::uint8_t number) { return {peer(number), 7, {"10.0.0.1:7420"}}; }

ViewId view(std::uint64_t number) { return {ViewNumber(number), {3}}; }

StandingMessage standing() {
  StandingMessage out;
  out.current = {view(4), view(5), {}};
  out.current.value.members = {member(1)};
  out.current.value.lineage.points = {{{1}, view(4), 640}};
  out.round = Round(12);
  out.samples = 768;
  return out;
}

TEST(BranchMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(BranchMessage{view(4), 2, BranchStep::kPropose, {}, {}, {member(1), member(2)}});
  check_message(BranchMessage{view(4), 0, BranchStep::kFormer, {}, {}, {member(3)}});
  check_message(BranchMessage{view(4), 2, BranchStep::kAgree, Round(11), {}, {}});
  check_message(BranchMessage{view(4), 0, BranchStep::kHave, {}, {5}, {}});
  check_message(standing());
  StandingMessage offer = standing();
  offer.snapshot = Hash256{9};
  check_message(offer);
}

TEST(BranchMessage, RefusesEachFieldBeyondItsBound) {
  const auto head = [] { return Writer().view(view(4)).u64(2); };
  EXPECT_EQ(
      BranchMessage::decode(head().u8(5).u64(0).raw(Hash256{}).u32(0).take()).status().message(),
      "branch.step: expected 0 to 4");
  EXPECT_EQ(BranchMessage::decode(head().u8(0).u64(0).raw(Hash256{}).u32(kMembersMax + 1).take())
                .status()
                .message(),
            "branch.members: expected at most 256 entries, got 257");
  const auto standing_head = [] {
    return Writer().view(view(4)).view(view(5)).u64(0).u32(1).peer(peer(1)).u64(7).u32(0).u8(0).u32(
        0);
  };
  EXPECT_EQ(
      StandingMessage::decode(standing_head().u32(kBranchPointsMax + 1).take()).status().message(),
      "standing.lineage.points: expected at most 16 entries, got 17");
  EXPECT_EQ(StandingMessage::decode(standing_head().u32(0).u32(kAbsorbedMax + 1).take())
                .status()
                .message(),
            "standing.lineage.absorbed: expected at most 64 entries, got 65");
}

}  // namespace
}  // namespace weft::branch_message_test
