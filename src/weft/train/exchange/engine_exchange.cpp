#include "weft/train/exchange/engine_exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/collective/engine/gather_bytes.h"
#include "weft/wire/collective_message.h"

namespace weft {
namespace {

constexpr std::uint16_t kRounds = 0;
constexpr std::uint16_t kComparisons = 1;

// What members compare before a round. It travels as f32 by an all-gather, which touches no bits.
struct Stand {
  Hash128 state{};
  std::uint64_t round = 0;
  std::uint32_t leaves = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(Stand) % sizeof(float) == 0);
constexpr std::size_t kStandFloats = sizeof(Stand) / sizeof(float);

class EngineExchange final : public GroupExchange {
 public:
  EngineExchange(std::unique_ptr<Engine> engine, const EngineExchangeOptions& options)
      : options_(options), engine_(std::move(engine)), applied_(options.resume_round) {}

  ~EngineExchange() override {
    // The others may wait for this member: nothing else would tell them.
    if (!ended_together_) engine_->abandon();
  }
  EngineExchange(const EngineExchange&) = delete;
  EngineExchange& operator=(const EngineExchange&) = delete;

  Result<Turn> next() override {
    WEFT_TRY(compare(false));
    Turn turn;
    turn.members = engine_->size();
    turn.rank = Rank(engine_->rank());
    turn.kind = TurnKind::kFinished;
    turn.round = applied_;
    if (applied_ >= options_.last_round && options_.last_round != Round()) {
      ended_together_ = true;
      return turn;
    }
    turn.kind = TurnKind::kTrain;
    turn.round = applied_.next();
    return turn;
  }
  Status stand_in(const StandIn& /*stand_in*/) override {
    return unavailable("group.wait: expected \"all\": members of an engine wait for each other");
  }
  Status begin(std::int64_t elements) override {
    report_.reset();
    input_.resize(static_cast<std::size_t>(elements));
    sums_.resize(input_.size());
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    std::copy(values.begin(), values.end(), input_.begin() + offset);
  }
  Status report(Bytes report) override {
    if (report.size() > kReportBytesMax) {
      return invalid_argument(
          fmt::format("report: expected at most {} bytes, got {}", kReportBytesMax, report.size()));
    }
    report_ = std::move(report);
    return {};
  }
  Result<RoundResult> finish() override {
    if (!report_) return invalid_argument("finish: expected report() before");
    WEFT_TRY(engine_->all_reduce(input_, sums_, call(kRounds))->wait(options_.limit));
    // What each sends and receives at least, whatever the library does.
    bytes_ += 2 * sums_.size() * sizeof(float) * static_cast<std::size_t>(engine_->size() - 1) /
              static_cast<std::size_t>(engine_->size());
    WEFT_TRY_ASSIGN(reports_, gather_bytes(*engine_, *report_, kReportBytesMax, call(kRounds)));
    return RoundResult{sums_, reports_};
  }
  void applied(Round round, const StateHash& hash) override {
    applied_ = round;
    hash_ = hash.total;
  }
  StateLender* state_lender() override { return nullptr; }
  Result<ResidualState> residual_state() override { return ResidualState{}; }
  Status leave(Duration /*limit*/) override {
    // The others hear of it where they would have begun the next round.
    const Status told = compare(true);
    return told.code() == Code::kUnavailable ? Status() : told;
  }
  Result<std::string> ticket(Duration /*valid_for*/) override { return fixed("ticket"); }
  Result<std::string> join_code(const std::string& /*ticket*/) override { return fixed("code"); }
  Status revoke(const InvitationId& /*invitation*/) override { return fixed("revoke"); }
  Result<std::string> expel(const PeerId& /*peer*/, const std::string& /*reason*/) override {
    return fixed("expel");
  }
  Result<SwarmStatus> status() override {
    SwarmStatus status;
    status.state = "member";
    status.committed = status.applied = applied_;
    status.state_hash = hash_;
    status.bytes_sent = status.bytes_received = bytes_;
    for (int rank = 0; rank < engine_->size(); ++rank) {
      PeerStatus peer;
      peer.rank = Rank(rank);
      peer.self = rank == engine_->rank();
      if (peer.self) peer.id = options_.self;
      peer.linked = !peer.self;
      status.members.push_back(peer);
    }
    return status;
  }
  std::vector<SwarmEvent> take_events() override { return {}; }
  const PeerId& self() const override { return options_.self; }

 private:
  static Status fixed(const char* asked) {
    return unavailable(fmt::format("{}: the members of this run are fixed", asked));
  }
  CallOptions call(std::uint16_t channel) const {
    CallOptions call;
    call.channel = channel;
    call.limit = options_.limit;
    return call;
  }
  Status compare(bool leaves);

  const EngineExchangeOptions options_;
  std::unique_ptr<Engine> engine_;
  Round applied_;
  Hash128 hash_{};
  std::vector<float> input_;
  std::vector<float> sums_;
  std::optional<Bytes> report_;
  std::vector<Bytes> reports_;
  std::uint64_t bytes_ = 0;
  // All members know that the run is over.
  bool ended_together_ = false;
};

Status EngineExchange::compare(bool leaves) {
  Stand own;
  own.state = hash_;
  own.round = applied_.value();
  own.leaves = leaves ? 1 : 0;
  std::array<float, kStandFloats> sent{};
  std::memcpy(sent.data(), &own, sizeof own);
  std::vector<float> all(kStandFloats * static_cast<std::size_t>(engine_->size()));
  WEFT_TRY(engine_->all_gather(sent, all, call(kComparisons))->wait(options_.limit));
  int leaver = -1;
  for (int rank = 0; rank < engine_->size(); ++rank) {
    Stand other;
    std::memcpy(static_cast<void*>(&other),
                all.data() + kStandFloats * static_cast<std::size_t>(rank), sizeof other);
    if (other.round != own.round || other.state != own.state) ended_together_ = true;
    if (other.round != own.round) {
      return corrupt(fmt::format("rank {} stands after round {}, this one after round {}", rank,
                                 other.round, own.round));
    }
    if (other.state != own.state) {
      return corrupt(fmt::format("the state of rank {} differs after round {}", rank, own.round));
    }
    if (other.leaves != 0) leaver = rank;
  }
  if (leaver < 0) return {};
  ended_together_ = true;
  return unavailable(fmt::format("rank {} was asked to stop, and all stop with it", leaver));
}

}  // namespace

std::unique_ptr<GroupExchange> make_engine_exchange(std::unique_ptr<Engine> engine,
                                                    const EngineExchangeOptions& options) {
  return std::make_unique<EngineExchange>(std::move(engine), options);
}

}  // namespace weft
