// launch(): all values of Arrays are computed from Arrays through it.
//
//   Array y = Array::empty(x.shape(), x.dtype());
//   launch("cumsum", {&x}, {&y}, [axis](LaunchArrays in, LaunchArrays out) {
//     ... loops that read in[0] and write out[0] ...
//   });
//
// Where it stands: every kernel, copy and fill goes through it, and here the device decides what
// runs: for arrays on the CPU the body, which picks the loops for the processor's instruction set,
// for those on another device the entry of kernel_table.h for `name`.
// Without a Recorder a launch calls that and nothing else. With one (graph/capture.h) the work runs
// and is recorded as well, and the records are the captured graph.
// The rules for a body: it is a pure function of the arrays it gets; it captures plain values
// (sizes, options), never an Array, a pointer or a reference; it may run again many times, with
// arrays of the same shapes, strides and types in other memory. Outputs are allocated before the
// launch, inputs may be undefined (an absent bias). An output may also be an input. Everything that
// the body calls, including launches, belongs to its own work and is not recorded.
// No code may read values to decide shapes or further work without a call of launch_host_read().
// A LaunchWatcher (launch_watch.h) sees every launch, those inside of a body too.
// Threads: a Recorder records the launches of its own thread.
// Fails: exceptions of the body pass through; std::invalid_argument "[name] expected ..., got ..."
// if operands are on two devices, or on one without a kernel of that name.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/array/array.h"
#include "weft/array/launch_body.h"
#include "weft/array/launch_watch.h"

namespace weft {

// One launch as a Recorder sees it. Valid during the call.
struct LaunchNote {
  const char* name;  // a literal
  std::span<const Array* const> inputs;
  std::span<Array* const> outputs;
  // The loop of an elementwise launch, which has one output.
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

// Whether all these arrays are in the memory of the host.
template <class Pointers>
bool on_host(const Pointers& arrays) {
  for (const Array* const array : arrays) {
    if (!array->on_host()) return false;
  }
  return true;
}
// The launch of arrays that are not all there; `body` is what the CPU would run.
void launch_on_device(const LaunchNote& note, LaunchBody& body);
void launch_elementwise_on_device(const LaunchNote& note);

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

// Accepts any number of operands; `name` must be a literal.
template <class Body>
void launch(const char* name, std::span<const Array* const> inputs, std::span<Array* const> outputs,
            const Body& body) {
  const LaunchArrays in(inputs.data(), inputs.size());
  const LaunchArrays out(outputs.data(), outputs.size());
  const WatchedLaunch watched(name, in, out);
  if (!internal::on_host(inputs) || !internal::on_host(outputs)) [[unlikely]] {
    internal::LaunchBodyOf<Body> kept(body);
    internal::launch_on_device({name, inputs, outputs}, kept);
    return;
  }
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
  const Array* const result = &out;
  const WatchedLaunch watched(name, {inputs.begin(), inputs.size()}, {&result, 1});
  if (!internal::on_host(inputs) || !out.on_host()) [[unlikely]] {
    Array* const outputs[] = {&out};
    internal::launch_elementwise_on_device({.name = name,
                                            .inputs = {inputs.begin(), inputs.size()},
                                            .outputs = outputs,
                                            .elementwise = &loop});
    return;
  }
  if (Recorder* const recorder = internal::current_recorder; recorder != nullptr) [[unlikely]] {
    internal::record_elementwise(*recorder, name, {inputs.begin(), inputs.size()}, out, loop);
    return;
  }
  internal::run_elementwise(loop, {inputs.begin(), inputs.size()}, out);
}

// Calls call(LaunchArrays arrays) now and, in a captured graph, at the same place of each replay:
// after the work that writes `arrays`, in order with other callbacks. Unlike a body, `call` may do
// anything and may hold any object as long as the graph exists.
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

// The next work of `operation` depends on values that it reads now, so it cannot be captured: if
// this thread records, throws std::invalid_argument with the remedy.
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
