// A parsed einsum equation, with a number for each letter and each axis of "...".
//
// For einsum_op.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/array/shape/shape.h"

namespace weft {

// A set of labels; label i is bit i.
using LabelSet = std::uint64_t;
using Labels = std::vector<int>;

struct EinsumPlan {
  std::vector<Labels> operands;  // a label for each axis
  Labels result;
  std::vector<std::int64_t> lengths;  // by label: its length, 1 only if it is 1 everywhere

  // The product of their lengths; a float, as the union of many labels may be beyond any integer.
  double product(LabelSet labels) const;
};

// Throws std::invalid_argument "[einsum] ..." on an invalid equation or one that does not fit.
EinsumPlan parse_einsum(std::string_view equation, std::span<const Shape> shapes);

inline LabelSet set_of(const Labels& labels) {
  LabelSet set = 0;
  for (const int label : labels) set |= LabelSet{1} << label;
  return set;
}

// Pairs of operands to contract, one after the other: each takes operands `left` and `right` out
// of the list and puts the result at its end.
struct EinsumStep {
  std::size_t left;
  std::size_t right;
};
std::vector<EinsumStep> einsum_order(const EinsumPlan& plan);

}  // namespace weft
