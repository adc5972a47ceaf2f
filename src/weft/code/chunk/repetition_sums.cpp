// Fractional repetition: the batch is cut into as many chunks as groups, and the workers of a group
// compute the same chunk.
//
// IMPLEMENTATION: Tandon et al., 2017, section 3.1. There a group has stragglers + 1 chunks of one
// n-th each, which all its workers sum with the coefficient 1; here they are one chunk.
#include <fmt/format.h>

#include "weft/code/chunk/chunk_sums.h"

namespace weft {
namespace {

class RepetitionSums final : public ChunkSums {
 public:
  RepetitionSums(const ChunkCodeSize& size, std::vector<std::vector<ChunkTerm>> rows)
      : ChunkSums(size, size.workers / (size.stragglers + 1), std::move(rows)) {}

 private:
  Result<std::vector<Coefficient>> solve(const std::vector<bool>& came) const override {
    const std::size_t members = stragglers() + 1;
    std::vector<Coefficient> coefficients(workers());
    for (std::size_t group = 0; group < chunks(); ++group) {
      std::size_t worker = group * members;
      while (worker < (group + 1) * members && !came[worker]) ++worker;
      if (worker == (group + 1) * members) {
        return unavailable(
            fmt::format("not decodable: none of the workers {} to {} has sent chunk {}",
                        group * members, worker - 1, group));
      }
      coefficients[worker] = 1;
    }
    return coefficients;
  }
};

}  // namespace

Result<std::unique_ptr<const ChunkSums>> repetition_sums(const ChunkCodeSize& size) {
  WEFT_TRY(check_chunk_code(size));
  const std::size_t members = size.stragglers + 1;
  if (size.workers % members != 0) {
    return invalid_argument(fmt::format(
        "stragglers: expected one less than a divisor of the {} workers, got {}; cyclic "
        "takes any number",
        size.workers, size.stragglers));
  }
  std::vector<std::vector<ChunkTerm>> rows(size.workers);
  for (std::size_t worker = 0; worker < size.workers; ++worker) {
    rows[worker] = {{.chunk = worker / members}};
  }
  return std::unique_ptr<const ChunkSums>(std::make_unique<RepetitionSums>(size, std::move(rows)));
}

}  // namespace weft
