#include "weft/collective/swarm/swarm_core_options.h"

#include <functional>
#include <string>
#include <vector>

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

TEST(SwarmCoreOptions, ASettingThatWouldNotCountIsRefused) {
  const Aggregator median = *Aggregator::parse("median");
  const Codec topk = *Codec::parse("topk");
  const struct {
    const char* name;
    bool founds;
    bool joins;
    std::function<void(SwarmOptions&)> set;
  } settings[] = {
      {"membership.run", false, true,
       [](SwarmOptions& options) { options.membership.run = RunId{5}; }},
      {"resume_round", false, true, [](SwarmOptions& options) { options.resume_round = Round(3); }},
      {"gather_states", false, true, [](SwarmOptions& options) { options.gather_states = true; }},
      {"held_round", true, false, [](SwarmOptions& options) { options.held_round = Round(3); }},
      {"wire", true, true,
       [&](SwarmOptions& options) {
         options.wire = WirePrecision::kBf16;
         options.codec = topk;
       }},
      {"liars", true, true, [](SwarmOptions& options) { options.liars = 1; }},
      {"verifiers", true, true, [](SwarmOptions& options) { options.verifiers = 1; }},
      {"wire", true, true,
       [](SwarmOptions& options) {
         options.aggregator = *Aggregator::parse("median");
         options.verifiers = 1;
         options.wire = WirePrecision::kBf16;
       }},
  };
  Ticket ticket;
  ticket.run = RunId{4};
  for (const auto& setting : settings) {
    SwarmOptions options;
    setting.set(options);
    const std::string start = std::string(setting.name) + ": it would not count";
    const Status founder = check_settings(options, nullptr);
    const Status joiner = check_settings(options, &ticket);
    EXPECT_EQ(founder.ok(), !setting.founds) << setting.name;
    EXPECT_EQ(joiner.ok(), !setting.joins) << setting.name;
    EXPECT_THAT((setting.founds ? founder : joiner).message(), HasSubstr(start));
  }
  SwarmOptions good;
  good.membership.run = ticket.run;
  good.liars = 1;
  good.aggregator = median;
  good.codec = topk;
  EXPECT_TRUE(check_settings(good, nullptr).ok());
  EXPECT_TRUE(check_settings(good, &ticket).ok());
}

struct Setting {
  const char* name;
  std::function<void(SwarmOptions&)> set;
  std::function<bool(const SwarmCoreOptions&)> arrived;
};
using Core = const SwarmCoreOptions&;

std::vector<Setting> settings_of_rounds() {
  return {
      {"membership",
       [](SwarmOptions& it) { it.membership.suspicion_timeout = std::chrono::seconds(77); },
       [](Core core) { return core.membership.suspicion_timeout == std::chrono::seconds(77); }},
      {"recipe_text", [](SwarmOptions& it) { it.recipe_text = "a = 1"; },
       [](Core core) { return core.membership.recipe_text == "a = 1"; }},
      {"vector_elements_max", [](SwarmOptions& it) { it.vector_elements_max = 77; },
       [](Core core) { return core.vector_elements_max == 77; }},
      {"segment_bytes", [](SwarmOptions& it) { it.segment_bytes = 77; },
       [](Core core) { return core.rounds.all_reduce.segment_bytes == 77; }},
      {"bucket_bytes", [](SwarmOptions& it) { it.bucket_bytes = 77; },
       [](Core core) { return core.rounds.all_reduce.bucket_bytes == 77; }},
      {"direct_bytes_max", [](SwarmOptions& it) { it.direct_bytes_max = 77; },
       [](Core core) { return core.rounds.all_reduce.direct_bytes_max == 77; }},
      {"wire", [](SwarmOptions& it) { it.wire = WirePrecision::kBf16; },
       [](Core core) { return core.rounds.all_reduce.precision == WirePrecision::kBf16; }},
      {"aggregator", [](SwarmOptions& it) { it.aggregator = *Aggregator::parse("median"); },
       [](Core core) { return !core.rounds.all_reduce.aggregator.is_mean(); }},
      {"liars", [](SwarmOptions& it) { it.liars = 2; },
       [](Core core) { return core.rounds.all_reduce.aggregate_round.liars == 2; }},
      {"verifiers", [](SwarmOptions& it) { it.verifiers = 2; },
       [](Core core) {
         const Verification& verification = core.rounds.all_reduce.verification;
         return verification.verifiers == 2 && verification.signer != nullptr;
       }},
      {"make_core",
       [](SwarmOptions& it) {
         it.make_core = [](const CollectiveOptions& options, std::int64_t elements,
                           CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer) {
           return make_collective(options, elements, sink, std::move(buffer));
         };
       },
       [](Core core) { return core.rounds.make_core != nullptr; }},
      {"reports", [](SwarmOptions& it) { it.reports = true; },
       [](Core core) { return core.rounds.reports; }},
      {"codec", [](SwarmOptions& it) { it.codec = *Codec::parse("topk"); },
       [](Core core) { return !core.rounds.codec.is_exact(); }},
      {"residual", [](SwarmOptions& it) { it.residual.round = Round(7); },
       [](Core core) { return core.rounds.residual.round == Round(7); }},
      {"measured_ring", [](SwarmOptions& it) { it.measured_ring = !it.measured_ring; },
       [](Core core) { return core.links.enabled != swarm_defaults::kMeasuredRing; }},
      {"mesh_members", [](SwarmOptions& it) { it.mesh_members = 77; },
       [](Core core) { return core.rounds.all_reduce.mesh_members == 77; }},
      {"by_host", [](SwarmOptions& it) { it.by_host = !it.by_host; },
       [](Core core) { return core.rounds.by_host != swarm_defaults::kByHost; }},
  };
}

