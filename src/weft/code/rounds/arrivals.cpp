#include "weft/code/rounds/arrivals.h"

#include <algorithm>

namespace weft {

void Arrivals::add(const MessageId& message) {
  came_[message.worker] = true;
  messages_[message.worker] = message;
}

std::size_t Arrivals::count() const {
  return static_cast<std::size_t>(std::count(came_.begin(), came_.end(), true));
}

Status Arrivals::decode(const ChunkSums& sums, JobDecode& decoded) const {
  WEFT_TRY_ASSIGN(const ChunkDecode part, sums.decode(came_));
  for (std::size_t worker = 0; worker < came_.size(); ++worker) {
    const Coefficient coefficient = part.coefficients[worker];
    if (coefficient == Coefficient(0)) continue;
    decoded.terms.push_back({messages_[worker], coefficient});
  }
  decoded.largest_coefficient = std::max(decoded.largest_coefficient, part.largest_coefficient);
  decoded.amplification = std::max(decoded.amplification, part.amplification);
  return {};
}

Result<JobDecode> decode_open(const OpenJobs<Arrivals>& open, const ChunkSums& sums,
                              std::int64_t job) {
  const Arrivals* const arrivals = open.find(job);
  if (arrivals == nullptr) return internal_error("the job is not open");
  JobDecode decoded;
  WEFT_TRY(arrivals->decode(sums, decoded));
  return decoded;
}

std::vector<ChunkTerm> terms_from(const ChunkSums& sums, std::size_t worker, std::size_t first) {
  std::vector<ChunkTerm> terms = sums.row(worker);
  for (ChunkTerm& term : terms) term.chunk += first;
  return terms;
}

}  // namespace weft
