// ParameterArena: all parameters of a model in one contiguous f32 buffer, their gradients in a
// second, optimizer state in further ones of the same layout.
//
// Where it stands: modules hold views of it; all-reduce, hashing, the optimizer step, state
// transfer and checkpoints are loops over its flat buffers.
// Gaps between parameters are 0 and stay 0: they are written only when a whole arena is copied.
// It is a handle: views, the modules that are bound to it and optimizers keep the buffers alive,
// and an arena may be moved or destroyed before them. Copying the values is not possible.
// Threads: the training thread's.
// Fails: std::invalid_argument on an index or a state that does not exist, and after it was moved
// from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/array/arena/layout.h"
#include "weft/array/arena/parameter_id.h"
#include "weft/array/array.h"

namespace weft {

// What an optimizer needs to know about a parameter besides its gradient's values.
struct ParameterUse {
  bool trained = true;  // false after Module::set_requires_grad(false)
  // Whether writes of the gradient are reported, after Module::bind().
  bool watched = false;
  bool written = false;  // by a backward, since zero_gradients()
};

// Reads `values` (flat, f32), from another device by a copy.
bool has_value_other_than_0(const Array& values);

class ParameterArena {
 public:
  // Everything starts as 0, in the memory of `device`.
  explicit ParameterArena(Layout layout, Device device = {});
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;
  ParameterArena(ParameterArena&&) = default;
  ParameterArena& operator=(ParameterArena&&) = default;

  // Another handle of the same buffers and states, for code that may outlive this one.
  ParameterArena share() const;

  const Layout& layout() const { return data().layout; }
  int size() const { return layout().size(); }

  // Views with the entry's shape. Throw unless 0 <= index < size().
  Array parameter(int index) const { return view(data().parameters, index); }
  Array parameter(ParameterId id) const { return parameter(id.value()); }
  Array gradient(int index) const { return view(data().gradients, index); }
  Array gradient(ParameterId id) const { return gradient(id.value()); }
  // The entry's part of any buffer with this layout.
  Array view(const Array& buffer, int index) const;

  // Where all its buffers are.
  Device device() const { return data().parameters.device(); }

  // The whole buffers, gaps included; spans are memory of the host, and throw for another device.
  std::span<float> parameters() { return data().parameters.flat<float>(); }
  std::span<const float> parameters() const { return data().parameters.flat<float>(); }
  std::span<float> gradients() { return data().gradients.flat<float>(); }
  std::span<const float> gradients() const { return data().gradients.flat<float>(); }
  const Array& parameter_buffer() const { return data().parameters; }
  const Array& gradient_buffer() const { return data().gradients; }
  // From then on parameters have no gradient until a backward writes one.
  void zero_gradients();

  // Shared with the module that is bound to this. Throws unless 0 <= index < size().
  std::shared_ptr<ParameterUse> use(int index) const;
  // Whether writes of gradients are reported: a module is or was bound to this.
  bool is_watched() const;
  // Notes that a module's values are here now, for as long as `module` lives: Module::bind().
  // Throws if those of another module are.
  void hold(const std::shared_ptr<const void>& module);
  // Whether the parameter is trained and has a gradient: one that a backward has written since
  // zero_gradients(), zeros too; or one with a value other than 0, no matter what wrote it. If no
  // module is bound every parameter has one.
  bool has_gradient(int index) const;

  // A further buffer of the same layout, zeros at first; the same name gives the same buffer.
  Array add_state(std::string_view name);
  // The same with a separate layout, for state that is smaller than the parameters, or counts.
  Array add_state(std::string_view name, Layout layout);
  // Undefined if there is none of that name.
  Array state(std::string_view name) const;
  // The layout of that state's buffer. Throws if it does not exist.
  const Layout& state_layout(std::string_view name) const;
  // In the order of their first add_state.
  std::vector<std::string> state_names() const;

 private:
  struct State {
    std::string name;
    Array buffer;
    std::optional<Layout> layout;  // none: that of the parameters
  };
  struct Data {
    Layout layout;
    Array parameters;
    Array gradients;
    std::shared_ptr<std::vector<ParameterUse>> uses;  // by entry
    std::vector<State> states;
    std::weak_ptr<const void> module;  // that is bound to this
  };
  explicit ParameterArena(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  Data& data() const {
    if (data_ == nullptr) throw_moved();
    return *data_;
  }
  [[noreturn]] static void throw_moved();
  void check_index(const char* call, int index) const;
  const State* find_state(std::string_view name) const;

  std::shared_ptr<Data> data_;
};

}  // namespace weft
