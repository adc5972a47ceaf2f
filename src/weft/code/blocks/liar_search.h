// locate_liars: the answers that do not fit to a smooth function of the workers' nodes.
//
// At the nodes z_i = cos((2 i + 1) pi / 2 N) the discrete cosine transform of the answers,
// c_k = sqrt(2 / N) sum_i V_i cos(pi (2 i + 1) k / 2 N), has the Chebyshev coefficients of the
// function, which vanish quickly where it is smooth. A wrong answer is a column of the transform
// and does not vanish. So the coefficients with k >= N / 2 are those of the lies.
//
// The search is greedy (orthogonal matching pursuit): it takes the column nearest to what is left
// of all high coefficients, of all values of the answers at once, fits the columns taken so far,
// and goes on until what is left is below the threshold. Missing answers are columns that are taken
// from the beginning. Then columns without which it would still be below are given back, so that
// one that was taken wrongly does no harm. This is a simplification of ours: the paper decodes the
// transform as an error-correcting code.
//
// IMPLEMENTATION: R. Borah, J. Harshan, "On securing Berrut approximated coded computing through
// discrete cosine transforms", arXiv:2507.01330, 2025 (SBACC), for the nodes and the transform;
// Y. Pati, R. Rezaiifar, P. Krishnaprasad, "Orthogonal matching pursuit", Asilomar 1993.
// Where it stands: CodedBlocks::liars(). Threads: pure.
// Fails: kUnavailable if more than `liars_max` answers are wrong, if the function is not smooth, or
// if too few answered: e liars take 2 e more high coefficients than there are missing answers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/base/status.h"

namespace weft {

struct LiarQuery {
  // The answers one after another, `values` numbers each.
  std::span<const double> answers;
  std::size_t values = 1;
  // Root mean square of the high coefficients from which they are a lie, against the median over
  // workers of the root mean square of an answer.
  double threshold = 0;
  std::size_t liars_max = 0;
  const std::vector<bool>& answered;
};

// In rising order.
Result<std::vector<std::size_t>> locate_liars(const LiarQuery& query);

}  // namespace weft
