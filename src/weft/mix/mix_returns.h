// MixReturns: what members return for a version, and the delta that it stands for.
//
//   a delta      to a server: before minus after, which is taken as it is
//   a gradient   of an anchor, to a server, likewise
//   a model      where neighbours mix or versions are sampled: the reference minus it
//   outputs      where neighbours mix output layers alone: their values, in the order of the slices
//   numbers      of which every member makes the same delta (MixLocal::replay)
//
// Where it stands: MixCore owns one. Threads: immutable. Fails: fits() is false for what no member
// returns; the others require it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/mix/combine/mix_probe.h"
#include "weft/mix/meet/mix_traffic.h"
#include "weft/mix/mix_method.h"

namespace weft {

class MixReturns {
 public:
  // Borrows `method` and `outputs`, which must outlive this. `steps`: local steps where the trigger
  // does not say. `outputs`: the model's output layer, where the method exchanges that alone.
  MixReturns(const MixMethod& method, std::uint32_t self, std::size_t elements, std::uint32_t steps,
             const MixUnits& outputs);

  // The most values that a member sends for a version.
  std::size_t values_max() const;
  // Whether a member may return so many values for version `base`.
  bool fits(std::uint32_t from, std::uint64_t base, const MixVector& values) const;
  // What `self` returns of what its local update made.
  MixVector of_work(const MixWork& done, MixVector made) const;
  // What it sends its neighbours of that.
  MixVector for_neighbours(const MixVector& made) const;
  // The delta that `values` of `from` for `base` stand for; `reference` as in MixInput. What is not
  // exchanged is that of `own`, which this member returns to itself; null where all is.
  MixVector delta(std::uint32_t from, std::uint64_t base, const MixVector& values,
                  std::span<const float> reference, const MixVector& own) const;
  // Puts the own delta in place of `combined` wherever nothing is exchanged.
  void keep_own(std::span<const float> own, std::span<float> combined) const;

 private:
  // body(where in the vector, where among the outputs, how many).
  template <class Body>
  void for_outputs(const Body& body) const;

  const MixMethod& method_;
  const std::uint32_t self_;
  const std::size_t elements_;
  const std::uint32_t steps_;
  const MixUnits& outputs_;
};

}  // namespace weft
