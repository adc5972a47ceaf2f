// launch(): the one way in which values of Arrays are computed from Arrays.
//
//   Array y = Array::empty(x.shape(), x.dtype());
//   launch("cumsum", {&x}, {&y}, [axis](LaunchArrays in, LaunchArrays out) {
//     ... loops that read in[0] and write out[0] ...
//   });
//
// Where it stands: every kernel, copy and fill goes through it. Without a Recorder it calls the
// body and nothing else. With one (graph/capture.h) the work runs and is noted as well, and what
// was noted is the captured graph.
// The rules for a body: it is a pure function of the arrays it gets; it captures plain values
// (sizes, options), never an Array, a pointer or a reference; it may run again many times, with
// arrays of the same shapes, strides and types in other memory. Outputs are allocated before the
// launch, inputs may be undefined (an absent bias). An output may also be an input. Whatever the
// body calls, launches too, belongs to its own work and is not noted.
// Nothing may read values to decide shapes or further work; what must, says launch_host_read().
// Threads: a Recorder notes what its own thread launches.
// Fails: what the body throws passes through.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/array/array.h"

namespace weft {

// The operands of a body. Inputs are not to be written.
class LaunchArrays {
 public:
  LaunchArrays(const Array* const* arrays, std::size_t count) : arrays_(arrays), count_(count) {}
  Array& operator[](int index) const { return const_cast<Array&>(*arrays_[index]); }
  int size() const { return static_cast<int>(count_); }

 private:
  const Array* const* arrays_;
  std::size_t count_;
};

// A body that is kept.
class LaunchBody {
 public:
  LaunchBody() = default;
  virtual ~LaunchBody() = default;
  LaunchBody(const LaunchBody&) = delete;
  LaunchBody& operator=(const LaunchBody&) = delete;
  virtual void run(LaunchArrays in, LaunchArrays out) = 0;
};

// One operand's elements of a run; step in elements, 0 repeats the first.
struct RunOperand {
  const void* data;
  std::int64_t step;
};

// out[i] = f(operand0[i], operand1[i], ...) for a run of elements. `out` is dense and may be an
// operand of step 1. A plain value: `run` reads what f is from `row` and `scalars`.
struct ElementwiseLoop {
  static constexpr int kOperandsMax = 4;
  using Run = void (*)(const ElementwiseLoop& loop, const RunOperand* operands, void* out,
                       std::int64_t count);
  Run run = nullptr;
  void (*row)() = nullptr;
  std::array<double, 4> scalars{};
};

// One launch as a Recorder sees it. Valid during the call.
struct LaunchNote {
  const char* name;  // a literal
  std::span<const Array* const> inputs;
  std::span<Array* const> outputs;
  // Of elementwise launches, which have one output.
  const ElementwiseLoop* elementwise = nullptr;
  // Must run, and in order with others of its kind, whether or not an output is used.
  bool has_side_effect = false;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  // Before the work runs.
  virtual void record(const LaunchNote& note, std::unique_ptr<LaunchBody> body) = 0;
  // The values of `array` were written by the host and are the same in every replay.
  virtual void constant(const Array& array) = 0;
  // Throws: `operation` needs values of this run on the host.
  virtual void host_read(const char* operation) = 0;
};

namespace internal {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline constinit thread_local Recorder* current_recorder = nullptr;

template <class Body>
class LaunchBodyOf final : public LaunchBody {
 public:
  explicit LaunchBodyOf(const Body& body) : body_(body) {}
  void run(LaunchArrays in, LaunchArrays out) override { body_(in, out); }

 private:
  Body body_;
};

void run_elementwise(const ElementwiseLoop& loop, LaunchArrays in, Array& out);
void record_elementwise(Recorder& recorder, const char* name, std::span<const Array* const> inputs,
                        Array& out, const ElementwiseLoop& loop);

}  // namespace internal

// While one lives, launches of this thread go to `recorder`; to none with nullptr. Nests.
class RecorderScope {
 public:
  explicit RecorderScope(Recorder* recorder)
      : before_(std::exchange(internal::current_recorder, recorder)) {}
  ~RecorderScope() { internal::current_recorder = before_; }
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  Recorder* before_;
};

// Null if nothing records.
inline Recorder* current_recorder() { return internal::current_recorder; }

// As many operands as there are; `name` must be a literal.
template <class Body>
void launch(const char* name, std::span<const Array* const> inputs, std::span<Array* const> outputs,
            const Body& body) {
  const LaunchArrays in(inputs.data(), inputs.size());
  const LaunchArrays out(outputs.data(), outputs.size());
  if (Recorder* const recorder = internal::current_recorder; recorder != nullptr) [[unlikely]] {
    recorder->record({name, inputs, outputs}, std::make_unique<internal::LaunchBodyOf<Body>>(body));
    const RecorderScope pause(nullptr);
    body(in, out);
    return;
  }
  body(in, out);
}
template <class Body>
void launch(const char* name, std::initializer_list<const Array*> inputs,
            std::initializer_list<Array*> outputs, const Body& body) {
  launch(name, std::span<const Array* const>(inputs.begin(), inputs.size()),
         std::span<Array* const>(outputs.begin(), outputs.size()), body);
}

// out[...] = f(inputs[...]): inputs are strided (not blocked) and broadcast to the shape of `out`,
// which is contiguous and may be the same view as an input of its shape. Chains of these are fused
// in a captured graph.
inline void launch_elementwise(const char* name, std::initializer_list<const Array*> inputs,
                               Array& out, const ElementwiseLoop& loop) {
  if (Recorder* const recorder = internal::current_recorder; recorder != nullptr) [[unlikely]] {
    internal::record_elementwise(*recorder, name, {inputs.begin(), inputs.size()}, out, loop);
    return;
  }
  internal::run_elementwise(loop, {inputs.begin(), inputs.size()}, out);
}

// Calls call(LaunchArrays arrays) now and, in a captured graph, at the same place of each replay:
// after what wrote `arrays`, in order with other callbacks. Unlike a body, `call` may do anything
// and hold what it wants for as long as the graph lives.
template <class Callback>
void launch_callback(const char* name, std::initializer_list<const Array*> arrays,
                     const Callback& call) {
  const LaunchArrays in(arrays.begin(), arrays.size());
  if (Recorder* const recorder = internal::current_recorder; recorder != nullptr) [[unlikely]] {
    const auto body = [call](LaunchArrays inputs, LaunchArrays) { call(inputs); };
    recorder->record({.name = name,
                      .inputs = {arrays.begin(), arrays.size()},
                      .outputs = {},
                      .has_side_effect = true},
                     std::make_unique<internal::LaunchBodyOf<decltype(body)>>(body));
    const RecorderScope pause(nullptr);
    call(in);
    return;
  }
  call(in);
}

// What `operation` does next depends on values that it reads now, so it cannot be captured: throws
// std::invalid_argument with what to do instead if this thread records.
inline void launch_host_read(const char* operation) {
  if (internal::current_recorder != nullptr) [[unlikely]] {
    internal::current_recorder->host_read(operation);
  }
}

// The host has just written `array`; in a captured graph its values are constants.
inline void launch_constant(const Array& array) {
  if (internal::current_recorder != nullptr) [[unlikely]] {
    internal::current_recorder->constant(array);
  }
}

}  // namespace weft
