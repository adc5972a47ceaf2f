// SharedFactors: state that is equal at all members of an exchange and that no payload carries, for
// codecs that need it; and the matrices that a vector contains.
//
// A codec with such a state encodes and decodes against it, and computes the next one from the
// result of the exchange, which all members have to the last bit. So the state is a function of its
// seed and the results since then, and is never sent: members that begin together stay equal.
//
// Where it stands: ErrorFeedback holds one for each exchange of a round, RoundCodec decides when
// it begins anew. Threads: values. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

// rows x cols values from `offset` on, row by row.
struct VectorMatrix {
  std::size_t offset = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
};

// The matrices in a vector of so many elements, in ascending order and without overlap. A vector of
// another length is not described by it.
struct MatrixLayout {
  std::size_t elements = 0;
  std::vector<VectorMatrix> matrices;
};

struct SharedFactors {
  // The length of the vector.
  std::size_t elements = 0;
  // The number of results since it began.
  std::uint64_t steps = 0;
  // Only the codec interprets them.
  std::vector<float> values;
  // A hash of all this and of the matrices; equal where members agree.
  std::uint32_t mark = 0;
};

}  // namespace weft
