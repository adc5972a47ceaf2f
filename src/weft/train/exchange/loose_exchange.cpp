#include "weft/train/exchange/loose_exchange.h"

#include <fmt/format.h>

namespace weft {
namespace {

// A wait for the first round is reported after a second, and then every 10 s if more have come; a
// turn takes a fifth of a second.
constexpr int kTurnsBeforeNews = 5;
constexpr int kTurnsBetweenNews = 50;

}  // namespace

Status LooseExchange::stand_in(const StandIn& /*stand_in*/) {
  return unavailable(fmt::format(
      "group.wait: expected \"all\" with group.exchange = \"{}\", which has waits of its own",
      kind_));
}

Status LooseExchange::revoke(const InvitationId& /*invitation*/) {
  return unavailable(fmt::format(
      "revoke: members of a run with group.exchange = \"{}\" agree on nothing, and so not on "
      "void tickets; give out tickets that end soon (weft ticket OUT --valid-h HOURS)",
      kind_));
}

Result<std::string> LooseExchange::expel(const PeerId& /*peer*/, const std::string& /*reason*/) {
  return unavailable(fmt::format(
      "expel: members of a run with group.exchange = \"{}\" agree on nothing, and so not on "
      "who may stay; with group.exchange = \"exact\" they vote",
      kind_));
}

bool LooseExchange::is_time_to_tell() { return ++waits_ % kTurnsBetweenNews == kTurnsBeforeNews; }

void LooseExchange::tell_waiting(std::size_t here, std::int64_t wanted) {
  if (std::exchange(here_, here) == here) return;
  SwarmEvent event;
  event.kind = SwarmEventKind::kStartWaiting;
  event.text = fmt::format(
      "the first round waits for members: {} of {} (group.start_members) are here; others join "
      "with the ticket",
      here, wanted);
  add_event(std::move(event));
}

}  // namespace weft
