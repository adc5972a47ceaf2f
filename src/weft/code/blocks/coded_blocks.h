// CodedBlocks: a function of K blocks of data by N workers, of which some do not answer and some
// may lie, approximately.
//
// Worker i gets U_i = sum_j encode(i)[j] X_j, as large as one block, and answers f(U_i). With the
// answers that came, f(X_j) is about sum_i decode()[j][i] f(U_i). For smooth f the error falls
// about as 1 / N; a deep network is not smooth between blocks that differ much, so the blocks of
// one code must be alike or f shallow. Results are approximate, and no two sets of answers give the
// same bits: they cannot be compared by hashes.
//
// Both directions are Berrut's rational interpolant, sum_i V_i s_i / (x - z_i) over
// sum_i s_i / (x - z_i), whose signs s_i alternate along the nodes z_i. For decoding they alternate
// along the nodes that answered, not along all: then the denominator has no zero, whichever are
// missing. At a node itself the interpolant is its value.
//
// IMPLEMENTATION: T. Jahani-Nezhad, M. A. Maddah-Ali, "Berrut approximated coded computing:
// straggler resistance beyond polynomial computing", IEEE TPAMI 2023 (BACC), without its noise for
// privacy; J.-P. Berrut, "Rational functions for guaranteed and experimentally well-conditioned
// global interpolation", 1988. For liars see liar_search.h.
// Where it stands: CodingScheme (coding_scheme.h) makes it; a caller encodes, computes and decodes.
// Threads: immutable. Fails: as said at each method.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/base/status.h"

namespace weft {

struct CodedBlocksInfo {
  // The place of each block and, in falling order, of each worker, in [-1, 1].
  std::vector<double> block_nodes;
  std::vector<double> worker_nodes;
  // Whether the workers' nodes are those of the discrete cosine transform, so that liars can be
  // located; and above which energy (liar_search.h).
  bool locates = false;
  double threshold = 0;
};

class CodedBlocks {
 public:
  explicit CodedBlocks(CodedBlocksInfo info);

  std::size_t workers() const { return info_.worker_nodes.size(); }
  std::size_t blocks() const { return info_.block_nodes.size(); }
  // How many workers may be missing, liars included: half of them.
  std::size_t missing_max() const { return workers() / 2; }
  // How many liars can be located; 0 for a code that does not.
  std::size_t liars_max() const { return info_.locates ? workers() / 8 : 0; }

  // The weight of each block in what `worker` gets. REQUIRES: worker < workers().
  std::vector<double> encode(std::size_t worker) const;
  // Element j has the weight of each worker's answer in f of block j, 0 for those that did not
  // answer. kUnavailable if more than missing_max() are missing. REQUIRES: as many as workers().
  Result<std::vector<std::vector<double>>> decode(const std::vector<bool>& answered) const;
  // Those whose answers do not fit to the others', in rising order: to be decoded without.
  // `answers` has the answers of all workers one after another, `values` numbers each; those of
  // workers that did not answer are not read. An answer with a value that is not finite is a lie.
  // kUnavailable if these are more than liars_max() or if the code cannot locate liars,
  // kInvalidArgument if `answers` has another length.
  Result<std::vector<std::size_t>> liars(std::span<const double> answers, std::size_t values,
                                         const std::vector<bool>& answered) const;

 private:
  CodedBlocksInfo info_;
};

}  // namespace weft
