// ParameterArena: all parameters of a model in one contiguous f32 buffer, their gradients in a
// second, optimizer state in further ones of the same layout.
//
// Where it stands: modules hold views of it; all-reduce, hashing, the optimizer step, state
// transfer and checkpoints are loops over its flat spans.
// Gaps between parameters are 0 and stay 0: nobody writes them but to copy a whole arena.
// Threads: the training thread's. Copying an arena is not possible; views keep the buffers alive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/array.h"
#include "weft/array/layout.h"
#include "weft/array/parameter_id.h"

namespace weft {

// What an optimizer asks about a parameter beside its gradient's values.
struct ParameterUse {
  bool trained = true;  // Module::set_requires_grad() says no
  // Whether somebody says when the gradient is written: Module::bind().
  bool watched = false;
  bool written = false;  // by a backward, since zero_gradients()
};

class ParameterArena {
 public:
  // Everything starts as 0.
  explicit ParameterArena(Layout layout);
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;
  ParameterArena(ParameterArena&&) = default;
  ParameterArena& operator=(ParameterArena&&) = default;

  const Layout& layout() const { return layout_; }
  int size() const { return layout_.size(); }

  // Views with the entry's shape. REQUIRES: 0 <= index < size().
  Array parameter(int index) const { return view(parameters_, index); }
  Array parameter(ParameterId id) const { return view(parameters_, id.value()); }
  Array gradient(int index) const { return view(gradients_, index); }
  Array gradient(ParameterId id) const { return view(gradients_, id.value()); }
  // The entry's part of any buffer with this layout.
  Array view(const Array& buffer, int index) const;

  // The whole buffers, gaps included.
  std::span<float> parameters() { return parameters_.flat<float>(); }
  std::span<const float> parameters() const { return parameters_.flat<float>(); }
  std::span<float> gradients() { return gradients_.flat<float>(); }
  std::span<const float> gradients() const { return gradients_.flat<float>(); }
  const Array& parameter_buffer() const { return parameters_; }
  const Array& gradient_buffer() const { return gradients_; }
  // From then on parameters have no gradient until a backward writes one.
  void zero_gradients();

  // Shared with the module that is bound to this. REQUIRES: 0 <= index < size().
  std::shared_ptr<ParameterUse> use(int index) const;
  // Whether the parameter is trained and has a gradient: one that a backward has written since
  // zero_gradients(), zeros too; or one with a value that is not 0, whoever wrote it. Where no
  // module is bound every parameter has one.
  bool has_gradient(int index) const;

  // A further buffer of the same layout, zeros at first; the same name gives the same buffer.
  Array add_state(std::string_view name);
  // The same with a layout of its own, for state that is smaller than the parameters, or counts.
  Array add_state(std::string_view name, Layout layout);
  // Undefined if there is none of that name.
  Array state(std::string_view name) const;
  // The layout of that state's buffer. REQUIRES: it is there.
  const Layout& state_layout(std::string_view name) const;
  // In the order of their first add_state.
  std::vector<std::string> state_names() const;

 private:
  struct State {
    std::string name;
    Array buffer;
    std::optional<Layout> layout;  // none: that of the parameters
  };
  const State* find_state(std::string_view name) const;

  Layout layout_;
  Array parameters_;
  Array gradients_;
  std::shared_ptr<std::vector<ParameterUse>> uses_;  // by entry
  std::vector<State> states_;
};

}  // namespace weft
