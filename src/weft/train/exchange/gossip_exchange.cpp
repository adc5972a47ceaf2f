#include "weft/train/exchange/gossip_exchange.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/train/exchange/loose_exchange.h"

namespace weft {
namespace {

// A request to stop is looked at so often.
constexpr Duration kTurnWait = std::chrono::milliseconds(200);
// Members that status() lists besides this one, those with links first.
constexpr std::size_t kListedMax = 31;

class GossipExchange final : public LooseExchange {
 public:
  GossipExchange(std::unique_ptr<GossipMember> member, const GossipExchangeOptions& options)
      : LooseExchange("gossip"),
        options_(options),
        member_(std::move(member)),
        applied_(options.applied) {}

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
    if (given.phase == GossipPhase::kGathering) tell_of_wait();
    if (given.phase != GossipPhase::kIdle) return Turn{};
    turn.kind = TurnKind::kTrain;
    if (!fetched_.empty()) {
      const auto kept = std::make_shared<const std::vector<float>>(std::exchange(fetched_, {}));
      turn.state = SharedBytes(kept, as_bytes(std::span<const float>(*kept)));
    }
    return turn;
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
  Status leave(Duration limit) override { return member_->leave(limit); }
  Result<std::string> ticket(Duration valid_for) override {
    WEFT_TRY_ASSIGN(const Ticket ticket, member_->ticket(valid_for));
    return format_ticket(ticket);
  }
  Result<std::string> join_code(const std::string& ticket) override {
    WEFT_TRY_ASSIGN(const Ticket parsed, parse_ticket(ticket));
    return member_->join_code(parsed);
  }
  Result<SwarmStatus> status() override;
  const PeerId& self() const override { return member_->self(); }

 private:
  // The steps are done: what is left is the own measurement.
  Result<Turn> next_alone(Turn turn) {
    const bool over = applied_ >= options_.last_round;
    turn.kind = over ? TurnKind::kFinished : TurnKind::kTrain;
    turn.round = over ? applied_ : applied_.next();
    return turn;
  }

  void tell_of_wait() {
    if (!is_time_to_tell()) return;
    const Result<GossipStatus> status = member_->status();
    if (status.ok()) tell_waiting(status->members, options_.start_members);
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
