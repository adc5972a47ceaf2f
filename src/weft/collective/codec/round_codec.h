// RoundCodec: a member's encoders over the rounds of a run, and what becomes of their residuals and
// shared factors.
//
//   begin -> the round's exchanges encode -> committed     the residual is what was not sent
//                                         \-> view follows   committed if the view's base reaches
//                                                            the round, else as before the round
//                                         \-> unknown        as if committed
//
// Each exchange of a round has an encoder of its own, by its place in the round; one rule decides
// about all of them, as about the round. An exchange in whose team this member is not leaves the
// encoder alone: its residual waits for the next round in which this member gives to it.
// A round that was begun here and whose end is not known, because views were missed or this
// member was removed, may have been committed by the others. Its residual then counts as
// delivered: what a payload carried may be lost, once, and is never applied twice. A residual from
// a checkpoint is used only if the first round is the one that follows it; else the rounds between
// have had it already, from the process that died.
//
// Factors that members share (codec/shared_factors.h) are a function of the rounds of one view:
// those of an exchange begin anew, from the round's number, in the first round of each view and
// where the length of its vector changes, and take up the result of each committed round. All
// members of a view have the same rounds and results, so they have the same factors without a
// message: so does a newcomer, whose joining makes a new view, and one that resumes a checkpoint.
//
// Where it stands: RoundCore owns one. Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/codec/error_feedback.h"
#include "weft/wire/ids.h"

namespace weft {

// After the last committed round that this member took part in, or as it was restored.
struct ResidualState {
  Round round;
  // By exchange; null: zeros.
  std::vector<ResidualValues> residuals;

  // Null if there is none.
  ResidualValues of(std::size_t exchange) const {
    return exchange < residuals.size() ? residuals[exchange] : nullptr;
  }
  bool empty() const;
};

class RoundCodec {
 public:
  // `codec` stands per member; one that is exact does nothing.
  explicit RoundCodec(const Codec& codec) : codec_(codec) {}

  // Before the first round.
  void restore(ResidualState state);
  // Begins a round with exchanges of so many elements.
  void begin(Round round, std::span<const std::int64_t> elements);
  // For an exchange of the round that was begun last; null where values travel as they are.
  std::shared_ptr<ErrorFeedback> encoder(std::size_t exchange) const;
  // The round that was begun last is committed, with these results of its exchanges.
  void committed(std::span<const std::span<const float>> results);
  // A view: the next after the one of the round, or a later one, and the last round that is
  // committed in it.
  void on_view(bool follows, Round base);
  // This member is in no view any more.
  void on_leave() { settle(); }

  const Codec& codec() const { return codec_; }
  ResidualState state() const;

 private:
  // Exchanges that are still open count as delivered.
  void settle();
  void rollback();
  // Commits the residuals alone.
  void commit();
  void forget_shared();

  const Codec codec_;
  // By exchange; as many as any round has had.
  std::vector<std::shared_ptr<ErrorFeedback>> encoders_;
  // Begun, and its end is not known.
  std::optional<Round> open_;
  Round after_;
  // The encoders' state came from a checkpoint, and no round has begun since.
  bool restored_ = false;
};

}  // namespace weft
