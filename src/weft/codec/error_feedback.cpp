#include "weft/codec/error_feedback.h"

#include <algorithm>
#include <utility>

#include "weft/base/check.h"
#include "weft/codec/loops/codec_loops.h"

namespace weft {

Bytes ErrorFeedback::encode(std::span<const float> values, std::uint64_t seed) {
  WEFT_CHECK(!pending_);
  pending_ = true;
  next_ = residual_;
  if (!codec_.has_feedback() || values.empty()) {
    return codec_.encode(values, seed, shared());
  }
  std::vector<float> wanted(values.begin(), values.end());
  if (residual_ && residual_->size() == wanted.size()) {
    codec_loops().add(wanted.data(), residual_->data(), wanted.size());
  }
  Bytes payload = codec_.encode(wanted, seed, shared());
  std::vector<float> sent(wanted.size());
  // An encoder's own bytes decode.
  WEFT_CHECK(decode(payload, sent).ok());
  auto next = std::make_shared<std::vector<float>>(wanted.size());
  codec_loops().keep(wanted.data(), sent.data(), next->data(), next->size());
  next_ = std::move(next);
  return payload;
}

Status ErrorFeedback::decode(ByteSpan payload, std::span<float> out) const {
  return codec_.decode(payload, out, shared());
}

void ErrorFeedback::open(std::size_t elements, std::uint64_t seed) {
  WEFT_CHECK(!pending_);
  if (!codec_.has_shared()) return;
  seed_ = seed;
  if (!shared_ || shared_->elements != elements) shared_ = codec_.begin_shared(elements, seed);
}

void ErrorFeedback::take_result(std::span<const float> result) {
  if (shared_) shared_ = codec_.next_shared(*shared_, result, seed_);
}

void ErrorFeedback::commit() {
  if (pending_) residual_ = std::exchange(next_, nullptr);
  pending_ = false;
}

void ErrorFeedback::rollback() {
  next_.reset();
  pending_ = false;
}

void ErrorFeedback::restore(ResidualValues residual) {
  WEFT_CHECK(!pending_);
  residual_ = std::move(residual);
}

}  // namespace weft
