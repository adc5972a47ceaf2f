// Products of vectors, matrices and arrays of any number of axes. Products of matrices: matmul.h.
//
// Names and rules as in PyTorch. Operands have one type; all throw std::invalid_argument on shapes
// that do not fit.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "weft/autograd/tensor.h"
#include "weft/op/matmul.h"

namespace weft {

// Einstein's summation, e.g. "bhid,bhjd->bhij": each letter is an axis; letters that are not in the
// result are summed over, a letter that repeats within an operand means its diagonal. "..." means
// further axes, which broadcast; without "->" the result has the letters that occur once, in
// alphabetic order, after "...".
//
// Two operands at a time are contracted as one batched product of matrices, in the order of the
// fewest multiplications (up to kEinsumOperandsMax operands, all orders are compared).
inline constexpr int kEinsumOperandsMax = 8;
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
inline Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands) {
  return einsum(equation, std::span<const Tensor>(operands));
}

// The sum of the products of two vectors.
Tensor dot(const Tensor& a, const Tensor& b);
// All products of the values of two vectors: [n, m].
Tensor outer(const Tensor& a, const Tensor& b);
// Products of [b, m, k] and [b, k, n]; the batch does not broadcast.
Tensor bmm(const Tensor& a, const Tensor& b);
// Sums products over axes_a[i] of a and axes_b[i] of b; the remaining axes of a come first.
Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int>& axes_a,
                 const std::vector<int>& axes_b);
// Over the last `count` axes of a and the first of b.
Tensor tensordot(const Tensor& a, const Tensor& b, int count = 2);
// The sum of the diagonal of a matrix.
Tensor trace(const Tensor& x);

}  // namespace weft
