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

std::optional<PartOptions> part_options(const Recipe& recipe) {
  const Recipe::Group& group = recipe.group;
  PartOptions options;
  options.by_speed = group.shares == "speed";
  options.waits = group.wait != "deadline";
  options.deadline = from_milliseconds(group.deadline_ms);
  options.deadline_factor = group.deadline_factor;
  // The recipe was checked, so the text is a gate's.
  if (const Result<Gate> gate = Gate::parse(group.late); gate.ok()) options.gate = *gate;
  options.staleness_max = group.staleness_max;
  options.batch = recipe.run.global_batch;
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

std::optional<MemberPart::Admitted> MemberPart::admit(const ParameterArena& arena) {
  if (!carried_) return std::nullopt;
  const auto staleness = static_cast<std::int64_t>(turn_.round.value() - carried_->round.value());
  if (staleness < 1 || staleness > options_.staleness_max) {
    carried_.reset();
    return std::nullopt;
  }
  const double weight = options_.gate.weight(
      {.staleness = staleness, .round = static_cast<std::int64_t>(carried_->round.value())});
  // Older ones will not count either.
  if (!(weight > 0)) {
    carried_.reset();
    return std::nullopt;
  }
  Admitted admitted = {carried_->gradients, carried_->report};
  if (weight == 1 && !options_.gate.corrects()) return admitted;
  changed_ = carried_->gradients;
  correct(arena);
  const auto factor = static_cast<float>(weight);
  for (float& value : changed_) value *= factor;
  admitted.gradients = changed_;
  for (double* sum : {&admitted.report.loss, &admitted.report.correct, &admitted.report.samples,
                      &admitted.report.labels}) {
    *sum *= static_cast<double>(factor);
  }
  return admitted;
}

// Running statistics stand in the same vector, and are no gradients.
void MemberPart::correct(const ParameterArena& arena) {
  if (!options_.gate.corrects()) return;
  const double part = carried_->report.samples / static_cast<double>(options_.batch);
  if (!(part > 0)) return;
  for (const LayoutEntry& entry : arena.layout().entries()) {
    if (entry.kind == ParameterKind::kBuffer) continue;
    const auto offset = static_cast<std::size_t>(entry.offset);
    const auto size = static_cast<std::size_t>(entry.shape.num_elements());
    const MovedParameters moved = {std::span(carried_->parameters).subspan(offset, size),
                                   arena.parameters().subspan(offset, size), part};
    options_.gate.correct(moved, std::span(changed_).subspan(offset, size));
  }
}

Status MemberPart::begin(const Turn& turn, ShardRange shard, const ParameterArena& arena,
                         RoundExchange& exchange) {
  turn_ = turn;
  turn_.reduced = {};
  name_ = name_of(turn, static_cast<std::size_t>(turn.rank.value()));
  share_ = shard.size();
  admitted_ = admit(arena);
  if (options_.waits) return {};
  StandIn given;
  given.deadline = deadline();
  given.elements = arena.layout().num_elements();
  RoundReport nothing;
  nothing.member = report(Attendance::kLate);
  given.report = nothing.encode();
  if (admitted_) {
    RoundReport carried = admitted_->report;
    carried.member = report(Attendance::kCarried);
    given.carried = admitted_->gradients;
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
  if (!admitted_) return gradients;
  merged_.assign(gradients.begin(), gradients.end());
  for (std::size_t i = 0; i < merged_.size(); ++i) merged_[i] += admitted_->gradients[i];
  own.loss += admitted_->report.loss;
  own.correct += admitted_->report.correct;
  own.samples += admitted_->report.samples;
  own.labels += admitted_->report.labels;
  return merged_;
}

void MemberPart::ended(const RoundResult& result, const ParameterArena& arena,
                       const RoundReport& own) {
  if (options_.waits) return;
  admitted_.reset();
  const RoundMetrics sums = fold_reports(result.reports);
  const auto rank = static_cast<std::size_t>(turn_.rank.value());
  const bool told = rank < sums.members.size() && sums.members[rank].name == name_;
  if (told && sums.members[rank].attendance == Attendance::kInTime) {
    carried_.reset();
    return;
  }
  if (!options_.gate.keeps()) return;
  // What was carried has been used, or is older than this.
  if (!carried_) carried_.emplace();
  const auto copy = [](std::span<const float> from, std::vector<float>& to) {
    to.assign(from.begin(), from.end());
  };
  copy(arena.gradients(), carried_->gradients);
  if (options_.gate.corrects()) copy(arena.parameters(), carried_->parameters);
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
  admitted_.reset();
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
