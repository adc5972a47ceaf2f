// Cores belong to the thread that enters them first: an entry from another one stops the program
// (base/owner_thread.h), with debug checks.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/collective/core/swarm_core.h"
#include "weft/collective/core/test_swarm_parts.h"

namespace weft::core_owner_test {
namespace {

struct LoneSwarm {
  SimNetwork net{SimNetworkOptions{}};
  SwarmCore core{LoneSwarmParts::with_self({}), net.start(LoneSwarmParts::self()), net.clock(),
                 Rng(7)};
};

TEST(CoreOwner, ACoreMayBeBuiltOnOneThreadAndEnteredOnAnother) {
  LoneSwarm swarm;
  bool member = false;
  Thread([&] {
    swarm.core.found();
    member = swarm.core.state() == MembershipState::kMember;
  }).join();
  EXPECT_TRUE(member);
}

#ifdef WEFT_DEBUG_CHECKS
TEST(CoreOwner, AnotherThreadsEntryStopsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const PeerId peer = LoneSwarmParts::other();
  const struct {
    std::string name;
    std::function<void(SwarmCore&)> enter;
  } entries[] = {
      {"swarm: event", [](SwarmCore& core) { core.on_timer(); }},
      {"swarm: command", [](SwarmCore& core) { core.request_turn(); }},
      {"swarm: query", [](SwarmCore& core) { static_cast<void>(core.status()); }},
  };
  for (const auto& entry : entries) {
    const auto enter_elsewhere = [&] {
      LoneSwarm swarm;
      swarm.core.found();
      Thread([&] { entry.enter(swarm.core); }).join();
    };
    EXPECT_DEATH(enter_elsewhere(), "is_owner") << entry.name;
  }
  const struct {
    std::string name;
    std::function<void(SwarmParts&)> enter;
  } engines[] = {
      {"membership", [](SwarmParts& parts) { parts.membership.on_timer(parts.now()); }},
      {"rounds", [](SwarmParts& parts) { parts.rounds.on_timer(parts.now()); }},
      {"group calls", [](SwarmParts& parts) { parts.group_calls.on_timer(parts.now()); }},
      {"server", [&](SwarmParts& parts) { parts.server.on_link_down(peer); }},
      {"fetch", [](SwarmParts& parts) { parts.fetch.on_timer(parts.now()); }},
      {"link rates", [](SwarmParts& parts) { parts.link_rates.on_timer(parts.now()); }},
      {"states to merge", [](SwarmParts& parts) { parts.branches.on_timer(); }},
  };
  for (const auto& engine : engines) {
    const auto enter_elsewhere = [&] {
      LoneSwarmParts swarm;
      engine.enter(swarm.parts);
      Thread([&] { engine.enter(swarm.parts); }).join();
    };
    EXPECT_DEATH(enter_elsewhere(), "is_owner") << engine.name;
  }
}
#endif

}  // namespace
}  // namespace weft::core_owner_test
