// LooseExchange: what the exchanges of groups without agreement have in common: what such groups
// cannot do, and their events and members as status() lists them.
//
// Where it stands: GossipExchange and MixExchange are its kinds. Threads: as GroupExchange.
// Fails: kUnavailable for what needs an agreement, with the reason.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/thread.h"
#include "weft/train/exchange/group_exchange.h"

namespace weft {

class LooseExchange : public GroupExchange {
 public:
  // `kind`: as group.exchange names it.
  explicit LooseExchange(std::string kind) : kind_(std::move(kind)) {}

  Status stand_in(const StandIn& stand_in) override;
  // Newcomers get the state from the members that they know, if at all.
  StateLender* state_lender() override { return nullptr; }
  Result<ResidualState> residual_state() override { return ResidualState{}; }
  Status revoke(const InvitationId& invitation) override;
  Result<std::string> expel(const PeerId& peer, const std::string& reason) override;
  std::vector<SwarmEvent> take_events() override {
    return events_.with([](auto& events) { return std::exchange(events, {}); });
  }

 protected:
  void add_event(SwarmEvent event) {
    events_.with([&](auto& events) { events.push_back(std::move(event)); });
  }
  // Called in each turn in which the run has not begun: an event where more of `wanted` have come,
  // so that a founder that waits alone is not silent. True: it is time to ask how many are here.
  bool is_time_to_tell();
  void tell_waiting(std::size_t here, std::int64_t wanted);

 private:
  const std::string kind_;
  int waits_ = 0;
  std::size_t here_ = 0;
  Guarded<std::vector<SwarmEvent>> events_;
};

}  // namespace weft
