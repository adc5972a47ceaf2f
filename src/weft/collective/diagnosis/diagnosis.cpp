#include "weft/collective/diagnosis/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {

static constexpr double kNotKnown = -1;
// Beyond this nobody waits: it also keeps sums finite.
static constexpr double kSecondsMax = 1e9;
static constexpr double kLinkBytesMax = 1e18;
// Who claims to be slow and enters rounds this much less late is not.
static constexpr double kOnTimeShare = 0.25;

std::string_view to_string(FaultClass fault) {
  switch (fault) {
    case FaultClass::kComputeHang:
      return "compute hang";
    case FaultClass::kExchangeHang:
      return "exchange hang";
    case FaultClass::kSlowCompute:
      return "slow compute";
    case FaultClass::kSlowSource:
      return "slow source";
    case FaultClass::kSlowDestination:
      return "slow destination";
    case FaultClass::kSlowLink:
      return "slow link";
    case FaultClass::kContradiction:
      return "contradiction";
  }
  return "unknown";
}

Diagnosis::Diagnosis(int members, DiagnosisOptions options)
    : members_(members), options_(options), times_(static_cast<std::size_t>(members)) {
  WEFT_CHECK(members >= 1 && members <= kDiagnosisMembersMax);
}

// --- Records.

Status Diagnosis::check(int member) const {
  if (member >= 0 && member < members_) return {};
  return invalid_argument(
      fmt::format("diagnosis: expected a member from 0 to {}, got {}", members_ - 1, member));
}

Status Diagnosis::check(const std::vector<int>& members) const {
  if (members.size() > times_.size()) {
    return invalid_argument(
        fmt::format("diagnosis: expected at most {} members, got {}", members_, members.size()));
  }
  for (const int member : members) WEFT_TRY(check(member));
  return {};
}

static Status check_amount(std::string_view what, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return invalid_argument(
      fmt::format("diagnosis: {}: expected {} to {}, got {}", what, least, most, value));
}

Status Diagnosis::add(OpenRecord record) {
  WEFT_TRY(check(record.member));
  WEFT_TRY(check_amount("seconds without movement", record.quiet_seconds, 0, kSecondsMax));
  for (const auto* const list : {&record.absent, &record.owing, &record.unsent}) {
    WEFT_TRY(check(*list));
  }
  times_[static_cast<std::size_t>(record.member)].open = std::move(record);
  return {};
}

Status Diagnosis::add(RoundRecord record) {
  WEFT_TRY(check(record.member));
  WEFT_TRY(check_amount("compute seconds", record.compute_seconds, kNotKnown, kSecondsMax));
  if (!record.entry_seconds.empty() && record.entry_seconds.size() != times_.size()) {
    return invalid_argument(fmt::format("diagnosis: entry seconds: expected {} or none, got {}",
                                        members_, record.entry_seconds.size()));
  }
  for (const double seconds : record.entry_seconds) {
    WEFT_TRY(check_amount("entry seconds", seconds, kNotKnown, kSecondsMax));
  }
  if (record.links.size() > 2 * times_.size()) {
    return invalid_argument(fmt::format("diagnosis: expected at most {} links, got {}",
                                        2 * members_, record.links.size()));
  }
  for (const LinkTime& link : record.links) {
    WEFT_TRY(check(link.from));
    WEFT_TRY(check(link.to));
    WEFT_TRY(check_amount("bytes of a link", link.bytes, 0, kLinkBytesMax));
    WEFT_TRY(check_amount("seconds of a link", link.seconds, 0, kSecondsMax));
    if (link.from == link.to || (link.from != record.member && link.to != record.member)) {
      return invalid_argument(fmt::format("diagnosis: member {} reports the link {} -> {}",
                                          record.member, link.from, link.to));
    }
  }
  std::deque<RoundRecord>& records = times_[static_cast<std::size_t>(record.member)].records;
  records.push_back(std::move(record));
  if (records.size() > options_.window) records.pop_front();
  return {};
}

// --- Verdicts.

