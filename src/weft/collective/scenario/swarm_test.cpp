// Swarms in one process over TLS on the loopback: what the simulator cannot show.
#include "weft/collective/swarm/swarm.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weft/base/thread.h"
#include "weft/collective/scenario/test_swarm_peer.h"
#include "weft/net/handshake_gate.h"

namespace weft::swarm_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kElements = 50000;
const std::string kRecipe = "run.steps = 20\n";

SwarmOptions tls_options(std::uint64_t last_round) {
  SwarmOptions options;
  options.listen = "127.0.0.1:0";
  options.recipe_text = kRecipe;
  options.last_round = Round(last_round);
  // A test that fails must not hang in the other peer's last round.
  options.finish_limit = seconds(30);
  options.membership.recipe_hash = sha256(as_bytes(std::string_view(kRecipe)));
  options.membership.suspicion_timeout = seconds(3);
  return options;
}

struct Outcome {
  Status status;
  std::uint64_t round = 0;
  TestTrainer trainer{kElements};
  int members_max = 0;
  std::vector<SwarmEvent> events;
};

// A little time for others to join in, which ends as soon as somebody has: alone, a peer would be
// through before anyone could.
void wait_for_company(Swarm& swarm) {
  const SystemClock clock;
  poll_until(clock, clock.now() + milliseconds(40), milliseconds(5), [&] {
    const Result<SwarmStatus> status = swarm.status();
    return status.ok() && status->members.size() > 1;
  });
}

// Trains the round of `turn`: its sums, kAborted where the view has changed, or what went wrong.
Result<std::span<const float>> train_round(Swarm& swarm, const Turn& turn, Outcome& out,
                                           std::vector<float>& input) {
  out.members_max = std::max(out.members_max, turn.members);
  input = out.trainer.shard(turn.rank.value(), turn.members);
  WEFT_TRY(swarm.begin(static_cast<std::int64_t>(kElements)));
  const std::span<const float> values(input);
  swarm.contribute(kElements / 2, values.subspan(kElements / 2));
  swarm.contribute(0, values.first(kElements / 2));
  return swarm.finish();
}

// The training thread of one peer. Ends at the last round, or abruptly after `stop_after`.
Outcome train(Swarm& swarm, std::uint64_t stop_after, Guarded<std::uint64_t>& progress) {
  Outcome out;
  const SystemClock clock;
  const TimePoint end = clock.now() + seconds(60);
  std::vector<float> input;
  while (clock.now() < end) {
    Result<Turn> turn = swarm.next();
    for (SwarmEvent& event : swarm.take_events()) out.events.push_back(std::move(event));
    if (!turn.ok()) {
      out.status = turn.status();
      return out;
    }
    std::span<const float> sums;
    switch (turn->kind) {
      case TurnKind::kWait:
        continue;
      case TurnKind::kLoadState:
        out.status = out.trainer.load(turn->state.span());
        if (!out.status.ok()) return out;
        out.round = turn->round.value();
        continue;
      case TurnKind::kSnapshot:
        swarm.publish_state(turn->round, out.trainer.serialise());
        continue;
      case TurnKind::kMerge:
        out.status = out.trainer.merge(turn->state.span(), turn->weight);
        if (!out.status.ok()) return out;
        continue;
      case TurnKind::kFinished:
        out.status = swarm.leave(seconds(5));
        return out;
      case TurnKind::kApply:
        sums = turn->reduced;
        break;
      case TurnKind::kTrain: {
        const auto finished = train_round(swarm, *turn, out, input);
        if (!finished.ok() && finished.status().code() == Code::kAborted) continue;
        if (!finished.ok()) {
          out.status = finished.status();
          return out;
        }
        sums = *finished;
        break;
      }
    }
    out.trainer.apply(sums);
    out.round = turn->round.value();
    progress.with([&](std::uint64_t& round) { round = out.round; });
    swarm.applied(turn->round, out.trainer.hash());
    if (out.round == stop_after) return out;
    if (turn->kind == TurnKind::kTrain && turn->members == 1) wait_for_company(swarm);
  }
  out.status = timed_out("the test took too long");
  return out;
}

