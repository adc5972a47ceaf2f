// Arrivals: which workers' messages of one ChunkSums came, and in what messages.
//
// Threads: one owner. Fails: decode() as ChunkSums::decode().
#pragma once

#include <vector>

#include "weft/base/status.h"
#include "weft/code/chunk/chunk_sums.h"
#include "weft/code/rounds/coded_rounds.h"
#include "weft/code/rounds/open_jobs.h"

namespace weft {

class Arrivals {
 public:
  explicit Arrivals(std::size_t workers) : came_(workers, false), messages_(workers) {}

  void add(const MessageId& message);
  bool has(std::size_t worker) const { return came_[worker]; }
  std::size_t count() const;
  // Appends the messages of `sums`, with their coefficients, to `decoded`.
  Status decode(const ChunkSums& sums, JobDecode& decoded) const;

 private:
  std::vector<bool> came_;
  std::vector<MessageId> messages_;
};

// What CodedRounds::decode() gives for a job whose messages all are of `sums`. Fails: kInternal if
// it is not open.
Result<JobDecode> decode_open(const OpenJobs<Arrivals>& open, const ChunkSums& sums,
                              std::int64_t job);

// The terms of `sums` for `worker`, with the number of its first chunk added to each chunk.
std::vector<ChunkTerm> terms_from(const ChunkSums& sums, std::size_t worker, std::size_t first);

}  // namespace weft
