#include "weft/train/step/member_part.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft {
namespace {

// The shortest deadline that follows from measured times: below it the system's own hiccups would
// decide.
constexpr double kDeadlineSecondsMin = 0.020;

// Where members are fixed they are known by their places.
std::uint32_t name_of(const Turn& turn, std::size_t rank) {
  return rank < turn.peers.size() ? report_name(turn.peers[rank])
                                  : static_cast<std::uint32_t>(rank + 1);
}

}  // namespace

std::optional<PartOptions> part_options(const Recipe::Group& group) {
  PartOptions options;
  options.by_speed = group.shares == "speed";
  options.waits = group.wait != "deadline";
  options.deadline = from_milliseconds(group.deadline_ms);
  options.deadline_factor = group.deadline_factor;
  options.carry = group.late == "carry";
  options.staleness_max = group.staleness_max;
  if (!options.by_speed && options.waits) return std::nullopt;
  return options;
}

ShardRange MemberPart::shard(const Turn& turn, std::int64_t samples) const {
  if (!options_.by_speed) return shard_for(nullptr, turn, samples);
  std::vector<std::uint32_t> names;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(turn.members); ++rank) {
    names.push_back(name_of(turn, rank));
  }
  return shard_of(shares_.split(names, samples, turn.halvings), turn.rank.value());
}

MemberReport MemberPart::report(Attendance attendance) const {
  MemberReport report;
  report.name = name_;
  report.attendance = attendance;
  report.share = share_;
  report.seconds_per_sample = meter_.seconds_per_sample();
  report.settled = meter_.settled();
  return report;
}

Duration MemberPart::deadline() const {
  if (options_.waits) return {};
  if (options_.deadline > Duration::zero() || median_seconds_ == 0) return options_.deadline;
  return from_seconds(std::max(kDeadlineSecondsMin, options_.deadline_factor * median_seconds_));
}

Status MemberPart::begin(const Turn& turn, ShardRange shard, std::int64_t elements,
                         RoundExchange& exchange) {
  turn_ = turn;
  turn_.reduced = {};
  name_ = name_of(turn, static_cast<std::size_t>(turn.rank.value()));
  share_ = shard.size();
  if (carried_ && turn.round.value() > carried_->round.value() +
                                           static_cast<std::uint64_t>(options_.staleness_max)) {
    carried_.reset();
  }
  if (options_.waits) return {};
  StandIn given;
  given.deadline = deadline();
  given.elements = elements;
  RoundReport nothing;
  nothing.member = report(Attendance::kLate);
  given.report = nothing.encode();
  if (carried_) {
    RoundReport carried = carried_->report;
    carried.member = report(Attendance::kCarried);
    given.carried = carried_->gradients;
    given.carried_report = carried.encode();
  }
  return exchange.stand_in(given);
}

MemberReport MemberPart::computed(double seconds, std::int64_t share) {
  meter_.add(seconds, share);
  return report(Attendance::kInTime);
}

std::span<const float> MemberPart::with_carried(std::span<const float> gradients,
                                                RoundReport& own) {
  if (!carried_) return gradients;
  merged_.assign(gradients.begin(), gradients.end());
  for (std::size_t i = 0; i < merged_.size(); ++i) merged_[i] += carried_->gradients[i];
  own.loss += carried_->report.loss;
  own.correct += carried_->report.correct;
  own.samples += carried_->report.samples;
  own.labels += carried_->report.labels;
  return merged_;
}

void MemberPart::ended(const RoundResult& result, std::span<const float> gradients,
                       const RoundReport& own) {
  if (options_.waits) return;
  const RoundMetrics sums = fold_reports(result.reports);
  const auto rank = static_cast<std::size_t>(turn_.rank.value());
  const bool told = rank < sums.members.size() && sums.members[rank].name == name_;
  if (told && sums.members[rank].attendance == Attendance::kInTime) {
    carried_.reset();
    return;
  }
  if (!options_.carry) return;
  // What was carried has been used, or is older than this.
  if (!carried_) carried_.emplace();
  carried_->gradients.assign(gradients.begin(), gradients.end());
  carried_->report = own;
  carried_->report.compute_seconds = 0;
  carried_->round = turn_.round;
}

void MemberPart::hear(const RoundMetrics& metrics) {
  shares_.hear(metrics.members);
  std::vector<double> seconds;
  std::copy_if(metrics.compute_seconds.begin(), metrics.compute_seconds.end(),
               std::back_inserter(seconds), [](double each) { return each > 0; });
  if (seconds.empty()) return;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  median_seconds_ = *middle;
}

Status MemberPart::adopt(std::string_view text) {
  WEFT_TRY_ASSIGN(shares_, Shares::decode(text));
  carried_.reset();
  return {};
}

ShardRange shard_for(const MemberPart* part, const Turn& turn, std::int64_t samples) {
  if (part != nullptr) return part->shard(turn, samples);
  if (turn.halvings.size() != static_cast<std::size_t>(turn.members)) {
    return shard_of(samples, turn.rank.value(), turn.members);
  }
  return shard_of(halved_shares(samples, turn.halvings), turn.rank.value());
}

}  // namespace weft