struct Trainer {
  explicit Trainer(std::unique_ptr<Swarm> owned, std::uint64_t stop_after = UINT64_MAX)
      : swarm(std::move(owned)),
        thread([this, stop_after] { outcome = train(*swarm, stop_after, progress); }) {}
  bool reached(std::uint64_t round) {
    return progress.wait_until(SystemClock().now() + seconds(60),
                               [round](std::uint64_t at) { return at >= round; });
  }
  std::unique_ptr<Swarm> swarm;
  Outcome outcome;
  Guarded<std::uint64_t> progress;
  Thread thread;
};

TEST(SwarmTls, ThreeTrainTogetherAndOneIsClosedAbruptly) {
  SwarmOptions options = tls_options(60);
  options.start_members = 3;
  auto founder = Swarm::found(options);
  ASSERT_TRUE(founder.ok()) << founder.status().to_string();
  const Ticket ticket = (*founder)->ticket(std::chrono::hours(1)).value();
  const auto recipe = Swarm::fetch_recipe(ticket, PeerIdentity::generate(), seconds(10));
  // Nothing serves the recipe before next() is called: the loop thread does so alone.
  ASSERT_TRUE(recipe.ok()) << recipe.status().to_string();
  EXPECT_EQ(*recipe, kRecipe);
  SwarmOptions second = options;
  second.identity = PeerIdentity::generate();
  SwarmOptions third = options;
  third.identity = PeerIdentity::generate();
  auto b = Swarm::join(second, ticket);
  auto c = Swarm::join(third, ticket);
  ASSERT_TRUE(b.ok() && c.ok());
  Trainer first(std::move(founder).value());
  Trainer middle(std::move(b).value());
  Trainer last(std::move(c).value(), 20);
  last.thread.join();
  EXPECT_TRUE(last.outcome.status.ok()) << last.outcome.status.to_string();
  EXPECT_EQ(last.outcome.round, 20U);
  last.swarm.reset();
  first.thread.join();
  middle.thread.join();
  for (const Trainer* peer : {&first, &middle}) {
    EXPECT_TRUE(peer->outcome.status.ok()) << peer->outcome.status.to_string();
    EXPECT_EQ(peer->outcome.round, 60U);
    EXPECT_EQ(peer->outcome.members_max, 3);
    EXPECT_EQ(peer->outcome.trainer.state(), trained(kElements, 60).state());
  }
}

TEST(SwarmTls, JoinsMidRun) {
  SwarmOptions options = tls_options(250);
  auto founder = Swarm::found(options);
  ASSERT_TRUE(founder.ok()) << founder.status().to_string();
  const Ticket ticket = (*founder)->ticket(std::chrono::hours(1)).value();
  Trainer first(std::move(founder).value());
  ASSERT_TRUE(first.reached(5));
  options.identity = PeerIdentity::generate();
  auto joined = Swarm::join(options, ticket);
  ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  Trainer second(std::move(joined).value());
  first.thread.join();
  second.thread.join();
  for (const Trainer* peer : {&first, &second}) {
    EXPECT_TRUE(peer->outcome.status.ok()) << peer->outcome.status.to_string();
    EXPECT_EQ(peer->outcome.trainer.state(), trained(kElements, 250).state());
  }
  EXPECT_EQ(second.outcome.members_max, 2) << "it took part";
}

TEST(SwarmTls, RefusesAnExpiredTicketAndATicketOfAnotherSecret) {
  const SwarmOptions options = tls_options(5);
  auto founder = Swarm::found(options);
  ASSERT_TRUE(founder.ok());
  Ticket ticket = (*founder)->ticket(std::chrono::hours(1)).value();
  SwarmOptions joiner = options;
  joiner.identity = PeerIdentity::generate();
  Ticket expired = ticket;
  expired.expiry_unix_s = 1;
  EXPECT_EQ(Swarm::join(joiner, expired).status().code(), Code::kInvalidArgument);
  ticket.secret[0] ^= 1U;
  const auto recipe = Swarm::fetch_recipe(ticket, joiner.identity, seconds(10));
  EXPECT_FALSE(recipe.ok());
  auto refused = Swarm::join(joiner, ticket);
  ASSERT_TRUE(refused.ok());
  Result<Turn> turn = (*refused)->next();
  const SystemClock clock;
  const TimePoint end = clock.now() + seconds(60);
  while (turn.ok() && clock.now() < end) turn = (*refused)->next();
  EXPECT_FALSE(turn.ok());
}

