// MixProbe: what a combination may ask of the model whose parameters it combines: which units may
// change places, and what they compute.
//
// Two networks can be alike though unit 3 of one is unit 7 of the other. A combination that knows
// which slices of the flat vector belong to a unit can undo that. All members probe with the same
// inputs, so that these must be public.
//
// Where it stands: MixCore gives it to the combination; MixTrainedProbe runs the real model, that
// of tests is a closed form. Threads: that of the core, for which a probe takes as long as a pass
// forward over its inputs. Fails: never; a model that is no numbers gives values that are none.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

// Element (o, u, i) of the unit u is at begin + (o * units + u) * inner + i in the flat vector.
struct MixUnitSlice {
  std::size_t begin = 0;
  std::size_t outer = 1;
  std::size_t inner = 1;
};

// Units that may change places: what belongs to them in the vector.
struct MixUnits {
  std::size_t units = 0;
  std::vector<MixUnitSlice> slices;
};

class MixProbe {
 public:
  virtual ~MixProbe() = default;
  // Layer by layer.
  virtual const std::vector<MixUnits>& layers() const = 0;
  // For each of layers(), value by value, those of all units: [values, units].
  virtual std::vector<std::vector<float>> values(std::span<const float> model) = 0;
};

// Unit u of the result is unit order[u] of `model`. REQUIRES: `order` is a permutation.
void permute_units(std::span<float> model, const MixUnits& layer,
                   std::span<const std::size_t> order);

}  // namespace weft
