#include "weft/wire/value_difference.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/wire/codec.h"
#include "weft/wire/membership_message.h"

namespace weft::value_difference_test {
namespace {

PeerId peer(std::uint64_t number) {
  PeerId id;
  // Not in the order of their numbers.
  id.bytes = sha256(Writer().u64(number).written());
  return id;
}

Member member(std::uint64_t number) {
  return {peer(number), 7, {"192.0.2.1:" + std::to_string(20000 + number)}, 0};
}

std::vector<Member> ring(std::uint64_t size) {
  std::vector<Member> out;
  for (std::uint64_t i = 0; i < size; ++i) out.push_back(member(i));
  return out;
}

std::size_t bytes_of(const ValueDifference& difference) {
  Writer out;
  write_difference(out, difference);
  return out.written().size();
}

ValueDifference sent(const ValueDifference& difference) {
  Writer out;
  write_difference(out, difference);
  Reader in("difference", out.written());
  ValueDifference got = read_difference(in);
  EXPECT_TRUE(in.finish().ok());
  return got;
}

void expect_same_again(const std::vector<Member>& members, const Lineage& lineage,
                       const ViewValue& value) {
  const ValueDifference difference = difference_of(members, lineage, value);
  const ValueDifference got = sent(difference);
  EXPECT_EQ(got, difference);
  const Result<ViewValue> again = apply_difference(got, members, lineage);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(*again, value);
}

void depart(ViewValue& value, std::size_t place) {
  const Member gone = value.members[place];
  value.members.erase(value.members.begin() + static_cast<std::ptrdiff_t>(place));
  value.departures.push_back({gone.id, gone.incarnation, DepartureCause::kFailed,
                              "connection lost, and again on dialling: refused"});
}

// Any value is what it was, those included that no correct member proposes.
TEST(ValueDifference, EveryValueIsPutTogetherAgain) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    const std::vector<Member> members = ring(1 + rng.below(20));
    Lineage lineage;
    if (rng.chance(0.3)) lineage.points = {{{7}, {ViewNumber(2), {3}}, 6400}};
    ViewValue value;
    value.base_round = Round(rng.below(100));
    value.members = members;
    value.lineage = lineage;
    for (std::uint64_t gone = rng.below(members.size()); gone > 0; --gone) {
      depart(value, rng.below(value.members.size()));
    }
    std::vector<Member> newcomers;
    for (std::uint64_t i = rng.below(4); i > 0; --i) newcomers.push_back(member(100 + i));
    std::sort(newcomers.begin(), newcomers.end(),
              [](const Member& a, const Member& b) { return a.id < b.id; });
    value.members.insert(value.members.end(), newcomers.begin(), newcomers.end());
    if (rng.chance(0.3)) ++value.members[rng.below(value.members.size())].incarnation;
    if (rng.chance(0.3)) value.members[rng.below(value.members.size())].endpoints.clear();
    if (rng.chance(0.3)) {
      std::swap(value.members.front(), value.members[rng.below(value.members.size())]);
    }
    if (rng.chance(0.3)) value.departures.push_back({peer(900), 1, DepartureCause::kLeft, ""});
    if (rng.chance(0.3)) value.lineage.absorbed = {{{8}, 9600}};
    if (rng.chance(0.3)) value.yields_to = Hash256{9};
    if (rng.chance(0.3)) {
      value.merge = MergeDirective{{8}, {ViewNumber(5), {1}}, Round(40), {10}, 3200, 6400};
    }
    if (rng.chance(0.3)) value.links = {LinkCode(7), LinkCode(8), LinkCode(9)};
    expect_same_again(members, lineage, value);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(ValueDifference, AChangeOfOneMemberIsAsLongInAnyView) {
  std::vector<std::size_t> lengths;
  for (const std::uint64_t size : {16U, 256U, 4096U}) {
    const std::vector<Member> members = ring(size);
    ViewValue value;
    value.members = members;
    depart(value, size / 2);
    lengths.push_back(bytes_of(difference_of(members, {}, value)));
  }
  EXPECT_EQ(lengths.front(), lengths.back());
  EXPECT_LE(lengths.front(), 200U);
}

TEST(ValueDifference, AnotherOrderIsAByteForEachMemberOfAUsualView) {
  const std::vector<Member> members = ring(256);
  ViewValue value;
  value.members = members;
  const std::size_t none = bytes_of(difference_of(members, {}, value));
  std::reverse(value.members.begin(), value.members.end());
  EXPECT_EQ(bytes_of(difference_of(members, {}, value)), none + 256);
  expect_same_again(members, {}, value);
  const std::vector<Member> many = ring(300);
  value.members = many;
  std::rotate(value.members.begin(), value.members.begin() + 1, value.members.end());
  EXPECT_EQ(bytes_of(difference_of(many, {}, value)), none + 2U * 300);
  expect_same_again(many, {}, value);
}

TEST(ValueDifference, RefusesWhatFitsNoView) {
  const std::vector<Member> members = ring(4);
  const auto fault = [&](const std::function<void(ValueDifference&)>& spoil) {
    ValueDifference difference;
    spoil(difference);
    const Result<ViewValue> value = apply_difference(difference, members, {});
    EXPECT_EQ(value.status().code(), Code::kCorrupt);
    return std::string(value.status().message());
  };
  const std::string places = "difference.going: expected ascending places of the view's 4 members";
  EXPECT_EQ(fault([](ValueDifference& it) { it.going = {4}; }), places);
  EXPECT_EQ(fault([](ValueDifference& it) { it.going = {2, 1}; }), places);
  EXPECT_EQ(fault([](ValueDifference& it) { it.going = {1, 1}; }), places);
  EXPECT_EQ(fault([](ValueDifference& it) {
              it.going = {0, 1, 2, 3};
            }),
            "difference: expected at least one member");
  const std::string coming = "difference.coming: expected members by id, and no peer twice";
  EXPECT_EQ(fault([](ValueDifference& it) { it.coming = {member(2)}; }), coming);
  EXPECT_EQ(fault([](ValueDifference& it) { it.coming = {member(8), member(8)}; }), coming);
  EXPECT_EQ(fault([](ValueDifference& it) {
              it.coming = {member(8), member(9)};
              if (it.coming[0].id < it.coming[1].id) std::swap(it.coming[0], it.coming[1]);
            }),
            coming);
  const std::string order = "difference.order: expected each of 4 places once";
  EXPECT_EQ(fault([](ValueDifference& it) { it.order = {0, 1, 2}; }), order);
  EXPECT_EQ(fault([](ValueDifference& it) { it.order = {0, 1, 2, 4}; }), order);
  EXPECT_EQ(fault([](ValueDifference& it) { it.order = {0, 1, 1, 3}; }), order);
  EXPECT_EQ(fault([](ValueDifference& it) { it.order = {0, 1, 2, 3, 3}; }), order);
}

TEST(ValueDifference, RefusesCountsBeyondItsBounds) {
  const auto head = [] {
    return Writer().view({ViewNumber(1), {}}).u64(1).peer(peer(1)).u8(0).round(Round(0));
  };
  const auto fault = [](const Bytes& bytes) {
    return std::string(AcceptMessage::decode(bytes).status().message());
  };
  EXPECT_EQ(fault(head().u32(kViewMembersMax + 1).take()),
            "accept.difference.going: expected at most 4096 entries, got 4097");
  EXPECT_EQ(fault(head().u32(0).u32(kViewMembersMax + 1).take()),
            "accept.difference.coming: expected at most 4096 entries, got 4097");
  EXPECT_EQ(fault(head().u32(0).u32(0).u32(kViewMembersMax + 1).take()),
            "accept.difference.order: expected at most 4096 entries, got 4097");
  EXPECT_EQ(fault(head().u32(0).u32(0).u32(0).u32(kViewMembersMax + 1).take()),
            "accept.value.departures: expected at most 4096 entries, got 4097");
}

}  // namespace
}  // namespace weft::value_difference_test
