// Whole swarms with one fault: what their members observe names the class and the member.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/diagnosis/diagnosis.h"
#include "weft/collective/scenario/test_swarm.h"

namespace weft::swarm_diagnosis_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kMembers = 5;
// Bytes per second of each link.
constexpr std::uint64_t kRate = 1'250'000;
// Half of it is odd: a peer then reports after all of its input (test_swarm_peer.h).
constexpr std::size_t kElements = 32 * 1024 + 2;

SimNetworkOptions links_of(std::uint64_t seed) {
  SimNetworkOptions network;
  network.seed = seed;
  network.delay_min = std::chrono::microseconds(100);
  network.delay_mean = std::chrono::microseconds(400);
  network.bytes_per_second = kRate;
  return network;
}

struct FaultySwarm final : TestSwarm {
  explicit FaultySwarm(std::uint64_t seed) : TestSwarm(links_of(seed), 1'000'000) {
    elements = kElements;
    run_limit = minutes(60);
    options.rounds.reports = true;
    options.rounds.all_reduce.segment_bytes = 4096;
    options.rounds.all_reduce.bucket_bytes = 1 << 20;
    // The order of the ring stays, slow links or not.
    options.links.gain_min = 1e9;
    // A process that is stopped stays a member for a while.
    options.membership.heartbeat_interval = seconds(15);
    options.membership.suspicion_timeout = seconds(60);
    options.rounds.stall_timeout = seconds(60);
    start(kMembers);
  }
  SwarmPeer::Settings settings_of(std::uint32_t number) override {
    SwarmPeer::Settings settings = TestSwarm::settings_of(number);
    // Two parts of a round.
    settings.compute = [this, number] { return takes[number] / 2; };
    return settings;
  }
  const View& view() const { return peers[0]->core->view(); }
  // The number of the peer with that rank.
  std::size_t peer_at(int rank) const {
    const PeerId& id = view().members[static_cast<std::size_t>(rank)].id;
    return static_cast<std::size_t>(
        std::ranges::find_if(peers, [&](const auto& peer) { return peer->id == id; }) -
        peers.begin());
  }
  const PeerId& id_at(int rank) const { return view().members[static_cast<std::size_t>(rank)].id; }
  bool run_rounds(std::uint64_t count) {
    return run_to_round(0, peers[0]->round().value() + count);
  }

  // What the members of these ranks have recorded.
  std::vector<Verdict> verdicts(const std::vector<int>& authors) {
    Diagnosis diagnosis(kMembers);
    for (const int author : authors) {
      const SwarmPeer& peer = *peers[peer_at(author)];
      const SwarmStatus status = peer.core->status();
      EXPECT_EQ(status.view, view().id);
      EXPECT_TRUE(diagnosis.add(record_of(author, status)).ok());
      if (status.waits_seconds <= 0) continue;
      OpenRecord open;
      open.member = author;
      open.sequence = status.committed.value() + 1;
      open.quiet_seconds = status.waits_seconds;
      open.absent = ranks(status.absent);
      open.owing = ranks(status.waits_for);
      open.unsent = ranks(status.unsent);
      EXPECT_TRUE(diagnosis.add(open).ok());
    }
    return diagnosis.verdicts();
  }

  std::vector<Duration> takes = std::vector<Duration>(kMembers, milliseconds(100));

 private:
  std::vector<int> ranks(const std::vector<PeerId>& members) const {
    std::vector<int> out(members.size());
    std::ranges::transform(members, out.begin(),
                           [&](const PeerId& member) { return view().rank_of(member).value(); });
    return out;
  }
  RoundRecord record_of(int author, const SwarmStatus& status) const {
    RoundRecord record;
    record.member = author;
    record.sequence = status.committed.value();
    record.compute_seconds = to_seconds(takes[peer_at(author)]);
    const double bytes = kElements * 4;
    for (const PeerStatus& member : status.members) {
      const int other = member.rank.value();
      record.entry_seconds.push_back(member.entry_seconds);
      if (member.send_rate > 0) {
        record.links.push_back({author, other, bytes, bytes / member.send_rate});
      }
      const std::size_t place =
          static_cast<std::size_t>(author) * kMembers + static_cast<std::size_t>(other);
      const double rate = status.link_rates.empty() ? 0 : status.link_rates[place];
      if (rate > 0) record.links.push_back({other, author, bytes, bytes / rate});
    }
    return record;
  }
};

