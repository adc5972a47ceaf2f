#include "weft/collective/swarm/swarm_core_options.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::swarm_core_options_test {
namespace {

using testing::HasSubstr;

TEST(SwarmCoreOptions, OfASwarmWithoutSettingsAreTheDefaultsOfItsParts) {
  const SwarmOptions swarm;
  const SwarmCoreOptions given = core_options(swarm, {});
  const SwarmCoreOptions own;
  EXPECT_EQ(given.rounds.all_reduce.segment_bytes, own.rounds.all_reduce.segment_bytes);
  EXPECT_EQ(given.rounds.all_reduce.bucket_bytes, own.rounds.all_reduce.bucket_bytes);
  EXPECT_EQ(given.rounds.all_reduce.direct_bytes_max, own.rounds.all_reduce.direct_bytes_max);
  EXPECT_EQ(given.rounds.all_reduce.precision, own.rounds.all_reduce.precision);
  EXPECT_EQ(given.rounds.by_host, own.rounds.by_host);
  EXPECT_EQ(given.rounds.stall_timeout, own.rounds.stall_timeout);
  EXPECT_EQ(given.links.enabled, own.links.enabled);
  EXPECT_EQ(given.fetch.elements_max, own.fetch.elements_max);
  EXPECT_EQ(given.result_log_bytes_max, own.result_log_bytes_max);
  EXPECT_EQ(given.vector_elements_max, own.vector_elements_max);
  EXPECT_EQ(given.start_members, own.start_members);
  EXPECT_EQ(given.start_timeout, own.start_timeout);
  EXPECT_EQ(given.exit_on_quorum_lost, own.exit_on_quorum_lost);
  EXPECT_EQ(given.linger, own.linger);
  EXPECT_EQ(given.compute_timeout, own.compute_timeout);
  EXPECT_EQ(given.compute_timeout_first, own.compute_timeout_first);
  EXPECT_EQ(given.samples_a_round, own.samples_a_round);
}

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
