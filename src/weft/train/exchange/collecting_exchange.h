// CollectingExchange: keeps what one member contributes to a round and then aborts it, so that the
// member's state stays untouched. For the simulator and for tests.
//
// One process plays all members of a group with it: the sums over what was collected come back to
// each as a turn of kind kApply.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/train/exchange/round_exchange.h"

namespace weft {

class CollectingExchange final : public RoundExchange {
 public:
  Status begin(std::int64_t elements) override {
    values_.assign(static_cast<std::size_t>(elements), 0.0F);
    filled_.assign(static_cast<std::size_t>(elements), 0);
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values_[static_cast<std::size_t>(offset) + i] = values[i];
      ++filled_[static_cast<std::size_t>(offset) + i];
    }
  }
  Status report(Bytes report) override {
    reported_ = std::move(report);
    return {};
  }
  Result<RoundResult> finish() override { return aborted("collected"); }
  bool each_element_once() const {
    for (const int count : filled_) {
      if (count != 1) return false;
    }
    return true;
  }
  const std::vector<float>& values() const { return values_; }
  const Bytes& reported() const { return reported_; }

  Result<Turn> next() override { return Turn(); }
  void applied(Round /*round*/, const StateHash& /*hash*/) override {}
  // What is given is collected, however long it took.
  Status stand_in(const StandIn& /*stand_in*/) override { return {}; }
  StateLender* state_lender() override { return nullptr; }
  Result<ResidualState> residual_state() override { return ResidualState{}; }

 private:
  Bytes reported_;
  std::vector<float> values_;
  std::vector<int> filled_;
};

}  // namespace weft
