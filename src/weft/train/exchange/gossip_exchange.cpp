#include "weft/train/exchange/gossip_exchange.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/base/thread.h"

namespace weft {
namespace {

// A request to stop is looked at so often.
constexpr Duration kTurnWait = std::chrono::milliseconds(200);
// Members that status() lists besides this one, those with links first.
constexpr std::size_t kListedMax = 31;
// A wait for the first round is told after a second, and then every 10 s if more have come.
constexpr int kTurnsBeforeNews = 5;
constexpr int kTurnsBetweenNews = 50;

class GossipExchange final : public GroupExchange {
 public:
  GossipExchange(std::unique_ptr<GossipMember> member, const GossipExchangeOptions& options)
      : options_(options), member_(std::move(member)), applied_(options.applied) {}

  Result<Turn> next() override {
    Turn turn;
    turn.members = 1;
    turn.peers = {member_->self()};
    if (applied_ >= options_.training_rounds) return next_alone(std::move(turn));
    WEFT_TRY_ASSIGN(GossipTurn given, member_->wait_turn(kTurnWait));
    if (!given.fetched.empty()) fetched_ = std::move(given.fetched);
    turn.round = given.round;
    if (given.phase == GossipPhase::kOver) {
      return unavailable(
          "join: the run has reached its last round; there is nothing to take part "
          "in any more");
    }
    if (given.phase == GossipPhase::kGathering) tell_waiting();
    if (given.phase != GossipPhase::kIdle) return Turn{};
    turn.kind = TurnKind::kTrain;
    if (!fetched_.empty()) {
      const auto kept = std::make_shared<const std::vector<float>>(std::exchange(fetched_, {}));
      turn.state = SharedBytes(kept, as_bytes(std::span<const float>(*kept)));
    }
    return turn;
  }

  Status stand_in(const StandIn& /*stand_in*/) override {
    return unavailable("group.wait: expected \"all\": gossip waits for nobody");
  }
  Status begin(std::int64_t elements) override {
    own_.assign(static_cast<std::size_t>(elements), 0.0F);
    report_.clear();
    mixes_ = elements == options_.elements;
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    std::copy(values.begin(), values.end(), own_.begin() + offset);
    // The parameters come whole, and leave before their gradient is computed.
    if (mixes_ && values.size() == own_.size()) begun_ = member_->begin(own_);
  }
  // There is no commit, so no other member gets it: a round has this member's report alone.
  Status report(Bytes report) override {
    report_ = std::move(report);
    return {};
  }
  Result<RoundResult> finish() override {
    RoundResult result{own_, std::span<const Bytes>(&report_, 1)};
    if (!mixes_) return result;
    WEFT_TRY(begun_);
    WEFT_TRY_ASSIGN(const GossipMix mix, member_->finish(own_));
    Mixing& mixing = result.mixing.emplace();
    mixing.members = static_cast<std::int64_t>(mix.members);
    mixing.neighbours = static_cast<std::int64_t>(mix.degree);
    mixing.mixed = static_cast<std::int64_t>(mix.mixed);
    return result;
  }
  void applied(Round round, const StateHash& hash) override {
    applied_ = round;
    hash_ = hash.total;
  }
  // Newcomers get the parameters from the members that they know.
  StateLender* state_lender() override { return nullptr; }
  Result<ResidualState> residual_state() override { return ResidualState{}; }
  Status leave(Duration limit) override { return member_->leave(limit); }
  Result<std::string> ticket(Duration valid_for) override {
    WEFT_TRY_ASSIGN(const Ticket ticket, member_->ticket(valid_for));
    return format_ticket(ticket);
  }
  Result<std::string> join_code(const std::string& ticket) override {
    WEFT_TRY_ASSIGN(const Ticket parsed, parse_ticket(ticket));
    return member_->join_code(parsed);
  }
  Status revoke(const InvitationId& /*invitation*/) override {
    return unavailable(
        "revoke: members of a run with group.exchange = \"gossip\" agree on nothing, and so not on "
        "void tickets; give out tickets that end soon (weft ticket OUT --valid-h HOURS)");
  }
  Result<std::string> expel(const PeerId& /*peer*/, const std::string& /*reason*/) override {
    return unavailable(
        "expel: members of a run with group.exchange = \"gossip\" agree on nothing, and so not on "
        "who may stay; with group.exchange = \"exact\" they vote");
  }
  Result<SwarmStatus> status() override;
  std::vector<SwarmEvent> take_events() override {
    return events_.with([](auto& events) { return std::exchange(events, {}); });
  }
  const PeerId& self() const override { return member_->self(); }

