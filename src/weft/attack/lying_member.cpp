#include "weft/attack/lying_member.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft {
namespace {

class LyingMember final : public RoundExchange {
 public:
  LyingMember(RoundExchange& inner, Attack attack) : inner_(inner), attack_(std::move(attack)) {}

  Status begin(std::int64_t elements) override {
    // What was lent to the round before is given back by now.
    own_.resize(static_cast<std::size_t>(elements));
    lies_.resize(own_.size());
    ready_ = 0;
    return inner_.begin(elements);
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    std::ranges::copy(values, own_.begin() + static_cast<std::ptrdiff_t>(offset));
    ready_ += values.size();
    if (ready_ < own_.size()) return;
    const std::span<const float> known = own_;
    attack_.forge({.honest = {&known, 1}, .own = known, .seed = memory_.rounds}, memory_, lies_);
    inner_.contribute(0, lies_);
  }

  Result<Turn> next() override { return inner_.next(); }
  Status stand_in(const StandIn& stand_in) override { return inner_.stand_in(stand_in); }
  Status report(Bytes report) override { return inner_.report(std::move(report)); }
  Result<RoundResult> finish() override { return inner_.finish(); }
  void applied(Round round, const StateHash& hash) override { inner_.applied(round, hash); }
  StateLender* state_lender() override { return inner_.state_lender(); }
  Result<ResidualState> residual_state() override { return inner_.residual_state(); }

 private:
  RoundExchange& inner_;
  const Attack attack_;
  AttackMemory memory_;
  std::vector<float> own_;
  std::vector<float> lies_;
  std::size_t ready_ = 0;
};

}  // namespace

std::unique_ptr<RoundExchange> make_lying_member(RoundExchange& inner, Attack attack) {
  return std::make_unique<LyingMember>(inner, std::move(attack));
}

}  // namespace weft
