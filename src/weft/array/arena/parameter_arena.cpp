#include "weft/array/arena/parameter_arena.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/array/bad_argument.h"

namespace weft {

bool has_value_other_than_0(const Array& values) {
  const Array here = values.to(Device::cpu());
  const std::span<const float> all = here.flat<float>();
  return std::any_of(all.begin(), all.end(), [](float value) { return value != 0.0F; });
}

ParameterArena::ParameterArena(Layout layout, Device device) : data_(std::make_shared<Data>()) {
  data_->parameters = Array::zeros({layout.num_elements()}, DType::kF32, device);
  data_->gradients = Array::zeros({layout.num_elements()}, DType::kF32, device);
  data_->uses =
      std::make_shared<std::vector<ParameterUse>>(static_cast<std::size_t>(layout.size()));
  data_->layout = std::move(layout);
}

ParameterArena ParameterArena::share() const {
  if (data_ == nullptr) throw_moved();
  return ParameterArena(data_);
}

void ParameterArena::throw_moved() {
  throw_bad_argument("arena", "an arena", "one that was moved from; use the one it was moved to");
}

void ParameterArena::check_index(const char* call, int index) const {
  if (index >= 0 && index < size()) return;
  throw_bad_argument(call, fmt::format("a parameter from 0 to {} of the arena", size() - 1),
                     std::to_string(index));
}

Array ParameterArena::view(const Array& buffer, int index) const {
  check_index("arena", index);
  if (buffer.size() != layout().num_elements()) {
    throw_bad_argument("arena", fmt::format("a buffer of {} values", layout().num_elements()),
                       std::to_string(buffer.size()));
  }
  const LayoutEntry& entry = layout()[index];
  return buffer.as_strided(entry.shape, contiguous_strides(entry.shape), entry.offset);
}

void ParameterArena::zero_gradients() {
  data().gradients.fill(0);
  for (ParameterUse& use : *data().uses) use.written = false;
}

std::shared_ptr<ParameterUse> ParameterArena::use(int index) const {
  check_index("arena", index);
  return {data_->uses, &(*data_->uses)[static_cast<std::size_t>(index)]};
}

bool ParameterArena::is_watched() const {
  const std::vector<ParameterUse>& uses = *data().uses;
  return std::any_of(uses.begin(), uses.end(), [](const ParameterUse& use) { return use.watched; });
}

void ParameterArena::hold(const std::shared_ptr<const void>& module) {
  const std::shared_ptr<const void> holder = data().module.lock();
  if (holder != nullptr && holder != module) {
    throw_bad_argument("bind", "an arena to which no other module is bound",
                       "one that holds another module's parameters; make an arena for each, or "
                       "register both as parts of one module and bind that");
  }
  data().module = module;
}

bool ParameterArena::has_gradient(int index) const {
  check_index("arena", index);
  const ParameterUse& use = (*data().uses)[static_cast<std::size_t>(index)];
  if (!use.trained) return false;
  if (use.written || !use.watched) return true;
  return has_value_other_than_0(gradient(index));
}

Array ParameterArena::add_state(std::string_view name) {
  if (const State* known = find_state(name); known != nullptr) return known->buffer;
  data().states.push_back({std::string(name),
                           Array::zeros({layout().num_elements()}, DType::kF32, device()),
                           std::nullopt});
  return data().states.back().buffer;
}

Array ParameterArena::add_state(std::string_view name, Layout layout) {
  if (const State* known = find_state(name); known != nullptr) {
    if (!(state_layout(name) == layout)) {
      throw_bad_argument("add_state", fmt::format("the layout that the state \"{}\" has", name),
                         "another; use another name");
    }
    return known->buffer;
  }
  Array buffer = Array::zeros({layout.num_elements()}, DType::kF32, device());
  data().states.push_back({std::string(name), std::move(buffer), std::move(layout)});
  return data().states.back().buffer;
}

const ParameterArena::State* ParameterArena::find_state(std::string_view name) const {
  for (const State& state : data().states) {
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
  if (known == nullptr) {
    throw_bad_argument("arena",
                       fmt::format("one of its states ({})", fmt::join(state_names(), ", ")),
                       fmt::format("\"{}\"", name));
  }
  return known->layout.has_value() ? *known->layout : layout();
}

std::vector<std::string> ParameterArena::state_names() const {
  std::vector<std::string> names;
  for (const State& state : data().states) names.push_back(state.name);
  return names;
}

}  // namespace weft
