#include "weft/array/parameter_arena.h"

#include <algorithm>
#include <utility>

namespace weft {

ParameterArena::ParameterArena(Layout layout)
    : layout_(std::move(layout)),
      parameters_(Array::zeros({layout_.num_elements()})),
      gradients_(Array::zeros({layout_.num_elements()})),
      uses_(std::make_shared<std::vector<ParameterUse>>(static_cast<std::size_t>(layout_.size()))) {
}

Array ParameterArena::view(const Array& buffer, int index) const {
  WEFT_CHECK(index >= 0 && index < size());
  WEFT_CHECK(buffer.size() == layout_.num_elements());
  const LayoutEntry& entry = layout_[index];
  return buffer.as_strided(entry.shape, contiguous_strides(entry.shape), entry.offset);
}

void ParameterArena::zero_gradients() {
  gradients_.fill(0);
  for (ParameterUse& use : *uses_) use.written = false;
}

std::shared_ptr<ParameterUse> ParameterArena::use(int index) const {
  WEFT_CHECK(index >= 0 && index < size());
  return {uses_, &(*uses_)[static_cast<std::size_t>(index)]};
}

bool ParameterArena::has_gradient(int index) const {
  const ParameterUse& use = (*uses_)[static_cast<std::size_t>(index)];
  if (!use.trained) return false;
  if (use.written || !use.watched) return true;
  const LayoutEntry& entry = layout_[index];
  const auto values = std::span<const float>(gradients_.flat<float>())
                          .subspan(static_cast<std::size_t>(entry.offset),
                                   static_cast<std::size_t>(entry.shape.num_elements()));
  return std::any_of(values.begin(), values.end(), [](float value) { return value != 0.0F; });
}

Array ParameterArena::add_state(std::string_view name) {
  if (const State* known = find_state(name); known != nullptr) return known->buffer;
  states_.push_back({std::string(name), Array::zeros({layout_.num_elements()}), std::nullopt});
  return states_.back().buffer;
}

Array ParameterArena::add_state(std::string_view name, Layout layout) {
  if (const State* known = find_state(name); known != nullptr) {
    WEFT_CHECK(state_layout(name) == layout);
    return known->buffer;
  }
  Array buffer = Array::zeros({layout.num_elements()});
  states_.push_back({std::string(name), std::move(buffer), std::move(layout)});
  return states_.back().buffer;
}

const ParameterArena::State* ParameterArena::find_state(std::string_view name) const {
  for (const State& state : states_) {
    if (state.name == name) return &state;
  }
  return nullptr;
}

Array ParameterArena::state(std::string_view name) const {
  const State* known = find_state(name);
  return known != nullptr ? known->buffer : Array();
}

const Layout& ParameterArena::state_layout(std::string_view name) const {
  const State* known = find_state(name);
  WEFT_CHECK(known != nullptr);
  return known->layout.has_value() ? *known->layout : layout_;
}

std::vector<std::string> ParameterArena::state_names() const {
  std::vector<std::string> names;
  for (const State& state : states_) names.push_back(state.name);
  return names;
}

}  // namespace weft
