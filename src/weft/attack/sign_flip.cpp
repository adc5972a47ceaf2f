#include "weft/attack/sign_flip.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft {
namespace {

class SignFlip final : public RoundExchange {
 public:
  SignFlip(RoundExchange& inner, float factor) : inner_(inner), factor_(-factor) {}

  Status begin(std::int64_t elements) override {
    // What was lent to the round before is given back by now.
    lies_.resize(static_cast<std::size_t>(elements));
    return inner_.begin(elements);
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    const std::span<float> lies =
        std::span(lies_).subspan(static_cast<std::size_t>(offset), values.size());
    std::ranges::transform(values, lies.begin(), [this](float value) { return factor_ * value; });
    inner_.contribute(offset, lies);
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
  const float factor_;
  std::vector<float> lies_;
};

}  // namespace

std::unique_ptr<RoundExchange> make_sign_flip(RoundExchange& inner, float factor) {
  return std::make_unique<SignFlip>(inner, factor);
}

}  // namespace weft
