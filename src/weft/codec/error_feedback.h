// ErrorFeedback: one member's encoder, which keeps what its codec drops and adds it next time, and
// the factors that it shares with the other members.
//
//   encode  -> payload of values + residual     -> commit: the residual is what the payload lacks
//                                              \-> rollback: as if it had never been encoded
//
// So a round that is aborted and run again does not apply the residual twice, and a round that
// commits loses nothing but a delay. The residual is this member's own: it goes when the
// member leaves, and a newcomer begins with zeros. A codec without feedback has none.
//
// Shared factors (shared_factors.h) change in open() and take_result() only, so members that call
// both alike hold the same ones, whatever they encode. Without open() they are those of the seed 0.
// IMPLEMENTATION: F. Seide et al., "1-bit stochastic gradient descent", INTERSPEECH 2014; S. P.
// Karimireddy et al., "Error feedback fixes SignSGD", ICML 2019. Memory: 8 bytes for each element.
//
// Where it stands: RoundCodec owns one. Threads: one owner; residuals that it gave are immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/codec/codec.h"

namespace weft {

// One value for each element; null: zeros.
using ResidualValues = std::shared_ptr<const std::vector<float>>;

class ErrorFeedback {
 public:
  explicit ErrorFeedback(Codec codec) : codec_(std::move(codec)) {}

  const Codec& codec() const { return codec_; }
  // The payload of values + residual. A residual of another length is of another vector and counts
  // as zeros; a vector of no elements leaves it alone. REQUIRES: !pending().
  Bytes encode(std::span<const float> values, std::uint64_t seed = 0);
  // Decodes any member's payload against the shared factors; fails as Codec::decode() does.
  Status decode(ByteSpan payload, std::span<float> out) const;
  // Encoded, and neither committed nor rolled back.
  bool pending() const { return pending_; }
  // Both do nothing where nothing is pending.
  void commit();
  void rollback();

  // --- Shared factors; all do nothing for a codec without.
  // Vectors of so many elements follow. The factors begin anew, from `seed`, if those before were
  // of another length or forgotten. REQUIRES: !pending().
  void open(std::size_t elements, std::uint64_t seed);
  // The result of the round that was opened, committed at all members alike.
  // REQUIRES: as many elements as open() was given.
  void take_result(std::span<const float> result);
  void forget_shared() { shared_.reset(); }
  // Null: none, or those that begin with the seed 0.
  const SharedFactors* shared() const { return shared_ ? &*shared_ : nullptr; }

  // As of the last commit; does not change any more.
  const ResidualValues& residual() const { return residual_; }
  // From a checkpoint. REQUIRES: !pending().
  void restore(ResidualValues residual);

 private:
  const Codec codec_;
  ResidualValues residual_;
  ResidualValues next_;
  bool pending_ = false;
  std::optional<SharedFactors> shared_;
  // For what take_result() draws.
  std::uint64_t seed_ = 0;
};

}  // namespace weft
