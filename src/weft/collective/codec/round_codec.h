// RoundCodec: a member's encoder over the rounds of a run, and what becomes of its residual.
//
//   begin -> the round's collective encodes -> committed       the residual is what was not sent
//                                           \-> view follows   committed if the view's base reaches
//                                                              the round, else as before the round
//                                           \-> unknown        as if committed
//
// A round that was encoded here and whose end is not known, because views were missed or this
// member was removed, may have been committed by the others. Its residual then counts as
// delivered: what a payload carried may be lost, once, and is never applied twice. A residual from
// a checkpoint is used only if the first round is the one that follows it; else the rounds between
// have had it already, from the process that died.
//
// Where it stands: RoundCore owns one. Threads: one owner.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "weft/codec/error_feedback.h"
#include "weft/wire/ids.h"

namespace weft {

// After the last committed round whose payload this member encoded, or as it was restored.
struct ResidualState {
  Round round;
  // Null: zeros.
  ResidualValues residual;
};

class RoundCodec {
 public:
  // `codec` stands per member; one that is exact does nothing.
  explicit RoundCodec(const Codec& codec);

  // Before the first round.
  void restore(ResidualState state);
  // For the collective of `round`; null where values travel as they are.
  std::shared_ptr<ErrorFeedback> begin(Round round);
  // The round that was begun last is committed.
  void committed();
  // A view: the next after the one of the round, or a later one, and the last round that is
  // committed in it.
  void on_view(bool follows, Round base);
  // This member is in no view any more.
  void on_leave() { settle(); }

  const Codec& codec() const { return codec_; }
  ResidualState state() const;

 private:
  // What is still open counts as delivered.
  void settle() { committed(); }

  const Codec codec_;
  // Null where the codec is exact.
  std::shared_ptr<ErrorFeedback> encoder_;
  Round begun_;
  Round after_;
  // What stands in encoder_ came from a checkpoint, and no round has begun since.
  bool restored_ = false;
};

}  // namespace weft
