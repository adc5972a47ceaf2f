// ScriptedExchange: a group of one for tests, with a script of what goes wrong. Tests only.
//
// Gives the turns that were put in with give_*(), then trains every round up to the last. Sums are
// the member's own contributions, and the reports its own.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/train/exchange/group_exchange.h"

namespace weft {

class ScriptedExchange : public GroupExchange, public StateLender {
 public:
  explicit ScriptedExchange(Round last_round) : last_round_(last_round) {}

  // --- The script.
  void start_after(Round round) { applied_ = round; }
  void give(Turn turn) { turns_.push_back(std::move(turn)); }
  static Turn wait_turn() { return {}; }
  void give_state(Round round, Bytes state) {
    Turn turn;
    turn.kind = TurnKind::kLoadState;
    turn.round = round;
    turn.state = SharedBytes(std::move(state));
    give(turn);
    applied_ = round;
  }
  void give_result(Round round, const std::vector<float>& sums, std::vector<Bytes> reports = {}) {
    kept_.push_back(sums);
    Turn turn;
    turn.kind = TurnKind::kApply;
    turn.round = round;
    turn.members = 1;
    turn.reduced = kept_.back();
    turn.reports = std::move(reports);
    give(turn);
  }
  void abort_next(Round round, int times) { aborts_[round.value()] = times; }
  void fail_next(Round round, Status status) { failures_[round.value()] = std::move(status); }
  void tell(Round round, SwarmEvent event) { events_[round.value()].push_back(std::move(event)); }
  void record_snapshot_after(Round round) { snapshot_after_ = round; }

  // --- What happened.
  std::uint64_t rounds_applied() const { return applied_.value(); }
  const std::map<std::uint64_t, std::vector<float>>& results() const { return results_; }
  // What this member has reported of a round that was committed.
  const std::vector<Bytes>& reports(Round round) const { return reports_.at(round.value()); }
  const Bytes& snapshot() const { return snapshot_; }
  // Each state that was lent and not taken back when a round ended, as it was then.
  const std::deque<Bytes>& lent_in_rounds() const { return lent_in_rounds_; }
  // How often a state was lent; and whether one is.
  int loans() const { return loans_; }
  bool has_loan() const { return lent_ != nullptr; }
  bool left() const { return left_; }

  // --- RoundExchange.
  Result<Turn> next() override {
    if (!turns_.empty()) {
      Turn turn = turns_.front();
      turns_.pop_front();
      return turn;
    }
    Turn turn;
    if (snapshot_after_ == applied_ && snapshot_.empty() && applied_ > Round(0)) {
      turn.kind = TurnKind::kSnapshot;
      turn.round = applied_;
      return turn;
    }
    turn.round = Round(applied_.value() + 1);
    turn.kind = turn.round > last_round_ ? TurnKind::kFinished : TurnKind::kTrain;
    turn.members = 1;
    turn.rank = Rank(0);
    open_ = turn.round;
    if (const auto found = failures_.find(turn.round.value()); found != failures_.end()) {
      return found->second;
    }
    return turn;
  }
  Status begin(std::int64_t elements) override {
    sums_.assign(static_cast<std::size_t>(elements), -1.0e30F);
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    std::copy(values.begin(), values.end(), sums_.begin() + offset);
  }
  Status report(Bytes report) override {
    report_ = std::move(report);
    return {};
  }
  Result<RoundResult> finish() override {
    if (lent_) lent_in_rounds_.push_back(lent_());
    if (aborts_[open_.value()]-- > 0) return aborted("the view changed");
    results_[open_.value()] = sums_;
    reports_[open_.value()] = {report_};
    return RoundResult{sums_, reports_[open_.value()]};
  }
  void applied(Round round, const StateHash& /*hash*/) override { applied_ = round; }
  // Alone: whenever it comes, it is in time.
  Status stand_in(const StandIn& /*stand_in*/) override { return {}; }
  Result<ResidualState> residual_state() override { return ResidualState{}; }
  StateLender* state_lender() override { return this; }
  void publish_state(Round /*round*/, Bytes state) override { snapshot_ = std::move(state); }
  void lend_state(const StateReader& read) override {
    lent_ = read;
    if (lent_) ++loans_;
  }
  // --- GroupAdministration.
  Status leave(Duration /*limit*/) override {
    left_ = true;
    return {};
  }
  Result<std::string> ticket(Duration /*valid_for*/) override {
    return std::string("weft2-scripted");
  }
  Result<std::string> join_code(const std::string& /*ticket*/) override {
    return unavailable("code: scripted");
  }
  Status revoke(const InvitationId& /*invitation*/) override {
    return unavailable("revoke: scripted");
  }
  Result<std::string> expel(const PeerId& /*peer*/, const std::string& /*reason*/) override {
    return unavailable("expel: scripted");
  }
  Result<SwarmStatus> status() override { return SwarmStatus(); }
  std::vector<SwarmEvent> take_events() override {
    auto events = std::move(events_[open_.value()]);
    events_[open_.value()].clear();
    return events;
  }
  const PeerId& self() const override { return self_; }

 private:
  const Round last_round_;
  Round applied_;
  Round open_;
  Round snapshot_after_;
  PeerId self_;
  std::deque<Turn> turns_;
  std::deque<std::vector<float>> kept_;
  std::map<std::uint64_t, int> aborts_;
  std::map<std::uint64_t, Status> failures_;
  std::map<std::uint64_t, std::vector<SwarmEvent>> events_;
  std::map<std::uint64_t, std::vector<float>> results_;
  std::map<std::uint64_t, std::vector<Bytes>> reports_;
  std::vector<float> sums_;
  Bytes report_;
  Bytes snapshot_;
  StateReader lent_;
  int loans_ = 0;
  std::deque<Bytes> lent_in_rounds_;
  bool left_ = false;
};

}  // namespace weft
