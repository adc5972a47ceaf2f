// What rings and direct exchanges refuse, case by case; collective_contract_test.cpp has the rest.
#include "weft/collective/reduce/all_reduce.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/reduce/collective_form.h"
#include "weft/collective/reduce/segment_plan.h"
#include "weft/collective/reduce/test_collective_network.h"

namespace weft::all_reduce_test {
namespace {

struct RecordingSink final : AllReduceSink {
  void send(Rank, Frame frame) override { sent.push_back(std::move(frame)); }
  std::size_t queued_bytes(Rank) const override { return 0; }
  std::vector<Frame> sent;
};

Status offer_frame(AllReduce& core, int from, const SegmentHead& head, std::size_t body_bytes) {
  const Bytes bytes = head.encode();
  const Bytes body(body_bytes);
  if (!core.body_destination(Rank(from), bytes, body_bytes).empty()) {
    EXPECT_EQ(core.body_destination(Rank(from), bytes, body_bytes).size(), body_bytes);
  }
  return core.on_frame(Rank(from), {frame_type::kSegment, bytes, body});
}

TEST(AllReduceHostile, RingRefusesWhatNoMemberSends) {
  AllReduceOptions options = small_segments(3);
  options.rank = Rank(1);
  options.algorithm = Algorithm::kRing;
  const std::uint8_t form = form_of(options, Algorithm::kRing);
  RecordingSink sink;
  const auto core = make_all_reduce(options, 3000, sink);
  const std::vector<float> input(3000, 1.0F);
  core->contribute(0, input);
  const std::size_t sent = sink.sent.size();
  EXPECT_GT(sent, 0U);
  SegmentHead good{options.id, CollectiveOp::kReduce, form, 3000, 0};
  // Chunk 0 starts at rank 1, so the predecessor's partial sum of segment 0 has no place here.
  EXPECT_EQ(offer_frame(*core, 0, good, 1024).code(), Code::kCorrupt);
  const auto plan = plan_segments(3000, {3, 4096, 256});
  const auto mine =
      static_cast<std::uint32_t>(std::ranges::find(plan, Rank(1), &Segment::owner) - plan.begin());
  good.segment = mine;
  const auto bytes = static_cast<std::size_t>(plan[mine].elements) * sizeof(float);
  SegmentHead bad = good;
  bad.segment = 100000;
  EXPECT_EQ(offer_frame(*core, 0, bad, bytes).code(), Code::kCorrupt);
  bad = good;
  bad.op = CollectiveOp::kDirect;
  EXPECT_EQ(offer_frame(*core, 0, bad, bytes).code(), Code::kCorrupt);
  bad = good;
  bad.op = CollectiveOp::kGather;
  EXPECT_EQ(offer_frame(*core, 0, bad, bytes).code(), Code::kCorrupt);
  EXPECT_EQ(offer_frame(*core, 2, good, bytes).code(), Code::kCorrupt);
  EXPECT_EQ(offer_frame(*core, 0, good, bytes - 4).code(), Code::kCorrupt);
  EXPECT_EQ(offer_frame(*core, 0, good, bytes + 1).code(), Code::kCorrupt);
  bad = good;
  bad.elements = 2999;
  const Status other_length = offer_frame(*core, 0, bad, bytes);
  EXPECT_EQ(other_length.code(), Code::kInvalidArgument);
  EXPECT_THAT(other_length.message(), testing::HasSubstr("2999"));
  EXPECT_EQ(core->on_frame(Rank(0), {frame_type::kSegment, {}, {}}).code(), Code::kCorrupt);
  EXPECT_TRUE(offer_frame(*core, 0, good, bytes).ok());
  EXPECT_EQ(offer_frame(*core, 0, good, bytes).code(), Code::kCorrupt) << "twice";
  EXPECT_EQ(core->resume(Rank(2), Bytes(5)).code(), Code::kCorrupt);
  EXPECT_FALSE(core->complete());
  EXPECT_EQ(core->waits_for(), Rank(0));
}

TEST(AllReduceHostile, DirectRefusesWhatNoMemberSends) {
  AllReduceOptions options = small_segments(3);
  options.rank = Rank(1);
  const std::uint8_t form = form_of(options, Algorithm::kDirect);
  RecordingSink sink;
  const auto core = make_all_reduce(options, 10, sink);
  const SegmentHead good{options.id, CollectiveOp::kDirect, form, 10, 0};
  SegmentHead bad = good;
  bad.op = CollectiveOp::kReduce;
  EXPECT_EQ(offer_frame(*core, 0, bad, 40).code(), Code::kCorrupt);
  bad = good;
  bad.segment = 1;
  EXPECT_EQ(offer_frame(*core, 0, bad, 40).code(), Code::kCorrupt);
  bad = good;
  bad.elements = 11;
  EXPECT_EQ(offer_frame(*core, 0, bad, 44).code(), Code::kInvalidArgument);
  EXPECT_EQ(offer_frame(*core, 0, good, 44).code(), Code::kCorrupt);
  EXPECT_EQ(offer_frame(*core, 1, good, 40).code(), Code::kCorrupt) << "from itself";
  EXPECT_EQ(offer_frame(*core, 7, good, 40).code(), Code::kCorrupt) << "from nobody";
  EXPECT_TRUE(offer_frame(*core, 0, good, 40).ok());
  EXPECT_EQ(offer_frame(*core, 0, good, 40).code(), Code::kCorrupt) << "twice";
  EXPECT_EQ(core->resume(Rank(2), Bytes(2)).code(), Code::kCorrupt);
  EXPECT_EQ(core->waits_for(), Rank(1)) << "its own input is missing";
}

TEST(SegmentPlan, CoversEveryElementOnceWithinTheLimits) {
  for (const int size : {1, 2, 3, 5, 64}) {
    for (const std::int64_t elements : {0, 1, 15, 16, 17, 1000, 99991}) {
      std::int64_t at = 0;
      for (const Segment& segment : plan_segments(elements, {size, 4096, 256})) {
        ASSERT_EQ(segment.offset, at);
        ASSERT_GT(segment.elements, 0);
        ASSERT_LE(segment.elements, 256);
        ASSERT_LT(segment.owner.value(), size);
        at += segment.elements;
      }
      EXPECT_EQ(at, elements);
    }
  }
}

}  // namespace
}  // namespace weft::all_reduce_test
