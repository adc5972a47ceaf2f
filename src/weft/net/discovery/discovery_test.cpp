#include "weft/net/discovery.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft::discovery_test {
namespace {

constexpr std::int64_t kNow = 1'900'000'000;

TimePoint at(double seconds) { return TimePoint() + std::chrono::hours(1) + from_seconds(seconds); }

template <class Array>
Array filled(std::uint8_t value) {
  Array out{};
  out.fill(value);
  return out;
}

DiscoveryNonce nonce(int number) {
  DiscoveryNonce out{};
  out[0] = static_cast<std::uint8_t>(number);
  out[1] = static_cast<std::uint8_t>(number >> 8);
  return out;
}

DiscoveryCard card(std::uint8_t run = 1) {
  DiscoveryCard out;
  out.run = filled<RunId>(run);
  out.name = "digits";
  out.members = 3;
  out.endpoints = {"192.0.2.1:7420"};
  return out;
}

DiscoveryCard open_card(std::uint8_t run = 1) {
  DiscoveryCard out = card(run);
  out.invite = DiscoveryInvite::kOpen;
  out.open = OpenInvitation{out.run, filled<Hash256>(7), {}, kNow + 3600, filled<Hash256>(8)};
  return out;
}

struct Answering {
  PeerIdentity identity = PeerIdentity::generate();
  DiscoveryResponder responder{identity};
};

// What `member` answers to a new query of `search`, altered, given to the search.
Status ask(DiscoverySearch& search, DiscoveryResponder& member, int number,
           const std::string& source = "192.0.2.1") {
  const auto bytes = member.answer("192.0.2.9", search.query(nonce(number)), at(number), kNow);
  if (!bytes) return unavailable("no answer");
  return search.on_datagram(source, *bytes, at(number), kNow);
}

TEST(Discovery, AMemberIsFoundWithEverythingItTold) {
  Answering member;
  member.responder.set_card(card());
  DiscoverySearch search(filled<RunId>(1));
  ASSERT_TRUE(ask(search, member.responder, 1).ok());
  const auto runs = search.runs();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].tag, discovery_tag(filled<RunId>(1)));
  EXPECT_EQ(runs[0].name, "digits");
  EXPECT_EQ(runs[0].members(), 3U);
  EXPECT_TRUE(runs[0].proved);
  ASSERT_EQ(runs[0].addresses().size(), 1U);
  EXPECT_EQ(runs[0].addresses()[0].id, member.identity.id());
  EXPECT_EQ(runs[0].addresses()[0].endpoints, std::vector<std::string>{"192.0.2.1:7420"});
}

TEST(Discovery, StrangersAreNotToldWhereMembersAre) {
  Answering member;
  member.responder.set_card(card());
  DiscoverySearch search(std::nullopt);
  ASSERT_TRUE(ask(search, member.responder, 1).ok());
  ASSERT_EQ(search.runs().size(), 1U);
  EXPECT_EQ(search.runs()[0].name, "digits");
  EXPECT_FALSE(search.runs()[0].proved);
  EXPECT_TRUE(search.runs()[0].addresses()[0].endpoints.empty());
  // Not even with the tag, which the answer has told; and the proof is of one query.
  DiscoveryQuery query{nonce(2), search.runs()[0].tag, {}};
  EXPECT_FALSE(member.responder.answer("x", query.encode(), at(2), kNow).has_value());
  query.proof = discovery_query_proof(filled<RunId>(1), nonce(3));
  EXPECT_FALSE(member.responder.answer("x", query.encode(), at(2), kNow).has_value());
  query.proof = discovery_query_proof(filled<RunId>(1), nonce(2));
  EXPECT_TRUE(member.responder.answer("x", query.encode(), at(2), kNow).has_value());
  // Those of an open run are for everybody.
  member.responder.set_card(open_card());
  DiscoverySearch any(std::nullopt);
  ASSERT_TRUE(ask(any, member.responder, 4).ok());
  EXPECT_EQ(any.runs()[0].addresses()[0].endpoints, std::vector<std::string>{"192.0.2.1:7420"});
}

TEST(Discovery, WithoutACardOrAnAddressNobodyAnswers) {
  Answering member;
  DiscoverySearch search(std::nullopt);
  EXPECT_FALSE(ask(search, member.responder, 1).ok());
  DiscoveryCard nowhere = card();
  nowhere.endpoints.clear();
  member.responder.set_card(nowhere);
  EXPECT_FALSE(ask(search, member.responder, 2).ok());
}

