#include "weft/wire/membership_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"
#include "weft/wire/value_difference.h"

namespace weft::membership_message_test {
namespace {

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes.fill(number);
  return id;
}

ViewId view(std::uint64_t number) {
  ViewId id{ViewNumber(number), {}};
  id.hash[0] = static_cast<std::uint8_t>(number);
  return id;
}

ViewValue value() {
  ViewValue out;
  out.base_round = Round(41);
  out.members = {{peer(1), 7, {"10.0.0.1:7420", "[::1]:7420"}}, {peer(2), 8, {}}};
  out.departures = {{peer(3), 9, DepartureCause::kRestarted, "came back with a new process"}};
  out.lineage.points = {{{7}, view(2), 6400}};
  out.lineage.absorbed = {{{8}, 9600}};
  out.yields_to = Hash256{9};
  out.merge = MergeDirective{{8}, view(5), Round(40), {10}, 3200, 6400};
  out.links = {LinkCode(7), LinkCode(8), LinkCode(9)};
  return out;
}

ValueDifference difference() {
  ValueDifference out =
      difference_of({{peer(1), 7, {}}, {peer(2), 8, {}}, {peer(3), 9, {}}}, {}, value());
  out.order = {1, 0};
  out.next = {6};
  return out;
}

Status decode_value(const ViewValue& value) {
  return AcceptMessage::decode(AcceptMessage{view(1), {}, value}.encode()).status();
}

TEST(MembershipMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(HeartbeatMessage{view(3), 5, 900, Round(12)});
  check_message(SuspicionMessage{view(3), peer(2), true, "no heartbeat for 2.0 s"});
  check_message(PrepareMessage{view(3), {4, peer(1)}, {5, 6}});
  check_message(PromiseMessage{view(3), {4, peer(1)}, {Round(12), {1, 2}}, {}});
  check_message(PromiseMessage{
      view(3), {4, peer(1)}, {Round(12), {1, 2}}, AcceptedValue{{3, peer(2)}, value()}});
  check_message(AcceptMessage{view(3), {4, peer(1)}, value()});
  check_message(AcceptMessage{view(3), {4, peer(1)}, {}, difference()});
  check_message(PromiseMessage{
      view(3), {4, peer(1)}, {Round(12), {1, 2}}, AcceptedValue{{3, peer(2)}, {}}, difference()});
  check_message(AcceptedMessage{view(3), {4, peer(1)}});
  check_message(RejectedMessage{view(3), {4, peer(1)}, {5, peer(2)}});
  check_message(ViewNoticeMessage{view(3), view(4), value()});
  check_message(ViewNoticeMessage{view(3), view(4), value(), RunKey{2, {7}}});
  check_message(ViewNoticeMessage{view(3), view(4), {}, RunKey{2, {7}}, difference()});
  check_message(RemovedMessage{view(3), 5, "restarted"});
  check_message(OutsideMessage{5, std::nullopt});
  check_message(OutsideMessage{5, ViewId{ViewNumber(7), Hash256{1}}});
  check_message(LeavingMessage{view(3)});
  check_message(JoinerMessage{{peer(4), 1, {"192.0.2.1:1"}}, false});
}

TEST(MembershipMessage, KeepsEveryFieldOfAnAcceptedValue) {
  const PromiseMessage sent{
      view(3), {4, peer(1)}, {Round(12), {1, 2}}, AcceptedValue{{3, peer(2)}, value()}};
  const Result<PromiseMessage> got = PromiseMessage::decode(sent.encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->view, sent.view);
  EXPECT_EQ(got->ballot, sent.ballot);
  EXPECT_EQ(got->status, sent.status);
  EXPECT_EQ(got->accepted, sent.accepted);
}

TEST(MembershipMessage, RefusesAMembershipWithoutMembersOrWithOneTwice) {
  ViewValue none;
  EXPECT_EQ(decode_value(none).message(), "accept.value.members: expected at least one");
  ViewValue twice = value();
  twice.members.push_back(twice.members.front());
  EXPECT_EQ(decode_value(twice).message(), "accept.value.members: expected no peer twice");
}

TEST(MembershipMessage, RefusesEachFieldBeyondItsBound) {
  const auto head = [] {
    return Writer().view(view(1)).u64(1).peer(peer(1)).u8(1).round(Round(0));
  };
  EXPECT_EQ(AcceptMessage::decode(head().u32(kViewMembersMax + 1).take()).status().message(),
            "accept.value.members: expected at most 4096 entries, got 4097");
  const Bytes endpoints = head().u32(1).peer(peer(1)).u64(1).u32(kEndpointsMax + 1).take();
  EXPECT_EQ(AcceptMessage::decode(endpoints).status().message(),
            "accept.member.endpoints: expected at most 4 entries, got 5");
  const Bytes endpoint = head().u32(1).peer(peer(1)).u64(1).u32(1).u32(97).take();
  EXPECT_EQ(AcceptMessage::decode(endpoint).status().message(),
            "accept.member.endpoint: expected at most 96 bytes, got 97");
  const Bytes halvings = head().u32(1).peer(peer(1)).u64(1).u32(0).u8(17).take();
  EXPECT_EQ(AcceptMessage::decode(halvings).status().message(),
            "accept.member.halvings: expected 0 to 16");
  const auto one_member = [&] { return head().u32(1).peer(peer(1)).u64(1).u32(0).u8(0); };
  EXPECT_EQ(AcceptMessage::decode(one_member().u32(kViewMembersMax + 1).take()).status().message(),
            "accept.value.departures: expected at most 4096 entries, got 4097");
  const Bytes cause = one_member().u32(1).peer(peer(2)).u64(1).u8(4).take();
  EXPECT_EQ(AcceptMessage::decode(cause).status().message(),
            "accept.departure.cause: expected 0 to 3");
  const Bytes reason = one_member().u32(1).peer(peer(2)).u64(1).u8(0).u32(161).take();
  EXPECT_EQ(AcceptMessage::decode(reason).status().message(),
            "accept.departure.reason: expected at most 160 bytes, got 161");
}

TEST(MembershipMessage, LargestOneStaysBelow256KiB) {
  ViewValue large;
  for (std::uint32_t i = 0; i < kMembersMax; ++i) {
    PeerId id;
    id.bytes[0] = static_cast<std::uint8_t>(i);
    large.members.push_back(
        {id, i, std::vector<std::string>(kEndpointsMax, std::string(kEndpointBytesMax, 'e'))});
    large.departures.push_back({id, i, DepartureCause::kFailed, std::string(kReasonBytesMax, 'r')});
  }
  const PromiseMessage promise{view(1), {}, {}, AcceptedValue{{}, large}};
  const Bytes bytes = promise.encode();
  EXPECT_LT(bytes.size(), std::size_t{256} * 1024);
  const Result<PromiseMessage> got = PromiseMessage::decode(bytes);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->accepted->value, large);
}

TEST(MembershipMessage, TextForPeopleIsPrintableAndCut) {
  const SuspicionMessage sent{view(1), peer(2), false, "\x1b[2J" + std::string(400, 'x')};
  const Result<SuspicionMessage> got = SuspicionMessage::decode(sent.encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->reason, "?[2J" + std::string(kReasonBytesMax - 4, 'x'));
  const Bytes escape = Writer().view(view(1)).peer(peer(2)).u8(0).text("\x1b[2J").take();
  EXPECT_EQ(SuspicionMessage::decode(escape).status().message(),
            "suspicion.reason: expected printable ASCII");
}

}  // namespace
}  // namespace weft::membership_message_test