 private:
  // The steps are done: what is left is the own measurement.
  Result<Turn> next_alone(Turn turn) {
    const bool over = applied_ >= options_.last_round;
    turn.kind = over ? TurnKind::kFinished : TurnKind::kTrain;
    turn.round = over ? applied_ : applied_.next();
    return turn;
  }

  // So that a founder that waits alone is not silent.
  void tell_waiting() {
    if (++waits_ % kTurnsBetweenNews != kTurnsBeforeNews) return;
    const Result<GossipStatus> status = member_->status();
    if (!status.ok() || std::exchange(here_, status->members) == status->members) return;
    SwarmEvent event;
    event.kind = SwarmEventKind::kStartWaiting;
    event.text = fmt::format(
        "the first round waits for members: {} of {} (group.start_members) are here; others join "
        "with the ticket",
        status->members, options_.start_members);
    events_.with([&](auto& events) { events.push_back(std::move(event)); });
  }

  const GossipExchangeOptions options_;
  std::unique_ptr<GossipMember> member_;
  Round applied_;
  Hash128 hash_{};
  std::vector<float> fetched_;
  std::vector<float> own_;
  Bytes report_;
  bool mixes_ = false;
  Status begun_;
  int waits_ = 0;  // turns in which the first round could not begin
  std::size_t here_ = 0;
  Guarded<std::vector<SwarmEvent>> events_;
};

Result<SwarmStatus> GossipExchange::status() {
  WEFT_TRY_ASSIGN(const GossipStatus gossip, member_->status());
  SwarmStatus status;
  const bool in = gossip.phase == GossipPhase::kIdle || gossip.phase == GossipPhase::kOpen;
  status.state = in ? "member" : gossip.phase == GossipPhase::kOver ? "left" : "joining";
  status.committed = status.applied = applied_;
  status.state_hash = hash_;
  status.known_members = gossip.members;
  status.rounds_late = gossip.counts.jumps;
  status.bytes_sent = gossip.bytes_sent;
  status.bytes_received = gossip.bytes_received;
  PeerStatus own;
  own.id = self();
  own.self = true;
  status.members.push_back(own);
  // In a loose exchange places have no meaning: they only tell the lines of a list apart. A book of
  // thousands is no list for people.
  std::vector<GossipPeerStatus> listed = gossip.others;
  std::stable_partition(listed.begin(), listed.end(), std::mem_fn(&GossipPeerStatus::linked));
  if (listed.size() > kListedMax) listed.resize(kListedMax);
  for (const GossipPeerStatus& other : listed) {
    PeerStatus peer;
    peer.id = other.id;
    peer.rank = Rank(static_cast<std::int32_t>(status.members.size()));
    peer.linked = other.linked;
    peer.rtt_seconds = other.rtt_seconds;
    peer.bytes_sent = other.bytes_sent;
    peer.bytes_received = other.bytes_received;
    status.members.push_back(peer);
  }
  return status;
}

}  // namespace

std::unique_ptr<GroupExchange> make_gossip_exchange(std::unique_ptr<GossipMember> member,
                                                    const GossipExchangeOptions& options) {
  return std::make_unique<GossipExchange>(std::move(member), options);
}

}  // namespace weft
