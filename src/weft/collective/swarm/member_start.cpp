#include "weft/collective/swarm/member_start.h"

#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "weft/wire/join_message.h"

namespace weft {
namespace {

// Years: sums of limits stay far from overflow.
constexpr std::chrono::milliseconds kLimitMax = std::chrono::seconds(100'000'000);

Result<Duration> checked_limit(const char* name, std::chrono::milliseconds limit) {
  if (limit >= std::chrono::milliseconds(0) && limit <= kLimitMax) return Duration(limit);
  return invalid_argument(
      fmt::format("{}: expected 0 to {} ms, got {}", name, kLimitMax.count(), limit.count()));
}

}  // namespace

Result<SwarmOptions> member_swarm_options(const SwarmGroupOptions& group,
                                          const SwarmMemberOptions& member,
                                          const SwarmAgreement& agreement) {
  SwarmOptions options;
  if (agreement.recipe.size() > kRecipeBytesMax) {
    return invalid_argument(fmt::format("recipe: expected at most {} bytes, got {}",
                                        kRecipeBytesMax, agreement.recipe.size()));
  }
  if (group.start_members < 1) {
    return invalid_argument(
        fmt::format("start_members: expected at least 1, got {}", group.start_members));
  }
  if (!member.identity.empty()) {
    WEFT_TRY_ASSIGN(options.identity, PeerIdentity::load_or_create(member.identity));
  }
  WEFT_TRY_ASSIGN(const Codec codec, Codec::parse(group.wire));
  set_codec(codec, options);
  WEFT_TRY_ASSIGN(options.start_timeout, checked_limit("start_timeout", group.start_timeout));
  options.listen = member.listen;
  options.advertise = member.advertise;
  options.map_port = member.map_port;
  options.recipe_text = agreement.recipe;
  options.last_round = Round(group.rounds);
  options.start_members = group.start_members;
  MembershipOptions& membership = options.membership;
  WEFT_TRY_ASSIGN(membership.suspicion_timeout,
                  checked_limit("suspicion_timeout", group.suspicion_timeout));
  membership.recipe_hash = sha256(as_bytes(std::string_view(agreement.recipe)));
  membership.layout_hash = agreement.layout_hash;
  membership.lone_survivor = group.lone_survivor;
  return options;
}

std::string sentence_of(const SwarmEvent& event) {
  std::string sentence(to_string(event.kind));
  if (!event.text.empty()) sentence += ": " + event.text;
  return sentence;
}

}  // namespace weft
