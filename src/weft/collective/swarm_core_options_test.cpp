#include "weft/collective/swarm_core_options.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::swarm_core_options_test {
namespace {

using testing::HasSubstr;

TEST(SwarmCoreOptions, WhatTheSwarmFillsInMayNotBeSet) {
  const struct {
    const char* name;
    std::function<void(SwarmOptions&)> set;
  } fields[] = {
      {"membership.self", [](SwarmOptions& options) { options.membership.self.bytes[0] = 1; }},
      {"membership.incarnation", [](SwarmOptions& options) { options.membership.incarnation = 7; }},
      {"membership.endpoints",
       [](SwarmOptions& options) { options.membership.endpoints = {"[::1]:1"}; }},
      {"membership.recipe_text",
       [](SwarmOptions& options) { options.membership.recipe_text = "a = 1"; }},
      {"membership.founded_at",
       [](SwarmOptions& options) { options.membership.founded_at = Round(3); }},
      {"presence.run", [](SwarmOptions& options) { options.presence.run = Hash256{1}; }},
  };
  for (const auto& field : fields) {
    SwarmOptions options;
    options.listen = "127.0.0.1:0";
    field.set(options);
    const std::string start = std::string(field.name) + ": the swarm fills it in";
    EXPECT_THAT(Swarm::found(options).status().message(), HasSubstr(start));
    Ticket ticket;
    ticket.expiry_unix_s = INT64_MAX;
    EXPECT_THAT(Swarm::join(options, ticket).status().message(), HasSubstr(start));
  }
}

TEST(SwarmCoreOptions, TheIncarnationIsTheTimeAndTheRestIsWhatWasGiven) {
  SwarmOptions options;
  options.recipe_text = "a = 1";
  options.resume_round = Round(3);
  const std::uint64_t before = unix_time_us();
  const SwarmCoreOptions core = core_options(options, {"[::1]:1"});
  EXPECT_GE(core.membership.incarnation, before);
  EXPECT_LE(core.membership.incarnation, unix_time_us());
  EXPECT_EQ(core.membership.self, options.identity.id());
  EXPECT_EQ(core.membership.recipe_text, "a = 1");
  EXPECT_EQ(core.membership.founded_at, Round(3));
  EXPECT_EQ(core.membership.endpoints, (std::vector<std::string>{"[::1]:1"}));
}

}  // namespace
}  // namespace weft::swarm_core_options_test