const std::vector<int> kAll = {0, 1, 2, 3, 4};

// The faults of `found`, without figures.
std::string text_of(const std::vector<Verdict>& found) {
  std::string text;
  for (const Verdict& each : found) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(each.fault)) + " " +
            std::to_string(each.member);
    if (each.other >= 0) text += "-" + std::to_string(each.other);
  }
  return text;
}

TEST(SwarmDiagnosis, AHealthySwarmHasNoVerdict) {
  FaultySwarm swarm(1);
  ASSERT_TRUE(swarm.run_rounds(80));
  EXPECT_EQ(text_of(swarm.verdicts(kAll)), "");
  const SwarmStatus status = swarm.peers[0]->core->status();
  for (const PeerStatus& member : status.members) {
    // All compute for 100 ms, and begin within some milliseconds of each other.
    EXPECT_NEAR(member.entry_seconds, 0.1, 0.01);
  }
  ASSERT_EQ(status.link_rates.size(), 25U);
  EXPECT_NEAR(status.link_rates[1], kRate, 0.1 * kRate);
}

TEST(SwarmDiagnosis, ASlowMachineIsFoundByEachMemberAlone) {
  FaultySwarm swarm(2);
  ASSERT_TRUE(swarm.run_rounds(1));
  swarm.takes[swarm.peer_at(3)] = milliseconds(250);
  ASSERT_TRUE(swarm.run_rounds(20));
  const std::vector<Verdict> found = swarm.verdicts(kAll);
  ASSERT_EQ(text_of(found), "slow compute 3");
  EXPECT_NEAR(found[0].measured, 0.25, 0.01);
  EXPECT_NEAR(found[0].usual, 0.1, 0.01);
  for (const int author : {0, 1, 2, 4}) {
    EXPECT_EQ(text_of(swarm.verdicts({author})), "slow compute 3") << "by " << author;
  }
}

TEST(SwarmDiagnosis, ASlowLinkIsFoundByBothEnds) {
  FaultySwarm swarm(3);
  ASSERT_TRUE(swarm.run([&] { return swarm.view().size() == kMembers; }));
  swarm.net.set_rate(swarm.id_at(1), swarm.id_at(2), kRate / 10);
  ASSERT_TRUE(swarm.run_rounds(20));
  const std::vector<Verdict> found = swarm.verdicts(kAll);
  ASSERT_EQ(text_of(found), "slow link 1-2");
  EXPECT_NEAR(1 / found[0].measured, kRate / 10.0, 0.3 * kRate / 10.0);
  // The sender's own measurement agrees: the queue is never empty.
  const SwarmStatus sender = swarm.peers[swarm.peer_at(1)]->core->status();
  EXPECT_NEAR(sender.members[2].send_rate, kRate / 10.0, 0.3 * kRate / 10.0);
}

TEST(SwarmDiagnosis, AMemberThatDoesNotEnterHangsInComputing) {
  FaultySwarm swarm(4);
  ASSERT_TRUE(swarm.run_rounds(10));
  swarm.takes[swarm.peer_at(2)] = hours(10);
  swarm.for_time(seconds(10));
  const std::vector<Verdict> found = swarm.verdicts({0, 1, 3, 4});
  ASSERT_EQ(text_of(found), "compute hang 2");
  EXPECT_GT(found[0].measured, 5);
  EXPECT_EQ(text_of(swarm.verdicts({4})), "compute hang 2");
}

// Stopped while the data of a round is under way: all have entered it.
TEST(SwarmDiagnosis, AProcessThatStopsInTheExchangeIsFound) {
  FaultySwarm swarm(5);
  ASSERT_TRUE(swarm.run_rounds(10));
  const std::size_t stopped = swarm.peer_at(2);
  // 100 ms of computing, then about 170 ms of exchange.
  swarm.for_time(milliseconds(150));
  swarm.net.pause(swarm.peers[stopped]->id);
  swarm.for_time(seconds(8));
  EXPECT_EQ(text_of(swarm.verdicts({0, 1, 3, 4})), "exchange hang 2");
}

}  // namespace
}  // namespace weft::swarm_diagnosis_test
