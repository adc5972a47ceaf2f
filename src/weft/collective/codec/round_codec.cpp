#include "weft/collective/codec/round_codec.h"

#include "weft/base/log.h"

namespace weft {

RoundCodec::RoundCodec(const Codec& codec) : codec_(codec) {
  if (!codec.is_exact()) encoder_ = std::make_shared<ErrorFeedback>(codec);
}

void RoundCodec::restore(ResidualState state) {
  if (!encoder_ || !codec_.has_feedback()) return;
  encoder_->restore(std::move(state.residual));
  after_ = state.round;
  restored_ = true;
}

std::shared_ptr<ErrorFeedback> RoundCodec::begin(Round round) {
  if (!encoder_) return nullptr;
  if (encoder_->pending()) {
    // The same round once more without a view between: the first attempt was given up here.
    if (round <= begun_) {
      encoder_->rollback();
    } else {
      settle();
    }
  }
  if (std::exchange(restored_, false) && round != after_.next()) {
    log(LogLevel::kInfo, "codec {}: the residual of round {} is dropped, the run is at round {}",
        codec_.text(), after_.value(), round.value());
    encoder_->restore(nullptr);
  }
  begun_ = round;
  return encoder_;
}

void RoundCodec::committed() {
  if (!encoder_ || !encoder_->pending()) return;
  encoder_->commit();
  after_ = begun_;
}

void RoundCodec::on_view(bool follows, Round base) {
  if (!encoder_ || !encoder_->pending()) return;
  if (follows && base < begun_) {
    encoder_->rollback();
  } else {
    settle();
  }
}

ResidualState RoundCodec::state() const {
  if (!encoder_) return {};
  return {after_, encoder_->residual()};
}

}  // namespace weft