std::vector<Verdict> Diagnosis::verdicts() const {
  std::vector<Verdict> out;
  judge_hangs(out);
  judge_compute(out);
  judge_links(out);
  // Not std::ranges', whose result clang 14 cannot compile.
  std::stable_partition(out.begin(), out.end(), [](const Verdict& each) {
    return each.fault != FaultClass::kContradiction;
  });
  return out;
}

static bool holds(const std::vector<int>& members, int member) {
  return std::ranges::find(members, member) != members.end();
}

// Members are at most one round apart: who has ended the one that hangs, waits in the next.
std::uint64_t Diagnosis::hanging_round() const {
  std::uint64_t newest = 0;
  for (const Times& each : times_) {
    if (is_quiet(each)) newest = std::max(newest, each.open->sequence);
  }
  std::uint64_t oldest = newest;
  for (const Times& each : times_) {
    if (is_quiet(each) && each.open->sequence + 1 >= newest) {
      oldest = std::min(oldest, each.open->sequence);
    }
  }
  return oldest;
}

void Diagnosis::judge_hangs(std::vector<Verdict>& out) const {
  const std::uint64_t round = hanging_round();
  if (round == 0) return;
  std::vector<const OpenRecord*> open;
  double quiet = 0;
  for (const Times& each : times_) {
    if (!each.open || each.open->sequence != round) continue;
    open.push_back(&*each.open);
    quiet = std::max(quiet, each.open->quiet_seconds);
  }
  bool all_entered = true;
  for (int member = 0; member < members_; ++member) {
    const Times& own = times_[static_cast<std::size_t>(member)];
    const bool ended = !own.records.empty() && own.records.back().sequence >= round;
    const bool gave = own.open && own.open->sequence >= round;
    const bool seen = std::ranges::any_of(
        open, [&](const OpenRecord* record) { return !holds(record->absent, member); });
    if (ended || gave || seen) continue;
    all_entered = false;
    out.push_back({FaultClass::kComputeHang, member, -1, quiet, 0, round});
  }
  if (all_entered) judge_exchange(open, quiet, out);
}

// Pairs with unfinished messages. Most members only wait for others that wait: a member that gives
// no sign of life, or data that its sender could not send, is nearer to the cause.
void Diagnosis::judge_exchange(const std::vector<const OpenRecord*>& open, double quiet,
                               std::vector<Verdict>& out) const {
  const std::uint64_t sequence = open.front()->sequence;
  const auto silent = [&](int member) {
    const Times& own = times_[static_cast<std::size_t>(member)];
    return !own.open || own.open->sequence < sequence;
  };
  std::vector<std::pair<int, int>> owed;
  std::vector<std::pair<int, int>> unsent;
  for (const OpenRecord* const record : open) {
    for (const int from : record->owing) owed.emplace_back(from, record->member);
    // It has entered, since others know that; the news has not come here.
    for (const int from : record->absent) owed.emplace_back(from, record->member);
    for (const int to : record->unsent) unsent.emplace_back(record->member, to);
  }
  std::vector<int> dead;
  for (const auto* const pairs : {&owed, &unsent}) {
    for (const auto& [from, to] : *pairs) {
      for (const int end : {from, to}) {
        if (silent(end) && !holds(dead, end)) dead.push_back(end);
      }
    }
  }
  // With one record all others are silent: only a pair can be named.
  if (open.size() > 1 && !dead.empty()) {
    for (const int member : dead) {
      out.push_back({FaultClass::kExchangeHang, member, -1, quiet, 0, sequence});
    }
    return;
  }
  std::vector<std::pair<int, int>>& suspects = unsent.empty() ? owed : unsent;
  std::ranges::sort(suspects);
  suspects.erase(std::unique(suspects.begin(), suspects.end()), suspects.end());
  for (const auto& [from, to] : suspects) {
    out.push_back({FaultClass::kExchangeHang, from, to, quiet, 0, sequence});
  }
}

