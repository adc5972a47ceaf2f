// WeightedPart: what a member of a program's own swarm reports of its part of a round.
//
// The round's vector holds the member's values times its weight; the weights travel beside it, so
// that neither rounding on the way nor the length of the vector concerns them.
//
//   part := version u8 = 1, weight f64 (0 to the largest f32), weighted loss: the bits of an f64 of
//           any value, u64
//
// Where it stands: SwarmTrainer, and the Python package's swarm. Threads: values.
// Fails: decode() with kCorrupt; sum_of_parts() takes such a report for an empty one, at all
// members alike.
#pragma once

#include <span>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

struct WeightedPart {
  double weight = 0;
  double weighted_loss = 0;  // weight times loss
  friend bool operator==(const WeightedPart&, const WeightedPart&) = default;

  // REQUIRES: the weight is in the range above.
  Bytes encode() const;
  static Result<WeightedPart> decode(ByteSpan bytes);
};

// Added up in the order of the members' ranks.
WeightedPart sum_of_parts(std::span<const Bytes> reports);

}  // namespace weft
