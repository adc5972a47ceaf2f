// OpTrace: a list of the operations that a thread runs while the trace exists: for exporters.
//
//   const OpTrace trace;
//   const Tensor y = model.forward(x);
//   for (const TracedOp& op : trace.ops()) ...   // "conv2d" of which arrays, with which options
//
// Where it stands: record() (node.h) passes it name, inputs and output; an operation adds its other
// arguments with trace_attributes() just before its record(). The arrays are held, so no two values
// of one trace share memory by accident. An operation that runs others inside leaves entries for
// these too; nothing reads their results. Values that depend on no input, such as arange(4), are
// in a trace as operations "constant" if what makes them calls trace_constant(). Without a trace
// the cost is one read of a flag. Threads: records its own thread's operations. Nests; only the
// innermost records. Fails: never.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/array/pair.h"
#include "weft/autograd/tensor.h"

namespace weft {

// An option of an operation: numbers (integers stay exact to 2^53) or an array, such as positions.
struct TracedAttribute {
  const char* name;  // a literal
  std::vector<double> values;
  Array array = {};
};

struct TracedOp {
  std::string name;
  std::vector<Array> inputs;  // undefined: left out
  Array output;
  std::vector<TracedAttribute> attributes;

  // nullptr if the operation noted none of that name.
  const TracedAttribute* find(std::string_view attribute) const;
};

class OpTrace {
 public:
  OpTrace();
  ~OpTrace();
  OpTrace(const OpTrace&) = delete;
  OpTrace& operator=(const OpTrace&) = delete;

  const std::vector<TracedOp>& ops() const { return ops_; }

  // For trace_attributes() and record().
  void expect(const char* op, std::vector<TracedAttribute> attributes);
  void note(const char* name, const Array& output, std::span<const Tensor* const> inputs);

 private:
  OpTrace* before_;
  std::vector<TracedOp> ops_;
  const char* expected_ = "";
  std::vector<TracedAttribute> expected_attributes_;
};

namespace internal {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline constinit thread_local OpTrace* current_trace = nullptr;
// Lets record() call watch(); in anomaly.cpp with what else watches.
void update_watching();
}  // namespace internal

inline bool op_tracing() { return internal::current_trace != nullptr; }

// The options of the operation `op`, a literal, whose record() comes next. REQUIRES: op_tracing().
inline void trace_attributes(const char* op, std::vector<TracedAttribute> attributes) {
  internal::current_trace->expect(op, std::move(attributes));
}

// Notes `value`, which was made of numbers alone, as an operation "constant" with a copy of it as
// attribute "value", for what is written in place later. Returns it.
Tensor trace_constant(Tensor value);
// Notes an operation "same": `copy` has the values of `of` in other memory.
void trace_same(const Tensor& copy, const Tensor& of);

// A few integers as an attribute's values.
template <std::size_t kCount>
std::vector<double> traced(const std::array<std::int64_t, kCount>& integers) {
  return {integers.begin(), integers.end()};
}
inline std::vector<double> traced(const Pair& integers) {
  return {static_cast<double>(integers.height), static_cast<double>(integers.width)};
}

}  // namespace weft