std::vector<Setting> settings_of_the_run() {
  return {
      {"result_log_bytes_max", [](SwarmOptions& it) { it.result_log_bytes_max = 77; },
       [](Core core) { return core.result_log_bytes_max == 77; }},
      {"last_round", [](SwarmOptions& it) { it.last_round = Round(7); },
       [](Core core) { return core.last_round == Round(7); }},
      {"stall_timeout", [](SwarmOptions& it) { it.stall_timeout = Duration(7); },
       [](Core core) { return core.rounds.stall_timeout == Duration(7); }},
      {"compute_timeout", [](SwarmOptions& it) { it.compute_timeout = Duration(7); },
       [](Core core) { return core.compute_timeout == Duration(7); }},
      {"compute_timeout_first", [](SwarmOptions& it) { it.compute_timeout_first = Duration(7); },
       [](Core core) { return core.compute_timeout_first == Duration(7); }},
      {"resume_round", [](SwarmOptions& it) { it.resume_round = Round(7); },
       [](Core core) {
         return core.resume_round == Round(7) && core.membership.founded_at == Round(7);
       }},
      {"gather_states", [](SwarmOptions& it) { it.gather_states = true; },
       [](Core core) { return core.gather_states; }},
      {"held_round", [](SwarmOptions& it) { it.held_round = Round(7); },
       [](Core core) { return core.held_round == Round(7); }},
      {"held_run", [](SwarmOptions& it) { it.held_run = RunId{7}; },
       [](Core core) { return core.held_run == RunId{7}; }},
      {"start_members", [](SwarmOptions& it) { it.start_members = 7; },
       [](Core core) { return core.start_members == 7; }},
      {"start_timeout", [](SwarmOptions& it) { it.start_timeout = Duration(7); },
       [](Core core) { return core.start_timeout == Duration(7); }},
      {"linger", [](SwarmOptions& it) { it.linger = Duration(7); },
       [](Core core) { return core.linger == Duration(7); }},
      {"samples_a_round", [](SwarmOptions& it) { it.samples_a_round = 7; },
       [](Core core) { return core.samples_a_round == 7; }},
      {"exit_on_quorum_lost", [](SwarmOptions& it) { it.exit_on_quorum_lost = true; },
       [](Core core) { return core.exit_on_quorum_lost; }},
  };
}

// Each setting, changed from its default, reaches the core, or is the driver's alone. A new one
// does not compile until it is named here.
TEST(SwarmCoreOptions, EachSettingReachesTheCore) {
  const SwarmOptions untouched;
  const auto& [membership, identity, listen, advertise, map_port, transport, recipe_text,
               vector_elements_max, segment_bytes, bucket_bytes, direct_bytes_max, wire, aggregator,
               liars, verifiers, make_core, reports, codec, residual, measured_ring, mesh_members,
               by_host, result_log_bytes_max, last_round, stall_timeout, next_limit,
               compute_timeout, compute_timeout_first, finish_limit, resume_round, gather_states,
               held_round, held_run, record_file, state_file, start_members, start_timeout, linger,
               samples_a_round, exit_on_quorum_lost, presence] = untouched;
  EXPECT_EQ(&membership, &untouched.membership);
  std::vector<Setting> settings = settings_of_rounds();
  for (const Setting& setting : settings_of_the_run()) settings.push_back(setting);
  for (const Setting& setting : settings) {
    SwarmOptions options;
    EXPECT_FALSE(setting.arrived(core_options(options, {}))) << setting.name;
    setting.set(options);
    EXPECT_TRUE(setting.arrived(core_options(options, {}))) << setting.name;
  }
  // identity is membership.self, below; the driver alone has: listen, advertise, map_port,
  // transport, next_limit, finish_limit, record_file, state_file, presence.
  EXPECT_EQ(settings.size() + 10, 41U);
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
