#include "weft/train/exchange/swarm_exchange.h"

#include <utility>

namespace weft {
namespace {

class SwarmExchange final : public GroupExchange, public StateLender {
 public:
  explicit SwarmExchange(std::unique_ptr<Swarm> swarm) : swarm_(std::move(swarm)) {}

  Result<Turn> next() override { return swarm_->next(); }
  Status stand_in(const StandIn& stand_in) override {
    swarm_->stand_in(stand_in);
    return {};
  }
  Status begin(std::int64_t elements) override { return swarm_->begin(elements); }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    swarm_->contribute(offset, values);
  }
  Status report(Bytes report) override { return swarm_->report(std::move(report)); }
  Result<RoundResult> finish() override {
    WEFT_TRY_ASSIGN(const std::span<const float> sums, swarm_->finish());
    return RoundResult{sums, swarm_->reports()};
  }
  void applied(Round round, const StateHash& hash) override { swarm_->applied(round, hash); }
  StateLender* state_lender() override { return this; }
  void publish_state(Round round, Bytes state) override {
    swarm_->publish_state(round, std::move(state));
  }
  void lend_state(const StateReader& read) override { swarm_->lend_state(read); }
  Status leave(Duration limit) override { return swarm_->leave(limit); }
  Result<std::string> ticket(Duration valid_for) override {
    WEFT_TRY_ASSIGN(const Ticket ticket, swarm_->ticket(valid_for));
    return format_ticket(ticket);
  }
  Result<std::string> join_code(const std::string& ticket) override {
    WEFT_TRY_ASSIGN(const Ticket parsed, parse_ticket(ticket));
    return swarm_->join_code(parsed);
  }
  Status revoke(const InvitationId& invitation) override { return swarm_->revoke(invitation); }
  Result<std::string> expel(const PeerId& peer, const std::string& reason) override {
    return swarm_->expel(peer, reason);
  }
  Result<SwarmStatus> status() override { return swarm_->status(); }
  Result<ResidualState> residual_state() override { return swarm_->residual_state(); }
  std::vector<SwarmEvent> take_events() override { return swarm_->take_events(); }
  const PeerId& self() const override { return swarm_->self(); }

 private:
  std::unique_ptr<Swarm> swarm_;
};

}  // namespace

std::unique_ptr<GroupExchange> make_swarm_exchange(std::unique_ptr<Swarm> swarm) {
  return std::make_unique<SwarmExchange>(std::move(swarm));
}

}  // namespace weft
