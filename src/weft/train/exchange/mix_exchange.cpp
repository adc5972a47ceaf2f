#include "weft/train/exchange/mix_exchange.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/train/exchange/loose_exchange.h"
#include "weft/train/report/round_report.h"

namespace weft {
namespace {

// A request to stop is looked at so often.
constexpr Duration kMixTurnWait = std::chrono::milliseconds(200);

// The model, and behind it what is given beside it.
SharedBytes state_bytes(const MixWork& work) {
  const ByteSpan model = as_bytes(std::span<const float>(*work.model));
  if (work.beside == nullptr) return {work.model, model};
  const ByteSpan beside = as_bytes(std::span<const float>(*work.beside));
  Bytes both(model.begin(), model.end());
  both.insert(both.end(), beside.begin(), beside.end());
  return SharedBytes(std::move(both));
}

class MixExchange final : public LooseExchange {
 public:
  MixExchange(std::unique_ptr<MixMember> member, MixExchangeOptions options)
      : LooseExchange("mix"),
        options_(std::move(options)),
        member_(std::move(member)),
        report_(RoundReport{}.encode()) {}

  Result<Turn> next() override;
  Status begin(std::int64_t elements) override {
    own_.assign(static_cast<std::size_t>(elements), 0.0F);
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    std::copy(values.begin(), values.end(), own_.begin() + offset);
  }
  Status report(Bytes report) override {
    report_ = std::move(report);
    return {};
  }
  Result<RoundResult> finish() override;
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
  Turn own_turn() const {
    Turn turn;
    turn.members = 1;
    turn.peers = {member_->self()};
    return turn;
  }
  Turn turn_of(MixWork work);
  Turn last_turn(const MixVector& result);
  Result<MixTurn> wait_turn();
  Status begin_run();
  void tell_news();
  std::int64_t steps_at(std::uint64_t version) const;
  RoundResult result_of(const MixVector& model, std::int64_t steps);