TEST(SwarmTls, ANewcomerWhomACrowdKeepsOutComesAgainUntilItIsIn) {
  auto founder = Swarm::found(tls_options(3));
  ASSERT_TRUE(founder.ok()) << founder.status().to_string();
  const Ticket ticket = (*founder)->ticket(std::chrono::hours(1)).value();
  const std::string& endpoint = ticket.members.at(0).endpoints.at(0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
  // All that one address may begin at once, and the newcomer has the same address.
  const int crowd = static_cast<int>(HandshakeLimits().per_address_burst) + 40;
  for (int i = 0; i < crowd; ++i) {
    const int stranger = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto* raw = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(::connect(stranger, raw, sizeof address), 0);
    ::close(stranger);
  }
  const auto recipe = Swarm::fetch_recipe(ticket, PeerIdentity::generate(), seconds(10));
  ASSERT_TRUE(recipe.ok()) << recipe.status().to_string();
  EXPECT_EQ(*recipe, kRecipe);
}

TEST(SwarmTls, ARunThatIsOverSaysSoToWhoAsksForItsRecipe) {
  auto founder = Swarm::found(tls_options(3));
  ASSERT_TRUE(founder.ok());
  const Ticket ticket = *(*founder)->ticket(std::chrono::hours(1));
  Trainer alone(std::move(founder).value(), 3);
  alone.thread.join();
  Result<Turn> turn = alone.swarm->next();
  while (turn.ok() && turn->kind == TurnKind::kWait) turn = alone.swarm->next();
  ASSERT_TRUE(turn.ok());
  EXPECT_EQ(turn->kind, TurnKind::kFinished);
  RunNews news;
  const auto over = Swarm::fetch_recipe(ticket, PeerIdentity::generate(), seconds(10), &news);
  EXPECT_THAT(over.status().message(), testing::HasSubstr("the run ended at round 3"));
  EXPECT_EQ(news.ended_with, Round(3));
  alone.swarm.reset();
  const auto gone = Swarm::fetch_recipe(ticket, PeerIdentity::generate(), seconds(10), &news);
  EXPECT_FALSE(gone.ok());
  EXPECT_TRUE(news.deserted);
  EXPECT_FALSE(news.ended_with.has_value());
}

TEST(SwarmTls, MisuseIsAnErrorNotAHang) {
  auto founder = Swarm::found(tls_options(5));
  ASSERT_TRUE(founder.ok());
  Swarm& swarm = **founder;
  EXPECT_EQ(swarm.finish().status().code(), Code::kInvalidArgument);
  EXPECT_EQ(swarm.begin(10).code(), Code::kInvalidArgument);
  Result<Turn> turn = swarm.next();
  ASSERT_TRUE(turn.ok());
  ASSERT_EQ(turn->kind, TurnKind::kTrain);
  ASSERT_TRUE(swarm.begin(10).ok());
  EXPECT_EQ(swarm.begin(10).code(), Code::kInvalidArgument);
  EXPECT_EQ(swarm.next().status().code(), Code::kInvalidArgument);
  const std::vector<float> input(10, 2.0F);
  EXPECT_FALSE(swarm.round_ended(milliseconds(20))) << "nothing was contributed";
  swarm.contribute(0, input);
  EXPECT_TRUE(swarm.round_ended(seconds(30)));
  const auto sums = swarm.finish();
  ASSERT_TRUE(sums.ok());
  EXPECT_TRUE(swarm.round_ended({})) << "no round is open";
  EXPECT_THAT(*sums, testing::Each(2.0F));
  const Result<SwarmStatus> status = swarm.status();
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->members.size(), 1U);
}

TEST(SwarmTls, AddressInUseIsSaid) {
  SwarmOptions options = tls_options(5);
  options.listen = "not an address";
  EXPECT_FALSE(Swarm::found(options).ok());
  options.listen = "127.0.0.1:0";
  options.transport = "pigeons";
  EXPECT_EQ(Swarm::found(options).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft::swarm_test
