#include "weft/collective/codec/round_codec.h"

#include <algorithm>

#include "weft/base/log.h"

namespace weft {

bool ResidualState::empty() const {
  return std::ranges::all_of(residuals, [](const ResidualValues& each) { return !each; });
}

void RoundCodec::restore(ResidualState state) {
  if (codec_.is_exact() || !codec_.has_feedback()) return;
  encoders_.clear();
  for (ResidualValues& residual : state.residuals) {
    encoders_.push_back(std::make_shared<ErrorFeedback>(codec_));
    encoders_.back()->restore(std::move(residual));
  }
  after_ = state.round;
  restored_ = true;
}

// Another for each exchange of each round.
static std::uint64_t shared_seed(Round round, std::size_t exchange) {
  return round.value() << 8U | exchange;
}

void RoundCodec::begin(Round round, std::span<const std::int64_t> elements) {
  if (codec_.is_exact()) return;
  if (open_) {
    // The same round once more without a view between: the first attempt was given up here.
    if (round <= *open_) {
      rollback();
    } else {
      settle();
    }
  }
  if (std::exchange(restored_, false) && round != after_.next()) {
    log(LogLevel::kInfo, "codec {}: the residual of round {} is dropped, the run is at round {}",
        codec_.text(), after_.value(), round.value());
    encoders_.clear();
  }
  while (encoders_.size() < elements.size()) {
    encoders_.push_back(std::make_shared<ErrorFeedback>(codec_));
  }
  for (std::size_t i = 0; i < elements.size(); ++i) {
    encoders_[i]->open(static_cast<std::size_t>(elements[i]), shared_seed(round, i));
  }
  open_ = round;
}

std::shared_ptr<ErrorFeedback> RoundCodec::encoder(std::size_t exchange) const {
  return exchange < encoders_.size() ? encoders_[exchange] : nullptr;
}

void RoundCodec::committed(std::span<const std::span<const float>> results) {
  if (!open_) return;
  commit();
  for (std::size_t i = 0; i < results.size(); ++i) encoders_[i]->take_result(results[i]);
}

void RoundCodec::commit() {
  for (const auto& encoder : encoders_) encoder->commit();
  after_ = *std::exchange(open_, std::nullopt);
}

void RoundCodec::forget_shared() {
  for (const auto& encoder : encoders_) encoder->forget_shared();
}

void RoundCodec::settle() {
  const bool sent =
      std::ranges::any_of(encoders_, [](const auto& encoder) { return encoder->pending(); });
  if (sent) commit();
  open_.reset();
  // Its result is not known here.
  forget_shared();
}

void RoundCodec::rollback() {
  for (const auto& encoder : encoders_) encoder->rollback();
  open_.reset();
}

void RoundCodec::on_view(bool follows, Round base) {
  forget_shared();
  if (!open_) return;
  if (follows && base < *open_) {
    rollback();
  } else {
    settle();
  }
}

ResidualState RoundCodec::state() const {
  ResidualState state{after_, {}};
  for (const auto& encoder : encoders_) state.residuals.push_back(encoder->residual());
  return state;
}

}  // namespace weft
