// The parts of a launch: its operands, its body, and the loop of an elementwise one.
//
// Where it stands: launch.h makes them, recorders keep them, rows of kernel_table.h get them.
// Threads: values; a body runs on one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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

namespace internal {

template <class Body>
class LaunchBodyOf final : public LaunchBody {
 public:
  explicit LaunchBodyOf(const Body& body) : body_(body) {}
  void run(LaunchArrays in, LaunchArrays out) override { body_(in, out); }
  const Body& body() const { return body_; }

 private:
  Body body_;
};

}  // namespace internal

}  // namespace weft
