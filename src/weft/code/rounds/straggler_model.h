// StragglerModel: which patterns of late workers a code promises to decode, and StragglerHistory,
// which says whether a round may end without some of them.
//
// IMPLEMENTATION: M. N. Krishnan, M. R. Ebrahimi, A. Khisti, "Sequential gradient coding for
// straggler mitigation", ICLR 2023, section 2, the (B, W, lambda) bursty model.
// Where it stands: a code names its model; the collector, which ends rounds, asks the history.
// Threads: one owner. Fails: never.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace weft {

// In any `window` consecutive rounds at most `distinct` workers straggle, and each of them only
// within `burst` consecutive rounds.
struct StragglerModel {
  std::size_t burst = 1;
  std::size_t window = 1;
  std::size_t distinct = 0;
};

class StragglerHistory {
 public:
  explicit StragglerHistory(const StragglerModel& model) : model_(model) {}

  // Whether the pattern of all rounds so far, followed by one in which `late` straggle, is one of
  // the model's. What it admits it also admits with fewer of them. `late` has all workers, as many
  // in each round.
  bool admits(const std::vector<bool>& late) const;
  // Another round is over.
  void add(std::vector<bool> late);

 private:
  StragglerModel model_;
  // The last rounds of a window, but for the next one.
  std::deque<std::vector<bool>> rounds_;
};

}  // namespace weft
