// The kernels that the roofline program measures, each with what it has to do at least.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/array/array.h"

namespace weft::bench {

// A kernel that computes: the rate of its operations is compared with the processor's peak.
struct ProductCase {
  std::string name;
  double flops;     // of the sum that is computed
  double executed;  // by the algorithm
  std::function<void()> run;
};

// A kernel that waits for memory: its bytes count each operand once, read or written, and are
// compared with a triad. What a store loads before it writes is not counted, neither here nor
// there.
struct MemoryCase {
  std::string name;
  double bytes;
  std::function<void()> run;
};

// Standard normal values, the same in each run.
Array random_array(const Shape& shape);

// Matrix products, convolutions and attention.
std::vector<ProductCase> product_cases();

// Makes the cases one after another, so that only one holds its arrays: all of them would not fit
// into memory. `visit` gets each whose name contains `name_part`.
void for_each_memory_case(const std::string& name_part,
                          const std::function<void(const MemoryCase&)>& visit);

}  // namespace weft::bench
