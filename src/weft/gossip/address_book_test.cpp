#include "weft/gossip/book/address_book.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/gossip/test_gossip_network.h"

namespace weft::address_book_test {
namespace {

const RunId kRun{7};

MemberRecord record_of(const RecordSigner& signer, std::uint64_t counter, Round round,
                       bool left = false) {
  MemberRecord record;
  record.key = signer.key;
  record.standing = {counter, left, {"10.0.0.1:" + std::to_string(counter)}, {}};
  record.presence.round = round;
  sign_standing(signer, kRun, record.standing);
  sign_presence(signer, kRun, record.presence);
  return record;
}

AddressBookOptions test_options() {
  AddressBookOptions options;
  options.run = kRun;
  options.check = check_test_signature;
  return options;
}

std::vector<MemberRecord> contents(const AddressBook& book) {
  std::vector<MemberRecord> all = book.changed_since(0, PeerId{});
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return owner_of(a) < owner_of(b); });
  return all;
}

MemberRecord random_record(Rng& rng, std::uint64_t owners) {
  return record_of(test_signer(rng.below(owners)), rng.below(4), Round(rng.below(5)),
                   rng.chance(0.3));
}

// Also of two standings that one owner signed with one number.
TEST(MemberRecordMerge, IsCommutativeAssociativeAndIdempotent) {
  Rng rng(5);
  for (int i = 0; i < 2000; ++i) {
    const MemberRecord a = random_record(rng, 1);
    const MemberRecord b = random_record(rng, 1);
    const MemberRecord c = random_record(rng, 1);
    ASSERT_EQ(merged(a, b), merged(b, a));
    ASSERT_EQ(merged(merged(a, b), c), merged(a, merged(b, c)));
    ASSERT_EQ(merged(a, a), a);
    ASSERT_EQ(merged(merged(a, b), b), merged(a, b));
  }
}

TEST(MemberRecordMerge, TakesTheGreaterOfEachPart) {
  const RecordSigner signer = test_signer(1);
  const MemberRecord moved = record_of(signer, 9, Round(3));
  const MemberRecord present = record_of(signer, 2, Round(40));
  const MemberRecord both = merged(moved, present);
  EXPECT_EQ(both.standing, moved.standing);
  EXPECT_EQ(both.presence, present.presence);
}

TEST(AddressBook, HoldsTheSameInWhateverOrderAndHoweverOftenRecordsCome) {
  Rng rng(6);
  for (int i = 0; i < 50; ++i) {
    std::vector<MemberRecord> records;
    records.reserve(40);
    for (int k = 0; k < 40; ++k) records.push_back(random_record(rng, 6));
    AddressBook one(test_options());
    AddressBook other(test_options());
    for (const MemberRecord& record : records) ASSERT_TRUE(one.merge(record, {}, Round()).ok());
    for (std::size_t k = records.size(); k-- > 1;) {
      std::swap(records[k], records[rng.below(k + 1)]);
    }
    for (const MemberRecord& record : records) {
      ASSERT_TRUE(other.merge(record, {}, Round()).ok());
      ASSERT_TRUE(other.merge(records[rng.below(records.size())], {}, Round()).ok());
    }
    ASSERT_EQ(contents(one), contents(other));
    // A whole book as a delta brings nothing new.
    for (const MemberRecord& record : contents(one)) {
      ASSERT_FALSE(*other.merge(record, {}, Round()));
    }
  }
}

TEST(AddressBook, TellsOnWhatChangedAndNotBackToWhoToldIt) {
  AddressBook book(test_options());
  const PeerId a = peer_id_of(test_signer(1).key);
  const PeerId b = peer_id_of(test_signer(2).key);
  ASSERT_TRUE(*book.merge(record_of(test_signer(3), 1, Round(1)), a, Round(1)));
  const std::uint64_t version = book.version();
  EXPECT_EQ(book.changed_since(0, b).size(), 1U);
  EXPECT_TRUE(book.changed_since(0, a).empty());
  EXPECT_TRUE(book.changed_since(version, b).empty());
  ASSERT_TRUE(*book.merge(record_of(test_signer(3), 1, Round(2)), b, Round(2)));
  EXPECT_EQ(book.changed_since(version, a).size(), 1U);
  EXPECT_TRUE(book.changed_since(version, b).empty());
}

