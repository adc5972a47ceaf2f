// RoundVector: the f32 vector that a round sums: the gradient buffer of the arena, gaps (zeros) and
// running statistics included, and nothing else.
//
// Every element is contributed exactly once. What a member has to say beside it is its RoundReport.
//
// Where it stands: autograd's sink -> RoundVector -> RoundExchange. Threads: the training thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/report/round_report.h"

namespace weft {

// An evaluation sums nothing but reports; a round has at least one element, which is 0 then.
inline constexpr std::int64_t kEvaluationElements = 1;

class RoundVector {
 public:
  // Borrows both, which must outlive this. With `whole` nothing is handed over before add_whole().
  RoundVector(ParameterArena& arena, RoundExchange& exchange, bool whole = false);

  std::int64_t elements() const { return gradient_elements_; }
  // Opens the round: nothing is contributed yet.
  Status begin();
  // The gradient of parameter `id` stands in the arena, complete.
  void add(ParameterId id);
  // Contributes what no add() has (as zeros), and reports. Fails: as RoundExchange::report().
  Status add_rest(const RoundReport& own);
  // Completes the arena's gradients, as add_rest() does, and hands over nothing.
  std::span<const float> complete();
  // Contributes everything: these gradients and the report. Borrows the gradients until finish().
  Status add_whole(std::span<const float> gradients, const RoundReport& own);
  // Waits for the sums and the reports of all.
  Result<RoundResult> finish();

 private:
  void contribute(int index);

  ParameterArena& arena_;
  RoundExchange& exchange_;
  const bool whole_;
  const std::int64_t gradient_elements_;
  std::vector<bool> contributed_;
};

}  // namespace weft
