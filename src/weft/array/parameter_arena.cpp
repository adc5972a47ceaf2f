#include "weft/array/parameter_arena.h"

#include <utility>

namespace weft {

ParameterArena::ParameterArena(Layout layout)
    : layout_(std::move(layout)),
      parameters_(Array::zeros({layout_.num_elements()})),
      gradients_(Array::zeros({layout_.num_elements()})) {}

Array ParameterArena::view(const Array& buffer, int index) const {
  WEFT_CHECK(index >= 0 && index < size());
  WEFT_CHECK(buffer.size() == layout_.num_elements());
  const LayoutEntry& entry = layout_[index];
  return buffer.as_strided(entry.shape, contiguous_strides(entry.shape), entry.offset);
}

void ParameterArena::zero_gradients() { gradients_.fill(0); }

Array ParameterArena::add_state(std::string_view name) {
  Array known = state(name);
  if (known.defined()) return known;
  states_.push_back({std::string(name), Array::zeros({layout_.num_elements()})});
  return states_.back().buffer;
}

Array ParameterArena::state(std::string_view name) const {
  for (const State& state : states_) {
    if (state.name == name) return state.buffer;
  }
  return {};
}

std::vector<std::string> ParameterArena::state_names() const {
  std::vector<std::string> names;
  for (const State& state : states_) names.push_back(state.name);
  return names;
}

}  // namespace weft