TEST(AddressBook, AMemberThatIsSilentExpiresAndAnOldCopyDoesNotBringItBack) {
  AddressBookOptions options = test_options();
  options.expiry_rounds = 10;
  AddressBook book(options);
  const MemberRecord old = record_of(test_signer(1), 1, Round(5));
  const PeerId peer = owner_of(old);
  ASSERT_TRUE(*book.merge(old, {}, Round(5)));
  EXPECT_TRUE(book.is_live(peer, Round(15)));
  EXPECT_FALSE(book.is_live(peer, Round(16)));
  EXPECT_TRUE(book.live(Round(16)).empty());
  book.forget_expired(Round(26));
  EXPECT_EQ(book.size(), 1U);
  book.forget_expired(Round(27));
  EXPECT_EQ(book.size(), 0U);
  EXPECT_FALSE(*book.merge(old, {}, Round(27)));
  EXPECT_TRUE(*book.merge(record_of(test_signer(1), 1, Round(20)), {}, Round(27)));
  EXPECT_TRUE(book.is_live(peer, Round(27)));
}

TEST(AddressBook, WhoHasLeftIsNotLive) {
  AddressBook book(test_options());
  ASSERT_TRUE(*book.merge(record_of(test_signer(1), 1, Round(5)), {}, Round(5)));
  ASSERT_TRUE(*book.merge(record_of(test_signer(1), 2, Round(5), true), {}, Round(5)));
  EXPECT_TRUE(book.live(Round(5)).empty());
  EXPECT_FALSE(*book.merge(record_of(test_signer(1), 1, Round(5)), {}, Round(5)));
  EXPECT_TRUE(*book.merge(record_of(test_signer(1), 3, Round(5)), {}, Round(5)));
  EXPECT_EQ(book.live(Round(5)).size(), 1U);
}

TEST(AddressBook, ARecordThatItsOwnerDidNotSignIsCorruptAndChangesNothing) {
  AddressBookOptions options = test_options();
  options.check = {};  // real signatures
  options.last_round = Round(100);
  AddressBook book(options);
  const RecordSigner signer = signer_of(PeerIdentity::generate());
  const MemberRecord good = record_of(signer, 1, Round(5));
  std::vector<MemberRecord> forged(5, good);
  forged[0].standing.counter = 2;
  forged[1].standing.endpoints = {"10.0.0.9:1"};
  forged[2].presence.round = Round(6);
  forged[3].key = PeerIdentity::generate().public_key();
  forged[4] = record_of(signer, 1, Round(101));  // signed, of a round that will never be
  for (const MemberRecord& record : forged) {
    EXPECT_EQ(book.merge(record, {}, Round(5)).status().code(), Code::kCorrupt);
  }
  EXPECT_EQ(book.size(), 0U);
  ASSERT_TRUE(*book.merge(good, {}, Round(5)));
  for (const MemberRecord& record : forged) {
    EXPECT_EQ(book.merge(record, {}, Round(5)).status().code(), Code::kCorrupt);
  }
  EXPECT_EQ(*book.find(owner_of(good)), good);
}

TEST(AddressBook, AFullBookKeepsWhomItHas) {
  AddressBookOptions options = test_options();
  options.records_max = 3;
  options.expiry_rounds = 10;
  AddressBook book(options);
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(*book.merge(record_of(test_signer(i), 1, Round(1)), {}, Round(1)), i < 3);
  }
  EXPECT_EQ(book.size(), 3U);
  // There is room again once they have expired.
  EXPECT_TRUE(*book.merge(record_of(test_signer(9), 1, Round(40)), {}, Round(40)));
  EXPECT_EQ(book.size(), 1U);
}

TEST(AddressBook, ARecordHasAtMostTheBytesThatAreStated) {
  MemberRecord record;
  record.standing.endpoints.assign(kRecordEndpointsMax, std::string(kRecordEndpointBytesMax, 'a'));
  EXPECT_EQ((GossipBookMessage{{record}}.encode().size()), 4 + kMemberRecordBytesMax);
  EXPECT_LE(4 + kBookMessageRecordsMax * kMemberRecordBytesMax, kFrameHeadBytesMax);
}

}  // namespace
}  // namespace weft::address_book_test
