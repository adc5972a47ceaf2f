// solve_least_squares: the x for which a matrix times x is nearest to a vector, by Householder QR.
//
// The matrices of gradient codes are badly conditioned. QR loses as many digits as their condition
// number has; the normal equations would lose twice as many.
//
// IMPLEMENTATION: G. Golub, C. Van Loan, "Matrix computations", 4th edition 2013, algorithm 5.2.1,
// without pivoting: 2 r c^2 multiplications for r rows and c columns.
// Where it stands: decoders of this folder call it. Threads: pure.
// Fails: kUnavailable where a column depends on those before it, up to rounding.
#pragma once

#include <vector>

#include "weft/base/status.h"

namespace weft {

// `columns` of the matrix, each as long as `right`. REQUIRES: no more columns than rows.
Result<std::vector<double>> solve_least_squares(std::vector<std::vector<double>> columns,
                                                std::vector<double> right);

}  // namespace weft