TEST(Discovery, ATicketHolderIsAnsweredByItsRunOnly) {
  Answering mine;
  Answering other;
  mine.responder.set_card(card(1));
  other.responder.set_card(card(2));
  DiscoverySearch search(filled<RunId>(1));
  EXPECT_TRUE(ask(search, mine.responder, 1).ok());
  EXPECT_FALSE(ask(search, other.responder, 2).ok());
  ASSERT_EQ(search.runs().size(), 1U);
  EXPECT_TRUE(search.runs()[0].proved);
}

TEST(Discovery, AStrangerCannotSpeakForARunWhoseTagItHasSeen) {
  // It knows the tag and signs with a key of its own, but not the run id.
  const PeerIdentity stranger = PeerIdentity::generate();
  DiscoverySearch search(filled<RunId>(1));
  static_cast<void>(search.query(nonce(1)));
  DiscoveryResponder liar(stranger);
  DiscoveryCard claimed = card(2);
  liar.set_card(claimed);
  DiscoverySearch any(std::nullopt);
  const auto bytes = liar.answer("x", any.query(nonce(1)), at(1), kNow);
  ASSERT_TRUE(bytes.has_value());
  DiscoveryAnswer forged = *DiscoveryAnswer::decode(*bytes);
  forged.tag = discovery_tag(filled<RunId>(1));
  EXPECT_EQ(search.on_datagram("x", forged.encode(), at(1), kNow).message(),
            "discovery: the sender does not know the run");
  EXPECT_TRUE(search.runs().empty());
}

TEST(Discovery, NoByteOfAnAnswerCanBeAltered) {
  Answering member;
  member.responder.set_card(open_card());
  DiscoverySearch search(std::nullopt);
  const auto bytes = member.responder.answer("x", search.query(nonce(1)), at(1), kNow);
  ASSERT_TRUE(bytes.has_value());
  for (std::size_t i = 0; i < bytes->size(); ++i) {
    Bytes altered = *bytes;
    altered[i] ^= 1U;
    EXPECT_FALSE(search.on_datagram("x", altered, at(1), kNow).ok()) << "byte " << i;
  }
  EXPECT_TRUE(search.on_datagram("x", *bytes, at(1), kNow).ok());
}

TEST(Discovery, AnAnswerToAnotherQueryIsRefused) {
  Answering member;
  member.responder.set_card(card());
  DiscoverySearch first(std::nullopt);
  const auto old = member.responder.answer("x", first.query(nonce(1)), at(1), kNow);
  ASSERT_TRUE(old.has_value());
  DiscoverySearch second(std::nullopt);
  static_cast<void>(second.query(nonce(2)));
  EXPECT_EQ(second.on_datagram("x", *old, at(1), kNow).message(),
            "discovery: the answer is to no query of ours");
}

TEST(Discovery, AnOpenRunTellsWhatATicketHolds) {
  Answering member;
  member.responder.set_card(open_card());
  DiscoverySearch search(std::nullopt);
  ASSERT_TRUE(ask(search, member.responder, 1).ok());
  const auto runs = search.runs();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].invite, DiscoveryInvite::kOpen);
  EXPECT_TRUE(runs[0].proved);
  EXPECT_EQ(runs[0].answers[0].open, open_card().open);
}

TEST(Discovery, WhatIsClaimedDifferentlyStaysApart) {
  Answering honest;
  Answering liar;
  honest.responder.set_card(card());
  DiscoveryCard other = card();
  other.name = "better digits";
  liar.responder.set_card(other);
  DiscoverySearch search(std::nullopt);
  ASSERT_TRUE(ask(search, honest.responder, 1).ok());
  ASSERT_TRUE(ask(search, liar.responder, 2).ok());
  ASSERT_EQ(search.runs().size(), 2U);
  for (const DiscoveredRun& run : search.runs()) EXPECT_EQ(run.answers.size(), 1U);
}

TEST(Discovery, MembersThatSayTheSameAreOneRun) {
  Answering first;
  Answering second;
  first.responder.set_card(open_card());
  DiscoveryCard later = open_card();
  later.open->secret = filled<Hash256>(9);  // each member makes its own invitation
  later.members = 4;
  second.responder.set_card(later);
  DiscoverySearch search(std::nullopt);
  ASSERT_TRUE(ask(search, first.responder, 1).ok());
  ASSERT_TRUE(ask(search, second.responder, 2).ok());
  ASSERT_EQ(search.runs().size(), 1U);
  EXPECT_EQ(search.runs()[0].answers.size(), 2U);
  EXPECT_EQ(search.runs()[0].members(), 4U);
}

