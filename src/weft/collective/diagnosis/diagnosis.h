// Diagnosis: which member or link the others wait for, and in which way: C4D.
//
// Members of a group do the same work in every round, so they are compared with each other. There
// are four classes:
//
//   compute hang    others have entered a round, and these members do not
//   exchange hang   all have entered, and data between two members does not arrive
//   slow compute    a member enters rounds late, again and again
//   slow exchange   all links from a member are slow (source), all links to it (destination), or
//                   one link
//
// Records hold durations and sequence numbers, no timestamps: clocks differ between members.
//
// A record is its author's claim. Whether a member enters late is decided by what the others have
// observed, its own claim only where nobody else has a record; a link is as slow as the end says
// that measured it as the faster one, so that one end alone cannot accuse the other. Where claim
// and observation, or the two ends, contradict each other clearly, a verdict says so. A coalition
// that has the majority of the records can accuse anybody.
//
// IMPLEMENTATION: J. Dong et al., "Boosting large-scale parallel training efficiency with C4: a
// communication-driven approach", arXiv 2406.04594 (2024), section 3 (C4D). The thresholds are
// ours. We use the number of slow links of a row instead of its mean, since one very slow link
// raises the mean of the row and of the column that it is in. Cost: O(n^2 log n) for n members.
//
// Where it stands: `weft doctor --run` fills it from the events of a run.
// Threads: one owner; no I/O, no clock. Fails: add() with kInvalidArgument for a record that no
// member of such a group writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/diagnosis/link_times.h"

namespace weft {

enum class FaultClass : std::uint8_t {
  kComputeHang,
  kExchangeHang,
  kSlowCompute,
  kSlowSource,
  kSlowDestination,
  kSlowLink,
  kContradiction,  // a member's claim, or the two ends of a link
};
// "compute hang", "slow link", ...
std::string_view to_string(FaultClass fault);

struct Verdict {
  FaultClass fault{};
  // For a link: the one that sends.
  int member = 0;
  // The other end of a link; -1: the verdict is about one member.
  int other = -1;
  // Hangs: seconds without movement. Slow compute, and contradictions of one member: seconds from
  // the beginning of a round to its entry, as observed. Links: seconds per byte.
  double measured = 0;
  // What is usual in this group: the median. Contradictions: what was claimed instead.
  double usual = 0;
  // Hangs: the round.
  std::uint64_t sequence = 0;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// What one member has recorded of one round, or of several together.
struct RoundRecord {
  int member = 0;
  std::uint64_t sequence = 0;
  // Its claim: from the beginning of the round until its input was complete.
  double compute_seconds = 0;
  // By member: from this one's beginning of the round until it learned that the input of that
  // member is complete; negative: not known. Empty: nothing is known.
  std::vector<double> entry_seconds;
  // Links at whose one end this member is, with the bytes of a round.
  std::vector<LinkTime> links;
};

// A round that has not ended at a member, which has given its own input.
struct OpenRecord {
  int member = 0;
  std::uint64_t sequence = 0;
  // Since anything moved here.
  double quiet_seconds = 0;
  // Members whose input is not complete, as far as this one knows.
  std::vector<int> absent;
  // Members whose data this one lacks, and members that have not taken what this one sends.
  std::vector<int> owing;
  std::vector<int> unsent;
};

struct DiagnosisOptions {
  // Newest records of each member that count.
  std::size_t window = 32;
  // Rounds that have not moved for this long hang.
  double hang_seconds = 2;
  // More than this many times the median is slow ...
  double slow_factor = 1.5;
  // ... if it costs a round more than this time.
  double slow_seconds = 0.005;
  // Claims that differ by more than this factor contradict each other; those of a link if they also
  // differ by more than slow_seconds a round.
  double contradiction_factor = 2;
};

class Diagnosis {
 public:
  // `members`: 1 to kDiagnosisMembersMax.
  explicit Diagnosis(int members, DiagnosisOptions options = {});

  // Replaces an earlier open record of the member.
  Status add(OpenRecord record);
  Status add(RoundRecord record);

  // Hangs, slow members, slow links, contradictions, in this order; empty: nothing stands out.
  std::vector<Verdict> verdicts() const;

 private:
  struct Times {
    std::deque<RoundRecord> records;
    std::optional<OpenRecord> open;
  };
  // By member; negative: not known.
  std::vector<double> claims() const;
  std::vector<double> entries() const;
  std::optional<double> entry_seen_by(int observer, int member) const;
  bool is_quiet(const Times& member) const {
    return member.open && member.open->quiet_seconds >= options_.hang_seconds;
  }
  // 0: none hangs.
  std::uint64_t hanging_round() const;
  void judge_hangs(std::vector<Verdict>& out) const;
  void judge_exchange(const std::vector<const OpenRecord*>& open, double quiet,
                      std::vector<Verdict>& out) const;
  void judge_compute(std::vector<Verdict>& out) const;
  void judge_links(std::vector<Verdict>& out) const;
  Status check(int member) const;
  Status check(const std::vector<int>& members) const;

  int members_;
  DiagnosisOptions options_;
  std::vector<Times> times_;
};

inline constexpr int kDiagnosisMembersMax = 256;

}  // namespace weft
