// ResultLog: the sums and reports of the last committed rounds, kept for members and joiners that
// catch up.
//
// Bounded by bytes: all that a member needs up to `bytes_max`, and of the others, for members that
// fell behind, kSpareBytes. The last two results are always kept, because a view's base can be one
// round above what its slowest member holds.
// Threads: one owner. The buffers are shared and must not change once they are here.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/collective/reduce/all_reduce.h"
#include "weft/wire/ids.h"

namespace weft {

class ResultLog {
 public:
  struct Entry {
    Round round;
    Hash128 hash{};
    std::shared_ptr<FloatBuffer> values;
    // As RoundReports encodes them; empty where rounds have none.
    SharedBytes reports;
    std::uint64_t bytes() const { return values->span().size_bytes() + reports.size(); }
  };

  static constexpr std::uint64_t kSpareBytes = std::uint64_t{16} << 20;

  explicit ResultLog(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // REQUIRES: its round is newest() + 1, or the log is empty.
  void add(Entry entry);
  // From now on results before `round` may be dropped. Before the first call all are needed.
  void need_from(Round round) { needed_from_ = round; }
  // Null if the result is not here (any more).
  const Entry* find(Round round) const;
  void clear();

  bool empty() const { return entries_.empty(); }
  // Round 0 for an empty log.
  Round oldest() const { return empty() ? Round() : entries_.front().round; }
  Round newest() const { return empty() ? Round() : entries_.back().round; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  Round needed_from_;
  std::deque<Entry> entries_;
};

}  // namespace weft