std::vector<double> Diagnosis::claims() const {
  std::vector<double> out;
  for (const Times& each : times_) {
    std::vector<double> known;
    for (const RoundRecord& record : each.records) {
      if (record.compute_seconds >= 0) known.push_back(record.compute_seconds);
    }
    out.push_back(known.empty() ? kNotKnown : lower_median(std::move(known)));
  }
  return out;
}

std::optional<double> Diagnosis::entry_seen_by(int observer, int member) const {
  std::vector<double> known;
  for (const RoundRecord& record : times_[static_cast<std::size_t>(observer)].records) {
    if (record.entry_seconds.empty()) continue;
    const double seconds = record.entry_seconds[static_cast<std::size_t>(member)];
    if (seconds >= 0) known.push_back(seconds);
  }
  if (known.empty()) return std::nullopt;
  return lower_median(std::move(known));
}

// The median over those that have observed it, without itself.
std::vector<double> Diagnosis::entries() const {
  std::vector<double> out;
  for (int member = 0; member < members_; ++member) {
    std::vector<double> seen;
    for (int observer = 0; observer < members_; ++observer) {
      if (observer == member) continue;
      if (const auto seconds = entry_seen_by(observer, member)) seen.push_back(*seconds);
    }
    out.push_back(seen.empty() ? kNotKnown : lower_median(std::move(seen)));
  }
  return out;
}

static double median_of_known(const std::vector<double>& values) {
  std::vector<double> known;
  std::ranges::copy_if(values, std::back_inserter(known), [](double each) { return each >= 0; });
  return known.empty() ? kNotKnown : lower_median(std::move(known));
}

void Diagnosis::judge_compute(std::vector<Verdict>& out) const {
  const std::vector<double> claimed = claims();
  const std::vector<double> entered = entries();
  const double usual_claim = median_of_known(claimed);
  const double usual_entry = median_of_known(entered);
  // How much later than usual is late.
  const double late = std::max(options_.slow_seconds,
                               (options_.slow_factor - 1) * std::max(usual_claim, usual_entry));
  for (int member = 0; member < members_; ++member) {
    const double claim = claimed[static_cast<std::size_t>(member)];
    const double entry = entered[static_cast<std::size_t>(member)];
    const bool claims_slow = claim >= 0 && claim - usual_claim > late;
    if (entry < 0) {
      if (claims_slow) {
        out.push_back({FaultClass::kSlowCompute, member, -1, claim, usual_claim, 0});
      }
      continue;
    }
    const bool is_late = entry - usual_entry > late;
    if (is_late) out.push_back({FaultClass::kSlowCompute, member, -1, entry, usual_entry, 0});
    const bool on_time = entry - usual_entry < kOnTimeShare * late;
    const bool claims_usual = claim >= 0 && claim - usual_claim < kOnTimeShare * late;
    if ((claims_slow && on_time) || (is_late && claims_usual)) {
      out.push_back({FaultClass::kContradiction, member, -1, entry, claim, 0});
    }
  }
}

void Diagnosis::judge_links(std::vector<Verdict>& out) const {
  LinkTimes table(members_);
  for (const Times& each : times_) {
    for (const RoundRecord& record : each.records) {
      for (const LinkTime& link : record.links) table.add(link, record.member);
    }
  }
  const double usual = table.usual();
  for (const LinkTimes::Slow& slow : table.slow(options_.slow_factor, options_.slow_seconds)) {
    if (slow.to < 0) {
      out.push_back({FaultClass::kSlowSource, slow.from, -1, slow.per_byte, usual, 0});
    } else if (slow.from < 0) {
      out.push_back({FaultClass::kSlowDestination, slow.to, -1, slow.per_byte, usual, 0});
    } else {
      out.push_back({FaultClass::kSlowLink, slow.from, slow.to, slow.per_byte, usual, 0});
    }
  }
  for (const auto& each :
       table.contradictions(options_.contradiction_factor, options_.slow_seconds)) {
    out.push_back({FaultClass::kContradiction, each.from, each.to, each.sender, each.receiver, 0});
  }
}

}  // namespace weft
