#include "weft/collective/swarm/swarm_core_options.h"

#include <utility>

#include <fmt/format.h>

#include "weft/base/time.h"
#include "weft/collective/verify/signer.h"
#include "weft/net/tls_transport.h"
#include "weft/wire/membership_message.h"

namespace weft {

static Status check_filled_in(const SwarmOptions& options) {
  const MembershipOptions& membership = options.membership;
  const MembershipOptions untouched;
  const struct {
    bool is_set;
    const char* name;
    const char* from;
  } filled_in[] = {
      {membership.self != untouched.self, "membership.self", "identity"},
      {membership.incarnation != untouched.incarnation, "membership.incarnation",
       "the time of the start"},
      {membership.endpoints != untouched.endpoints, "membership.endpoints", "listen and advertise"},
      {membership.recipe_text != untouched.recipe_text, "membership.recipe_text", "recipe_text"},
      {membership.founded_at != untouched.founded_at, "membership.founded_at", "resume_round"},
      {options.presence.run != RunId{}, "presence.run", "membership.run or the ticket"},
  };
  for (const auto& field : filled_in) {
    if (!field.is_set) continue;
    return invalid_argument(
        fmt::format("{}: the swarm fills it in from {}; do not set it", field.name, field.from));
  }
  return {};
}

Status check_settings(const SwarmOptions& options, const Ticket* ticket) {
  WEFT_TRY(check_filled_in(options));
  const bool joins = ticket != nullptr;
  const RunId& run = options.membership.run;
  const struct {
    bool is_lost;
    const char* name;
    const char* why;
  } settings[] = {
      {joins && run != RunId{} && run != ticket->run, "membership.run",
       "the ticket is of another run"},
      {joins && options.resume_round > Round(), "resume_round", "a joiner's state is held_round's"},
      {joins && options.gather_states, "gather_states", "a joiner takes the group's state"},
      {!joins && options.held_round > Round(), "held_round", "a founder's state is resume_round's"},
      {options.wire != WirePrecision::kF32 && !options.codec.is_exact(), "wire",
       "members gather what the codec makes"},
      {options.liars != 0 && options.aggregator.is_mean(), "liars",
       "the mean withstands none; set an aggregator"},
      {options.verifiers != 0 && options.aggregator.is_mean(), "verifiers",
       "a sum has no chunks that one member makes of all inputs; set an aggregator"},
      {options.verifiers != 0 && options.wire != WirePrecision::kF32, "wire",
       "what verifiers repeat travels as f32"},
  };
  for (const auto& setting : settings) {
    if (!setting.is_lost) continue;
    return invalid_argument(fmt::format("{}: it would not count: {}", setting.name, setting.why));
  }
  return {};
}

void set_codec(const Codec& codec, SwarmOptions& options) {
  options.wire = codec.hop_precision().value_or(WirePrecision::kF32);
  options.codec = codec.hop_precision() ? Codec() : codec;
}

SwarmCoreOptions core_options(const SwarmOptions& options, std::vector<std::string> endpoints) {
  SwarmCoreOptions core;
  core.membership = options.membership;
  core.membership.self = options.identity.id();
  core.membership.incarnation = unix_time_us();
  core.membership.endpoints = std::move(endpoints);
  if (core.membership.endpoints.size() > kEndpointsMax) {
    core.membership.endpoints.resize(kEndpointsMax);
  }
  core.membership.recipe_text = options.recipe_text;
  core.membership.founded_at = options.resume_round;
  core.rounds.all_reduce.segment_bytes = options.segment_bytes;
  core.rounds.all_reduce.bucket_bytes = options.bucket_bytes;
  core.rounds.all_reduce.direct_bytes_max = options.direct_bytes_max;
  core.rounds.all_reduce.precision = options.wire;
  core.rounds.all_reduce.aggregator = options.aggregator;
  core.rounds.all_reduce.aggregate_round.liars = options.liars;
  core.rounds.all_reduce.verification.verifiers = options.verifiers;
  if (options.verifiers > 0) {
    core.rounds.all_reduce.verification.signer = make_signer(options.identity);
  }
  core.rounds.make_core = options.make_core;
  core.rounds.reports = options.reports;
  core.rounds.codec = options.codec;
  core.rounds.residual = options.residual;
  core.links.enabled = options.measured_ring;
  core.rounds.all_reduce.mesh_members = options.mesh_members;
  core.rounds.by_host = options.by_host;
  core.rounds.stall_timeout = options.stall_timeout;
  core.compute_timeout = options.compute_timeout;
  core.compute_timeout_first = options.compute_timeout_first;
  core.result_log_bytes_max = options.result_log_bytes_max;
  core.vector_elements_max = options.vector_elements_max;
  core.last_round = options.last_round;
  core.resume_round = options.resume_round;
  core.gather_states = options.gather_states;
  core.held_round = options.held_round;
  core.held_run = options.held_run;
  core.start_members = options.start_members;
  core.start_timeout = options.start_timeout;
  core.linger = options.linger;
  core.exit_on_quorum_lost = options.exit_on_quorum_lost;
  core.samples_a_round = options.samples_a_round;
  return core;
}

Result<std::unique_ptr<Transport>> make_transport(EventLoop& loop, const SwarmOptions& options) {
  WEFT_TRY_ASSIGN(ListenOptions listen, parse_listen(options.listen));
  listen.advertise = options.advertise;
  listen.map_port = options.map_port;
  if (options.transport == "tls") return make_tls_transport(loop, options.identity, listen);
  if (options.transport == "tcp") return make_tcp_transport(loop, options.identity.id(), listen);
  return invalid_argument(
      fmt::format("transport: expected tls or tcp, got '{}'", options.transport));
}

}  // namespace weft
