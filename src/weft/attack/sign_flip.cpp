#include "weft/attack/sign_flip.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

class SignFlip final : public Exchange {
 public:
  SignFlip(std::unique_ptr<Exchange> inner, float factor)
      : inner_(std::move(inner)), factor_(-factor) {}

  Status begin(std::int64_t elements) override {
    // What was lent to the round before is given back by now.
    lies_.resize(static_cast<std::size_t>(elements));
    return inner_->begin(elements);
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    const std::span<float> lies =
        std::span(lies_).subspan(static_cast<std::size_t>(offset), values.size());
    std::ranges::transform(values, lies.begin(), [this](float value) { return factor_ * value; });
    inner_->contribute(offset, lies);
  }

  Result<Turn> next() override { return inner_->next(); }
  void stand_in(const StandIn& stand_in) override { inner_->stand_in(stand_in); }
  Status report(Bytes report) override { return inner_->report(std::move(report)); }
  Result<RoundResult> finish() override { return inner_->finish(); }
  void applied(Round round, const StateHash& hash) override { inner_->applied(round, hash); }
  void publish_state(Round round, Bytes state) override {
    inner_->publish_state(round, std::move(state));
  }
  void lend_state(const StateReader& read) override { inner_->lend_state(read); }
  Status leave(Duration limit) override { return inner_->leave(limit); }
  Result<std::string> ticket(Duration valid_for) override { return inner_->ticket(valid_for); }
  Result<SwarmStatus> status() override { return inner_->status(); }
  std::vector<SwarmEvent> take_events() override { return inner_->take_events(); }
  const PeerId& self() const override { return inner_->self(); }

 private:
  std::unique_ptr<Exchange> inner_;
  const float factor_;
  std::vector<float> lies_;
};

}  // namespace

std::unique_ptr<Exchange> make_sign_flip(std::unique_ptr<Exchange> inner, float factor) {
  return std::make_unique<SignFlip>(std::move(inner), factor);
}

}  // namespace weft
