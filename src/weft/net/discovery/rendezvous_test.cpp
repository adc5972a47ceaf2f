#include "weft/net/rendezvous.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/net/rendezvous_memory.h"
#include "weft/net/rendezvous_opendht.h"
#include "weft/net/testing/test_limit.h"

namespace weft::rendezvous_test {
namespace {

constexpr std::int64_t kNow = 1'900'000'000;

TimePoint at(double seconds) { return TimePoint() + from_seconds(seconds); }

RunId run(std::uint8_t number) {
  RunId out{};
  out.fill(number);
  return out;
}

RendezvousOptions options(std::uint8_t number = 1) {
  RendezvousOptions out;
  out.run = run(number);
  return out;
}

const std::vector<std::string> kHere = {"192.0.2.1:7420"};
const std::vector<std::string> kThere = {"198.51.100.7:7420"};

TEST(Rendezvous, OnlyWhoKnowsTheRunReadsARecord) {
  const PeerIdentity member = PeerIdentity::generate();
  const Bytes sealed = seal_rendezvous_record(member, run(1), kHere, kNow);
  const auto record = open_rendezvous_record(run(1), sealed);
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  EXPECT_EQ(peer_id_of(record->key), member.id());
  EXPECT_EQ(record->endpoints, kHere);
  EXPECT_EQ(record->unix_time_s, kNow);
  EXPECT_FALSE(open_rendezvous_record(run(2), sealed).ok());
  EXPECT_NE(rendezvous_key(run(1)), rendezvous_key(run(2)));
}

TEST(Rendezvous, NoByteOfARecordCanBeAlteredAndNoneBeMissing) {
  const Bytes sealed = seal_rendezvous_record(PeerIdentity::generate(), run(1), kHere, kNow);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    Bytes altered = sealed;
    altered[i] ^= 1U;
    EXPECT_EQ(open_rendezvous_record(run(1), altered).status().code(), Code::kCorrupt) << i;
    EXPECT_FALSE(open_rendezvous_record(run(1), ByteSpan(sealed).first(i)).ok()) << i;
  }
  EXPECT_FALSE(open_rendezvous_record(run(1), Bytes(100'000, 1)).ok());
}

TEST(Rendezvous, AMemberWritesAtOnceThenNowAndThenAndAgainWhenItsAddressChanges) {
  Rendezvous member(options(), PeerIdentity::generate(), Rng(1));
  EXPECT_EQ(member.next_deadline(), TimePoint::max());
  EXPECT_FALSE(member.on_timer(at(0), kNow).put);
  member.set_endpoints(kHere, at(1));
  EXPECT_EQ(member.next_deadline(), at(1));
  EXPECT_TRUE(member.on_timer(at(1), kNow).put);
  EXPECT_FALSE(member.on_timer(at(2), kNow).put);
  member.set_endpoints(kThere, at(3));
  EXPECT_EQ(member.next_deadline(), at(21));
  EXPECT_TRUE(member.on_timer(at(21), kNow).put);
  // Soon again at first, then every four minutes, each time a little sooner or later.
  TimePoint before = at(21);
  for (const double pause : {5, 10, 20, 40, 80, 160, 240, 240}) {
    const TimePoint due = member.next_deadline();
    EXPECT_NEAR(to_seconds(due - before), pause, 0.2 * pause + 1e-6);
    EXPECT_TRUE(member.on_timer(due, kNow).put);
    before = due;
  }
  member.set_endpoints({}, before);
  EXPECT_EQ(member.next_deadline(), TimePoint::max());
}

TEST(Rendezvous, WhoeverIsAloneLooksLessAndLessOften) {
  Rendezvous member(options(), PeerIdentity::generate(), Rng(1));
  member.set_looking(true, at(0));
  std::vector<double> pauses;
  TimePoint before = at(0);
  for (int i = 0; i < 10; ++i) {
    const TimePoint due = member.next_deadline();
    EXPECT_TRUE(member.on_timer(due, kNow).get);
    pauses.push_back(to_seconds(due - before));
    before = due;
  }
  EXPECT_EQ(pauses, (std::vector<double>{0, 2, 4, 8, 16, 32, 64, 120, 120, 120}));
  member.set_looking(false, before);
  EXPECT_EQ(member.next_deadline(), TimePoint::max());
}

TEST(Rendezvous, WhoeverGetsOtherAddressesLooksAnew) {
  Rendezvous member(options(), PeerIdentity::generate(), Rng(1));
  member.set_endpoints(kHere, at(0));
  EXPECT_FALSE(member.on_timer(at(0), kNow).get);
  member.set_looking(true, at(0));
  for (const int second : {0, 2, 6, 14}) EXPECT_TRUE(member.on_timer(at(second), kNow).get);
  member.set_endpoints(kThere, at(15));
  for (const int second : {15, 17, 21}) EXPECT_TRUE(member.on_timer(at(second), kNow).get);
  EXPECT_FALSE(member.on_timer(at(22), kNow).get);
}

TEST(Rendezvous, TheNewestRecordOfAPeerCountsAndOldOnesDoNot) {
  const PeerIdentity other = PeerIdentity::generate();
  const PeerIdentity self = PeerIdentity::generate();
  Rendezvous member(options(), self, Rng(1));
  const auto record = [&](const PeerIdentity& of, const std::vector<std::string>& where,
                          std::int64_t when) {
    return seal_rendezvous_record(of, run(1), where, when);
  };
  member.on_values({record(other, kThere, kNow - 10), record(other, kHere, kNow - 100),
                    record(self, kHere, kNow), Bytes(40, 7),
                    record(PeerIdentity::generate(), kHere, kNow - 3601),
                    record(PeerIdentity::generate(), kHere, kNow + 601)},
                   kNow);
  const auto known = member.known(kNow);
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].id, other.id());
  EXPECT_EQ(known[0].endpoints, kThere);
  EXPECT_TRUE(member.known(kNow + 4000).empty());
}

TEST(Rendezvous, AFloodOfValuesIsLookedAtInPart) {
  RendezvousOptions few = options();
  few.values_max = 8;
  few.peers_max = 3;
  Rendezvous member(few, PeerIdentity::generate(), Rng(1));
  std::vector<Bytes> values(6, Bytes(100, 1));
  for (int i = 0; i < 20; ++i) {
    values.push_back(seal_rendezvous_record(PeerIdentity::generate(), run(1), kHere, kNow));
  }
  member.on_values(values, kNow);
  EXPECT_EQ(member.known(kNow).size(), 2U);
  values.erase(values.begin(), values.begin() + 10);
  member.on_values(values, kNow);
  EXPECT_EQ(member.known(kNow).size(), 3U);
}

TEST(Rendezvous, AJoinerFindsWhatMembersLeftInTheTable) {
  const auto store = std::make_shared<RendezvousStore>();
  const PeerIdentity member = PeerIdentity::generate();
  const auto now = SystemClock().unix_time_s();
  const MakeRendezvousTable make =
      [&](EventLoop& loop) -> Result<std::unique_ptr<RendezvousTable>> {
    return std::unique_ptr<RendezvousTable>(std::make_unique<MemoryRendezvousTable>(loop, store));
  };
  EventLoop loop;
  MemoryRendezvousTable table(loop, store);
  table.put(rendezvous_key(run(1)), Bytes(50, 3));
  table.put(rendezvous_key(run(1)), seal_rendezvous_record(member, run(1), kHere, now));
  const auto found = look_up_peers(make, {run(1), kLimit});
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ((*found)[0].id, member.id());
  EXPECT_EQ(look_up_peers(make, {run(2), std::chrono::milliseconds(20)}).status().code(),
            Code::kUnavailable);
}

TEST(Rendezvous, WithoutTheLibraryOpenDhtSaysSo) {
  EventLoop loop;
  OpenDhtOptions wrong;
  wrong.bootstrap = "no port";
  EXPECT_EQ(make_opendht_table(loop, wrong).status().code(), Code::kInvalidArgument);
  if (has_opendht()) GTEST_SKIP() << "it is there";
  EXPECT_EQ(make_opendht_table(loop, {}).status().code(), Code::kUnavailable);
}

TEST(Rendezvous, NodesOfOpenDhtOnThisMachineCarryARecord) {
  if (!has_opendht()) GTEST_SKIP() << "built without OpenDHT";
  EventLoop loop;
  OpenDhtOptions first;
  first.local = true;
  const auto one = make_opendht_table(loop, first);
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  OpenDhtOptions next = first;
  next.bootstrap = "127.0.0.1:" + std::to_string((*one)->port());
  const auto two = make_opendht_table(loop, next);
  ASSERT_TRUE(two.ok()) << two.status().to_string();
  const PeerIdentity member = PeerIdentity::generate();
  const Bytes sealed = seal_rendezvous_record(member, run(9), kHere, loop.clock().unix_time_s());
  Rendezvous reader(options(9), PeerIdentity::generate(), Rng(1));
  const auto known = [&] { return reader.known(loop.clock().unix_time_s()); };
  // A node that has found no other yet loses what it is given: both sides try again.
  std::function<void()> ask = [&] {
    (*two)->put(rendezvous_key(run(9)), sealed);
    (*one)->get(rendezvous_key(run(9)), [&](const std::vector<Bytes>& values) {
      reader.on_values(values, loop.clock().unix_time_s());
    });
    loop.call_at(loop.now() + std::chrono::seconds(1), ask);
  };
  ask();
  EXPECT_TRUE(loop.run_until([&] { return !known().empty(); }, kLimit));
  ASSERT_EQ(known().size(), 1U);
  EXPECT_EQ(known()[0].id, member.id());
}

}  // namespace
}  // namespace weft::rendezvous_test
