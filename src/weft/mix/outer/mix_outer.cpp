#include "weft/mix/outer/mix_outer.h"

#include <array>

#include "weft/base/check.h"
#include "weft/mix/outer/mix_outer_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const MixOuterDef name##_outer;
#include "outer_table.inc"
#undef WEFT_PLUGIN

static constexpr const MixOuterDef* kOuters[] = {
#define WEFT_PLUGIN(name) &name##_outer,
#include "outer_table.inc"
#undef WEFT_PLUGIN
};

static constexpr std::size_t kSlotsMax = 4;

std::span<const MixOuterDef* const> mix_outers() { return kOuters; }

MixOuter::MixOuter() : MixOuter(*parse("plain")) {}

Result<MixOuter> MixOuter::parse(std::string_view text) {
  WEFT_TRY_ASSIGN(Plugin<MixOuterDef> plugin, parse_plugin<MixOuterDef>(text, kOuters));
  WEFT_CHECK(plugin.def->slots <= kSlotsMax);
  return MixOuter(std::move(plugin));
}

std::string MixOuter::text() const { return plugin_.text(); }

bool MixOuter::is_plain() const { return text() == "plain"; }

MixOuterMemory MixOuter::memory(std::size_t elements) const {
  return {std::vector<std::vector<float>>(plugin_.def->slots, std::vector<float>(elements)), 0};
}

void MixOuter::step(std::span<float> model, std::span<const float> delta,
                    std::span<const MixTensor> tensors, MixOuterMemory& memory) const {
  WEFT_CHECK(model.size() == delta.size() && memory.slots.size() == plugin_.def->slots);
  const MixOuterInput input = {plugin_.options, ++memory.steps};
  std::array<float, kSlotsMax> own{};
  const std::span<float> slots = std::span(own).first(memory.slots.size());
  for (const MixTensor& tensor : tensors) {
    for (std::size_t i = tensor.begin; i < tensor.end; ++i) {
      if (!tensor.trained) {
        model[i] -= delta[i];
        continue;
      }
      for (std::size_t s = 0; s < slots.size(); ++s) slots[s] = memory.slots[s][i];
      model[i] -= plugin_.def->move(input, delta[i], slots);
      for (std::size_t s = 0; s < slots.size(); ++s) memory.slots[s][i] = slots[s];
    }
  }
}

}  // namespace weft
