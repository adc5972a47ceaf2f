// A swarm with a member that breaks the rules: it is put out, and the others train on as if it had
// never been there.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/scenario/test_swarm_peer.h"
#include "weft/wire/frame_type.h"

namespace weft::swarm_conduct_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::uint64_t kLastRound = 100'000;

class SwarmConductTest : public ::testing::Test {
 protected:
  void start(std::uint32_t members) {
    options.start_members = static_cast<int>(members);
    for (std::uint32_t i = 0; i < members; ++i) {
      SwarmPeer::Settings settings;
      settings.id = swarm_peer_id(i);
      settings.seed = i + 77;
      settings.compute = [] { return milliseconds(20); };
      peers.push_back(std::make_unique<SwarmPeer>(net, options, std::move(settings)));
      if (i == 0) {
        peers[0]->found();
      } else {
        peers[i]->join(peers[0]->ticket());
      }
    }
  }
  template <class Done>
  bool run(Done&& done, Duration limit) {
    const TimePoint end = net.now() + limit;
    while (!done()) {
      if (net.now() > end || !net.step()) return done();
    }
    return true;
  }
  bool all_at(std::uint64_t round, std::size_t count) {
    return std::all_of(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const auto& peer) { return peer->round().value() >= round; });
  }

  SimNetwork net{SimNetworkOptions{.seed = 3}};
  SwarmCoreOptions options = swarm_options(kLastRound);
  std::vector<std::unique_ptr<SwarmPeer>> peers;
};

TEST_F(SwarmConductTest, WhoSendsWhatNobodyAskedForIsExpelledAndTheOthersTrainOn) {
  start(4);
  ASSERT_TRUE(run([&] { return all_at(10, 4); }, seconds(60)));
  SwarmPeer& liar = *peers[3];
  for (int time = 0; time < 8 && liar.core->view().size() == 4; ++time) {
    for (const std::size_t to : {0U, 1U, 2U}) {
      (void)liar.transport.send(peers[to]->id, Lane::kControl,
                                {frame_type::kDone, Bytes(9, 0xee), {}});
    }
    net.run_until(net.now() + milliseconds(700));
  }
  ASSERT_TRUE(run([&] { return peers[0]->core->view().size() == 3; }, seconds(20)));
  const std::uint64_t round = peers[0]->round().value();
  EXPECT_TRUE(run([&] { return all_at(std::min(round + 20, kLastRound), 3); }, seconds(60)));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(peers[i]->saw(SwarmEventKind::kMisconduct)) << i;
    EXPECT_THAT(peers[i]->text_of(SwarmEventKind::kMisconduct), HasSubstr("malformed message"));
    EXPECT_THAT(peers[i]->text_of(SwarmEventKind::kPeerLeft), HasSubstr("was expelled"));
  }
  // It has tried to come back by itself, and was told.
  EXPECT_TRUE(run([&] { return !liar.failure.ok(); }, seconds(60)));
  EXPECT_THAT(liar.failure.message(), HasSubstr("put this peer out"));
}

TEST_F(SwarmConductTest, PeopleExpelAndRevokeThroughTheCore) {
  start(3);
  ASSERT_TRUE(run([&] { return all_at(5, 3); }, seconds(60)));
  EXPECT_EQ(peers[0]->core->expel(swarm_peer_id(9), "unknown").status().code(),
            Code::kInvalidArgument);
  ASSERT_TRUE(peers[0]->core->expel(peers[2]->id, "by hand").ok());
  ASSERT_TRUE(peers[1]->core->expel(peers[2]->id, "by hand as well").ok());
  EXPECT_TRUE(run([&] { return peers[0]->core->view().size() == 2; }, seconds(20)));
  ASSERT_TRUE(peers[0]->core->revoke(InvitationId{4}).ok());
  EXPECT_TRUE(run([&] { return peers[1]->saw(SwarmEventKind::kRevoked); }, seconds(20)));
  EXPECT_THAT(peers[1]->text_of(SwarmEventKind::kRevoked), HasSubstr("04000000"));
}

}  // namespace
}  // namespace weft::swarm_conduct_test
