// AuditExchange: a RoundExchange that writes into the event log what this member put into each
// round and what came out, so that a checker can tell from the logs of all members whether every
// sum is the sum of what exactly its members gave. The recipe key group.audit turns it on;
// tests/chaos is the checker.
//
// A vector is told by a digest: its hash, a few of its values and a few
// projections on fixed pseudo-random signs, beside the samples that the reports count. Digests are
// linear but for the hash: those of the inputs add up to that of the sum, up to the rounding of f32
// that `magnitude` bounds. The input is logged before its last piece, or its report, is handed
// over. A member that is killed at any moment has therefore either logged what the others may have
// summed, or has not given all of it.
//
// Where it stands: run loop -> AuditExchange -> SwarmExchange. Threads: as RoundExchange; the log
// has the same owner. Costs a copy of the vector and two passes over it a round.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/base/hash.h"
#include "weft/train/event/event_log.h"
#include "weft/train/exchange/round_exchange.h"

namespace weft {

inline constexpr std::size_t kAuditProjections = 3;
inline constexpr std::size_t kAuditValues = 4;

struct VectorDigest {
  Hash128 hash{};
  // The sum of the absolute values.
  double magnitude = 0;
  std::array<double, kAuditProjections> projections{};
  // Elements at equal distances, the first included.
  std::array<double, kAuditValues> values{};
};
VectorDigest digest_of(std::span<const float> vector);

// Borrows both, which must outlive what is returned.
std::unique_ptr<RoundExchange> make_audit_exchange(RoundExchange& inner, EventLog& log);

}  // namespace weft
