// Factorizations of small dense matrices in double precision: what weft.linalg is made of.
//
// Each takes a batch [b, m, n] of float64, contiguous, and gives contiguous results without
// history; weft/linalg.py has the gradients. Threads: as kernels. Fails: std::invalid_argument for
// singular or indefinite matrices, naming the number of the matrix in the batch.
#pragma once

#include <vector>

#include "weft/array/array.h"

namespace weft::python {

// The solutions [b, n, k] of a x = rhs, by elimination with partial pivoting.
Array solve_systems(const Array& a, const Array& rhs);
// lu [b, m, n], the upper triangle u and below it the lower one l, whose diagonal is 1, and the
// exchanges [b, min(m, n)] of int64: row i was exchanged with that row, in this order.
std::vector<Array> lu_of(const Array& a);
// The sign, -1, 0 or 1, and the logarithm of the magnitude of each determinant: [b] each.
std::vector<Array> log_determinants(const Array& a);
// The lower triangles l with l l^T = a, of which the lower half is read.
Array cholesky_of(const Array& a);
// q [b, m, min(m, n)] or, if `complete`, [b, m, m] and r, by Householder's reflections.
std::vector<Array> qr_of(const Array& a, bool complete);
// The eigenvalues [b, n], ascending, and the eigenvectors as columns [b, n, n] of symmetric
// matrices, of which the lower half is read; by Jacobi's rotations.
std::vector<Array> eigen_of_symmetric(const Array& a);
// u [b, m, k], s [b, k] descending and v [b, n, k] with k = n <= m: a = u diag(s) v^T; by
// rotations from one side (Hestenes). Columns of u whose singular value is 0 are 0.
std::vector<Array> singular_values_of(const Array& a);

}  // namespace weft::python
