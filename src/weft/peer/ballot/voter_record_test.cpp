#include "weft/peer/voter_record.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"
#include "weft/peer/view.h"

namespace weft::voter_record_test {
namespace {

using ::testing::HasSubstr;

RunId run_named(std::string_view name) { return sha256(as_bytes(name)); }

VoterRecord some_record() {
  VoterRecord record;
  record.run = run_named("b");
  record.self = test_peer_id(1);
  record.incarnation = 12;
  record.key = Hash256{5};
  record.generation = 2;
  record.earlier = {{run_named("a"), Hash256{4}, 1, Round(40)}};
  record.revocations.bans = {{test_peer_id(9), "wrong hash"}};
  record.view_run = record.run;
  record.view = 7;
  record.members = {test_peer_id(1), test_peer_id(2)};
  record.former = {Member{test_peer_id(3), 4, {"10.0.0.3:1"}}};
  VoteOnRecord& vote = record.vote.emplace();
  vote.incarnation = 11;
  vote.notice.value.members = {Member{test_peer_id(1), 11, {"10.0.0.1:1"}},
                               Member{test_peer_id(2), 3, {}}};
  vote.notice.view = next_view_id(record.run, vote.notice.previous, vote.notice.value);
  vote.promised = {4, test_peer_id(2)};
  vote.accepted = AcceptedValue{{3, test_peer_id(1)}, vote.notice.value};
  return record;
}

TEST(VoterRecord, IsReadAsItWasWrittenAndRefusedWhereItIsDamaged) {
  for (const VoterRecord& record : {some_record(), VoterRecord()}) {
    const Bytes bytes = record.encode();
    const Result<VoterRecord> whole = VoterRecord::decode(bytes);
    ASSERT_TRUE(whole.ok()) << whole.status().to_string();
    EXPECT_EQ(whole->encode(), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Bytes prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(VoterRecord::decode(prefix).status().code(), Code::kCorrupt) << size;
    }
    for (std::size_t at = 0; at + 4 <= bytes.size(); ++at) {
      Bytes altered = bytes;
      std::fill_n(altered.begin() + static_cast<std::ptrdiff_t>(at), 4, std::uint8_t{0xff});
      const Result<VoterRecord> other = VoterRecord::decode(altered);
      EXPECT_TRUE(other.ok() || other.status().code() == Code::kCorrupt) << at;
    }
  }
}

TEST(VoterRecord, AVoteOfAViewWithoutThisPeerIsRefused) {
  VoterRecord record = some_record();
  record.vote->incarnation = 10;
  EXPECT_EQ(VoterRecord::decode(record.encode()).status().code(), Code::kCorrupt);
  record = some_record();
  record.incarnation = 10;
  EXPECT_EQ(VoterRecord::decode(record.encode()).status().code(), Code::kCorrupt);
  record = some_record();
  record.vote->promised = {2, test_peer_id(2)};
  EXPECT_EQ(VoterRecord::decode(record.encode()).status().code(), Code::kCorrupt);
}

class ClaimTest : public ::testing::Test {
 protected:
  HeldStateMessage claim(const VoterRecord& by, const RunId& state_run, std::uint64_t round) const {
    HeldStateMessage message{Round(round), {},         state_run,     by.view_run,
                             by.view,      by.members, history_of(by)};
    const HeldStateMessage bare = message;
    for (PastRun& past : message.history) {
      if (const Hash256* key = key_of(by, past.run)) {
        past.proof = claim_proof(*key, bare, by.self, next);
      }
    }
    return message;
  }

  const RunId next = run_named("c");
  const PeerId who = test_peer_id(1);
  const VoterRecord member = some_record();
};

TEST_F(ClaimTest, AMemberProvesItsState) {
  const Result<HeldClaim> checked = check_claim(member, claim(member, member.run, 60), who, next);
  ASSERT_TRUE(checked.ok()) << checked.status().to_string();
  EXPECT_EQ(checked->generation, 2U);
  EXPECT_EQ(checked->view_generation, 2U);
}

TEST_F(ClaimTest, WhoNeverWasAMemberProvesNothing) {
  VoterRecord stranger = member;
  stranger.key = Hash256{1};
  stranger.earlier.clear();
  const Result<HeldClaim> checked =
      check_claim(member, claim(stranger, stranger.run, 60), who, next);
  EXPECT_THAT(checked.status().message(), HasSubstr("cannot prove that it was a member"));
  VoterRecord other = member;
  other.run = run_named("another recipe's");
  other.earlier.clear();
  EXPECT_FALSE(check_claim(member, claim(other, other.run, 60), who, next).ok());
}

TEST_F(ClaimTest, AProofIsWorthNothingForAnotherPeerRunOrRound) {
  const HeldStateMessage good = claim(member, member.run, 60);
  EXPECT_FALSE(check_claim(member, good, test_peer_id(2), next).ok());
  EXPECT_FALSE(check_claim(member, good, who, run_named("d")).ok());
  HeldStateMessage altered = good;
  altered.round = Round(61);
  EXPECT_FALSE(check_claim(member, altered, who, next).ok());
}

TEST_F(ClaimTest, AStateThatTheRunDidNotGoOnFromIsPassedOver) {
  // Run b went on from run a after round 40.
  EXPECT_TRUE(check_claim(member, claim(member, run_named("a"), 40), who, next).ok());
  const Result<HeldClaim> beyond =
      check_claim(member, claim(member, run_named("a"), 41), who, next);
  EXPECT_THAT(beyond.status().message(), HasSubstr("did not go on with"));
  EXPECT_FALSE(check_claim(member, claim(member, run_named("x"), 1), who, next).ok());
  // One that was away while b ran says so of a's later rounds, too.
  VoterRecord away = member;
  away.run = run_named("a");
  away.key = Hash256{4};
  away.earlier.clear();
  EXPECT_FALSE(check_claim(member, claim(away, away.run, 45), who, next).ok());
  EXPECT_TRUE(check_claim(member, claim(away, away.run, 39), who, next).ok());
}

TEST_F(ClaimTest, AFounderThatWasAwayLearnsOfTheRunBetween) {
  VoterRecord founder = member;
  founder.run = run_named("a");
  founder.key = Hash256{4};
  founder.generation = 1;
  founder.earlier.clear();
  const Result<HeldClaim> checked = check_claim(founder, claim(member, member.run, 41), who, next);
  ASSERT_TRUE(checked.ok()) << checked.status().to_string();
  EXPECT_EQ(checked->generation, 2U);
}

}  // namespace
}  // namespace weft::voter_record_test