  const MixExchangeOptions options_;
  std::unique_ptr<MixMember> member_;
  Round applied_;
  Hash128 hash_{};
  std::vector<float> own_;
  Bytes report_;
  // The work of the last kTrain turn; that which finish() has met.
  MixWork work_;
  std::optional<MixWork> next_;
  bool trains_ = false;
  // The last model is applied.
  bool over_ = false;
  MixVector shown_;  // what spans of results refer to
  std::uint32_t number_ = 0;
  std::vector<PeerId> there_;
  std::uint64_t changes_ = 0;
};

std::int64_t MixExchange::steps_at(std::uint64_t version) const {
  const auto rounds = static_cast<std::int64_t>(version / options_.method->mixes);
  return std::min(options_.steps, rounds * options_.local_steps);
}

Turn MixExchange::turn_of(MixWork work) {
  Turn turn = own_turn();
  turn.kind = TurnKind::kTrain;
  turn.round = Round(work.version / options_.method->mixes + 1);
  turn.state = state_bytes(work);
  turn.own = {number_, options_.members, work.steps};
  work_ = std::move(work);
  trains_ = true;
  return turn;
}

Turn MixExchange::last_turn(const MixVector& result) {
  over_ = true;
  shown_ = result;
  Turn turn = own_turn();
  turn.kind = TurnKind::kApply;
  turn.round = options_.training_rounds;
  turn.reduced = *shown_;
  turn.reports = {report_};
  return turn;
}

Result<MixTurn> MixExchange::wait_turn() {
  Result<MixTurn> turn = member_->wait_turn(kMixTurnWait);
  tell_news();
  if (turn.ok()) number_ = turn->self;
  return turn;
}

Status MixExchange::begin_run() {
  MixTools tools;
  if (options_.make_tools) {
    WEFT_TRY_ASSIGN(tools, options_.make_tools(number_));
  }
  member_->begin(options_.first_model(number_), std::move(tools));
  return {};
}

Result<Turn> MixExchange::next() {
  if (over_) {
    Turn turn = own_turn();
    const bool is_measured = options_.last_round > options_.training_rounds;
    const bool measured = !is_measured || applied_ >= options_.last_round;
    turn.kind = measured ? TurnKind::kFinished : TurnKind::kTrain;
    turn.round = measured ? applied_ : options_.last_round;
    trains_ = false;
    return turn;
  }
  if (next_) return turn_of(*std::exchange(next_, std::nullopt));
  WEFT_TRY_ASSIGN(MixTurn given, wait_turn());
  if (given.result) return last_turn(given.result);
  if (given.work) return turn_of(std::move(*given.work));
  if (given.phase == MixPhase::kNumbered) WEFT_TRY(begin_run());
  if (given.phase == MixPhase::kGathering && is_time_to_tell()) {
    const Result<MixStatus> status = member_->status();
    if (status.ok() && status->self == 0) {
      LooseExchange::tell_waiting(status->members, options_.members);
    }
  }
  return Turn{};
}

RoundResult MixExchange::result_of(const MixVector& model, std::int64_t steps) {
  shown_ = model;
  RoundResult result{*shown_, std::span<const Bytes>(&report_, 1)};
  result.steps = steps;
  const Result<MixStatus> status = member_->status();
  if (!status.ok()) return result;
  Mixing& mixing = result.mixing.emplace();
  const MixStyle style = options_.method->plan.style();
  mixing.common = style == MixStyle::kServer || style == MixStyle::kSampled;
  mixing.members = static_cast<std::int64_t>(status->members);
  mixing.mixed = std::max<std::int64_t>(0, std::int64_t{status->contributions} - 1);
  mixing.neighbours = mixing.mixed;
  return result;
}

Result<RoundResult> MixExchange::finish() {
  if (!trains_) return RoundResult{own_, std::span<const Bytes>(&report_, 1)};
  WEFT_TRY_ASSIGN(const RoundReport own, RoundReport::decode(report_));
  member_->worked(work_.id, std::make_shared<const std::vector<float>>(own_),
                  {own.loss * own.labels, own.correct, own.samples, own.labels});
  while (!options_.stop_asked || !options_.stop_asked()) {
    WEFT_TRY_ASSIGN(MixTurn given, wait_turn());
    if (given.result) {
      over_ = true;
      return result_of(given.result, options_.steps);
    }
    if (!given.work) continue;
    next_ = std::move(given.work);
    return result_of(next_->model, steps_at(next_->version));
  }
  return aborted("asked to stop");
}

void MixExchange::tell_news() {
  MixNews news = member_->take_news();
  const auto tell_members = [this](std::string text) {
    SwarmEvent event;
    event.kind = SwarmEventKind::kViewChanged;
    event.view.number = ViewNumber(++changes_);
    event.round = applied_;
    event.peers = there_;
    event.text = std::move(text);
    add_event(std::move(event));
  };
  if (!news.roster.empty()) {
    there_ = std::move(news.roster);
    tell_members(fmt::format("all {} members are here", there_.size()));
  }
  for (const MixLost& lost : news.lost) {
    SwarmEvent event;
    event.kind = SwarmEventKind::kPeerLeft;
    event.peer = lost.peer;
    event.text = "(" + lost.why.message() + ")";
    add_event(std::move(event));
    std::erase(there_, lost.peer);
    tell_members("peer " + lost.peer.short_name() + " left");
  }
}

Result<SwarmStatus> MixExchange::status() {
  WEFT_TRY_ASSIGN(const MixStatus mix, member_->status());
  SwarmStatus status;
  status.state = mix.phase == MixPhase::kRunning ? "member"
                 : mix.phase == MixPhase::kOver  ? "left"
                                                 : "joining";
  status.committed = status.applied = applied_;
  status.state_hash = hash_;
  status.known_members = mix.members;
  status.bytes_sent = mix.bytes_sent;
  status.bytes_received = mix.bytes_received;
  PeerStatus own;
  own.id = self();
  own.self = true;
  own.rank = Rank(static_cast<std::int32_t>(mix.self));
  status.members.push_back(own);
  for (const MixPeerStatus& other : mix.others) {
    PeerStatus peer;
    peer.id = other.id;
    peer.rank = Rank(static_cast<std::int32_t>(other.number));
    peer.linked = other.linked;
    peer.rtt_seconds = other.rtt_seconds;
    peer.bytes_sent = other.bytes_sent;
    peer.bytes_received = other.bytes_received;
    status.members.push_back(peer);
  }
  std::ranges::sort(status.members, {}, &PeerStatus::rank);
  return status;
}

}  // namespace

std::unique_ptr<GroupExchange> make_mix_exchange(std::unique_ptr<MixMember> member,
                                                 MixExchangeOptions options) {
  return std::make_unique<MixExchange>(std::move(member), std::move(options));
}

}  // namespace weft
