// MixOuter: the step that a combined delta makes of a model.
//
// A text names one with its options: "plain:rate=1", "nesterov:rate=0.7:momentum=0.9", "adam". Each
// file NAME_outer.cpp is one. Elements that no gradient trains (buffers such as running statistics)
// always move by the whole delta, whose mean is their mean.
// Where it stands: MixCore, after the combination. Threads: immutable once parsed; the memory is
// the owner's. Memory: one vector for each of slots().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/text/plugin_text.h"
#include "weft/mix/combine/mix_combine.h"

namespace weft {

struct MixOuterDef;  // mix_outer_def.h

// What an outer step remembers from one to the next.
struct MixOuterMemory {
  std::vector<std::vector<float>> slots;
  std::uint64_t steps = 0;
};

class MixOuter {
 public:
  // "plain".
  MixOuter();
  static Result<MixOuter> parse(std::string_view text);
  std::string text() const;
  // Without memory, and a rate of 1: the model becomes itself minus the delta.
  bool is_plain() const;
  MixOuterMemory memory(std::size_t elements) const;
  void step(std::span<float> model, std::span<const float> delta,
            std::span<const MixTensor> tensors, MixOuterMemory& memory) const;

 private:
  explicit MixOuter(Plugin<MixOuterDef> plugin) : plugin_(std::move(plugin)) {}

  Plugin<MixOuterDef> plugin_;
};

// All outer steps, by name.
std::span<const MixOuterDef* const> mix_outers();

}  // namespace weft
