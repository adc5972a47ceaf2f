#include "weft/wire/collective_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::collective_message_test {
namespace {

CollectiveId id() {
  CollectiveId out;
  out.view.number = ViewNumber(3);
  out.view.hash.fill(4);
  out.round = Round(12);
  return out;
}

ExchangeId exchange() { return {id().view, id().round, 2}; }

Writer head() {
  Writer out;
  out.view(id().view).round(id().round);
  return out;
}

TEST(CollectiveMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  PeerId peer;
  peer.bytes.fill(5);
  check_message(SegmentHead{exchange(), CollectiveOp::kGather, 0x60, 1 << 20, 3});
  check_message(ReadyMessage{id(), {{{6}, 1 << 20, {0, 1, 2}}}});
  check_message(ReadyMessage{id(), {{{6}, 1, {}}, {{7}, 2, {1}}}});
  check_message(DoneMessage{id(), {1, 2}});
  check_message(FinishedMessage{Round(400)});
  check_message(StateHashMessage{id(), {1}, {{2}, {3}}});
  check_message(ProgressMessage{id(), false, true, peer});
  check_message(ReportMessage{id(), {1, 2, 3}});
  check_message(ReportMessage{id(), {}});
  check_message(RoundReports{{{1, 2}, {}, {3}}});
}

TEST(CollectiveMessage, KeepsEveryFieldOfASegmentHead) {
  const Result<SegmentHead> got = SegmentHead::decode(
      SegmentHead{exchange(), CollectiveOp::kGather, 0x60, 1 << 20, 3}.encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->id, exchange());
  EXPECT_EQ(got->op, CollectiveOp::kGather);
  EXPECT_EQ(got->form, 0x60);
  EXPECT_EQ(got->elements, std::uint64_t{1} << 20U);
  EXPECT_EQ(got->segment, 3U);
}

TEST(CollectiveMessage, RefusesEachFieldBeyondItsBound) {
  EXPECT_TRUE(
      SegmentHead::decode(head().u8(kExchangesMax - 1).u8(11).u8(0).u64(0).u32(0).take()).ok());
  EXPECT_EQ(SegmentHead::decode(head().u8(0).u8(12).u8(0).u64(0).u32(0).take()).status().code(),
            Code::kCorrupt);
  EXPECT_EQ(SegmentHead::decode(head().u8(kExchangesMax).u8(6).u8(0).u64(0).u32(0).take())
                .status()
                .code(),
            Code::kCorrupt);
  const auto ready = [](std::uint8_t count) { return head().u8(count).raw(TeamId{}); };
  const auto code = [](Writer made) { return ReadyMessage::decode(made.take()).status().code(); };
  EXPECT_TRUE(ReadyMessage::decode(ready(1).u64(1).u32(0).take()).ok());
  EXPECT_EQ(code(ready(1).u64(1).u32(kReceivedMapBytesMax + 1)), Code::kCorrupt);
  EXPECT_EQ(code(ready(1).u64(1).u32(1).u8(3)), Code::kCorrupt);
  EXPECT_EQ(code(ready(1).u64(kExchangeElementsMax + 1).u32(0)), Code::kCorrupt);
  EXPECT_EQ(code(ready(2).u64(1).u32(0)), Code::kCorrupt);
  EXPECT_EQ(code(head().u8(0)), Code::kCorrupt);
  const auto two_maps = [&](std::size_t bytes) {
    return ready(2).u64(1).bytes(Bytes(100)).raw(TeamId{}).u64(1).bytes(Bytes(bytes));
  };
  EXPECT_TRUE(ReadyMessage::decode(two_maps(kReceivedMapBytesMax - 100).take()).ok());
  EXPECT_EQ(code(two_maps(kReceivedMapBytesMax - 99)), Code::kCorrupt) << "together";
  Writer many = head();
  many.u8(kExchangesMax + 1);
  for (std::size_t i = 0; i <= kExchangesMax; ++i) many.raw(TeamId{}).u64(1).u32(0);
  EXPECT_EQ(code(many), Code::kCorrupt);
  EXPECT_EQ(StateHashMessage::decode(head().raw(Hash128{}).u32(kTensorHashesMax + 1).take())
                .status()
                .code(),
            Code::kCorrupt);
  EXPECT_TRUE(ReportMessage::decode(head().bytes(Bytes(kReportBytesMax)).take()).ok());
  EXPECT_EQ(ReportMessage::decode(head().bytes(Bytes(kReportBytesMax + 1)).take()).status().code(),
            Code::kCorrupt);
  EXPECT_EQ(RoundReports::decode(Writer().u32(1).bytes(Bytes(kReportBytesMax + 1)).take())
                .status()
                .code(),
            Code::kCorrupt);
  EXPECT_EQ(RoundReports::decode(Writer().u32(kReportsMax + 1).take()).status().code(),
            Code::kCorrupt);
}

TEST(CollectiveMessage, AResultIsNamedByItsSumsAndByItsReports) {
  const std::vector<float> sums = {1.0F, 2.0F};
  const Bytes reports = RoundReports{{{1}, {2}}}.encode();
  EXPECT_EQ(result_hash(sums, {}), xxh3_128(as_bytes(std::span<const float>(sums))));
  EXPECT_NE(result_hash(sums, reports), result_hash(sums, {}));
  EXPECT_NE(result_hash(sums, reports), result_hash(sums, RoundReports{{{2}, {1}}}.encode()));
  const std::vector<float> others = {1.0F, 3.0F};
  EXPECT_NE(result_hash(sums, reports), result_hash(others, reports));
}

}  // namespace
}  // namespace weft::collective_message_test