TEST(Discovery, AnswersAreForgottenWithTime) {
  Answering member;
  member.responder.set_card(card());
  DiscoverySearch search(std::nullopt);
  ASSERT_TRUE(ask(search, member.responder, 1).ok());
  search.expire(at(30));
  EXPECT_EQ(search.runs().size(), 1U);
  search.expire(at(31));
  EXPECT_TRUE(search.runs().empty());
}

TEST(Discovery, OneAskerGetsFewAnswersAndAllTogetherABoundedNumber) {
  Answering member;
  member.responder.set_card(card());
  DiscoverySearch search(std::nullopt);
  const auto answered = [&](const std::string& source, int number, TimePoint now) {
    const Bytes query = search.query(nonce(number));
    return member.responder.answer(source, query, now, kNow).has_value();
  };
  int to_one = 0;
  for (int i = 0; i < 100; ++i) to_one += answered("192.0.2.9", i, at(0)) ? 1 : 0;
  EXPECT_EQ(to_one, 6);
  EXPECT_FALSE(answered("192.0.2.9", 1, at(0.4)));
  EXPECT_TRUE(answered("192.0.2.9", 1, at(0.6)));
  int to_all = 0;
  for (int i = 0; i < 1000; ++i) to_all += answered(std::to_string(i), i, at(10)) ? 1 : 0;
  EXPECT_EQ(to_all, 32);
  EXPECT_LE(member.responder.askers(), 256U);
}

TEST(Discovery, OfALargeRunAboutEightAnswer) {
  DiscoverySearch search(std::nullopt);
  std::vector<std::unique_ptr<Answering>> members;
  for (int i = 0; i < 200; ++i) {
    members.push_back(std::make_unique<Answering>());
    DiscoveryCard large = card();
    large.members = 200;
    members.back()->responder.set_card(large);
  }
  int total = 0;
  for (int number = 0; number < 4; ++number) {
    const Bytes query = search.query(nonce(number));
    for (const auto& member : members) {
      total += member->responder.answer("x", query, at(number), kNow).has_value() ? 1 : 0;
    }
  }
  EXPECT_GE(total, 8);
  EXPECT_LE(total, 96);
}

TEST(Discovery, AFloodOfAnswersFillsNoMoreThanTheTable) {
  DiscoverySearchLimits limits;
  limits.runs_max = 3;
  limits.members_max = 2;
  limits.source_max = 4;
  limits.datagrams_max = 50;
  DiscoverySearch search(std::nullopt, limits);
  const Bytes query = search.query(nonce(1));
  int kept = 0;
  for (int i = 0; i < 60; ++i) {
    Answering member;
    member.responder.set_card(card(static_cast<std::uint8_t>(1 + i % 5)));
    const auto bytes = member.responder.answer("x", query, at(1), kNow);
    ASSERT_TRUE(bytes.has_value());
    kept += search.on_datagram(i % 2 == 0 ? "a" : "b", *bytes, at(1), kNow).ok() ? 1 : 0;
  }
  EXPECT_LE(search.runs().size(), 3U);
  for (const DiscoveredRun& run : search.runs()) EXPECT_LE(run.answers.size(), 2U);
  EXPECT_EQ(kept, 6);
}

TEST(Discovery, NoiseIsNeverAnsweredAndNeverKept) {
  Answering member;
  member.responder.set_card(card());
  DiscoverySearch search(std::nullopt);
  static_cast<void>(search.query(nonce(1)));
  for (std::size_t size = 0; size <= kDiscoveryQueryBytes + 1; size += 41) {
    const Bytes noise(size, 0x5a);
    EXPECT_FALSE(member.responder.answer("x", noise, at(1), kNow).has_value());
    EXPECT_FALSE(search.on_datagram("x", noise, at(1), kNow).ok());
  }
}

TEST(Discovery, TellsHowFarTheClocksAreApart) {
  Answering member;
  member.responder.set_card(card());
  DiscoverySearch search(std::nullopt);
  const auto bytes = member.responder.answer("x", search.query(nonce(1)), at(1), kNow);
  ASSERT_TRUE(search.on_datagram("x", *bytes, at(1), kNow - 90).ok());
  EXPECT_EQ(search.runs()[0].answers[0].clock_ahead_s, 90);
}

}  // namespace
}  // namespace weft::discovery_test
