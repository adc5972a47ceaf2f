// OpDef: one row of the table of operations, with everything that the contract test needs.
//
// Each op/PART/NAME_op.cpp defines `extern const OpDef NAME_op = {"NAME", samples};`. The contract
// test (op/contract/op_contract_test.cpp) runs every sample of every entry: forward in f64 and f32
// against the reference, gradients against central differences, and all of it again with inputs in
// other memory layouts (transposed, every second element of a larger array, reversed), which it
// makes itself. A sample contains only shapes and options.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

struct OpSample {
  // The name of the case, e.g. "stride 2, 5x7".
  std::string name;
  // f64 contiguous, or of an integer type (passed on unchanged, no gradient). Every op has samples
  // with an empty input (where it is allowed), with one element and with odd sizes.
  std::vector<Array> inputs;
  // Inputs are of any type and on any device; arrays of options go to the device of the inputs.
  std::function<Tensor(std::span<const Tensor>)> apply;
  // Independent of the op and of the kernels: loops in f64 over data<double>(). Gets contiguous
  // inputs, returns a contiguous f64 array of the output's shape.
  std::function<Array(std::span<const Array>)> reference;
  // Tolerance of f32 against the reference, relative to the largest value of the output (at least
  // 1).
  double f32_tolerance = 1e-5;
  // False if the op is not differentiable at the sample or the finite difference is meaningless.
  bool check_gradient = true;
};

struct OpDef {
  const char* name;
  std::vector<OpSample> (*samples)();
};

// All operations, sorted by name.
std::span<const OpDef* const> op_table();

}  // namespace weft
