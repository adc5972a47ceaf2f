#include "weft/train/round_vector.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace weft {
namespace {

constexpr std::size_t kErrorsSlot = 4;
constexpr std::size_t kValidationSlot = 8;
constexpr std::size_t kFirstSlot = 12;

struct ErrorField {
  double ValueErrors::*sum;
};
constexpr ErrorField kErrorFields[] = {{&ValueErrors::absolute},
                                       {&ValueErrors::squared},
                                       {&ValueErrors::values},
                                       {&ValueErrors::value_squares}};
static_assert(kErrorsSlot + std::size(kErrorFields) == kValidationSlot);

std::size_t slot_of(std::size_t rank) { return kFirstSlot + rank * kReportElements; }

}  // namespace

double ValueErrors::mean_absolute(double labels) const {
  return labels > 0 ? absolute / labels : std::numeric_limits<double>::quiet_NaN();
}

double ValueErrors::r2(double labels) const {
  const double spread = labels > 0 ? value_squares - values * values / labels : 0.0;
  return spread > 0 ? 1.0 - squared / spread : std::numeric_limits<double>::quiet_NaN();
}

std::array<float, kMetricsElements> encode_metrics(const RoundMetrics& own, int rank) {
  std::array<float, kMetricsElements> tail{};
  tail[0] = static_cast<float>(own.loss);
  tail[1] = static_cast<float>(own.correct);
  tail[2] = static_cast<float>(own.samples);
  tail[3] = static_cast<float>(own.labels);
  tail[8] = static_cast<float>(own.validation.loss);
  tail[9] = static_cast<float>(own.validation.correct);
  tail[10] = static_cast<float>(own.validation.samples);
  tail[11] = static_cast<float>(own.validation.labels);
  for (std::size_t i = 0; i < std::size(kErrorFields) && own.errors; ++i) {
    tail[kErrorsSlot + i] = static_cast<float>(*own.errors.*kErrorFields[i].sum);
  }
  if (rank >= kMemberSlots) return tail;
  MemberReport report;
  if (!own.reports.empty()) report = own.reports.front();
  if (!own.compute_seconds.empty()) report.compute_seconds = own.compute_seconds.front();
  encode_report(
      report,
      std::span(tail).subspan(slot_of(static_cast<std::size_t>(rank))).first<kReportElements>());
  return tail;
}

RoundMetrics decode_metrics(std::span<const float> tail, int members) {
  RoundMetrics sum;
  sum.loss = tail[0];
  sum.correct = tail[1];
  sum.samples = tail[2];
  sum.labels = tail[3];
  sum.validation = {tail[8], tail[9], tail[10], tail[11]};
  ValueErrors errors;
  for (std::size_t i = 0; i < std::size(kErrorFields); ++i) {
    errors.*kErrorFields[i].sum = tail[kErrorsSlot + i];
  }
  if (errors.value_squares > 0) sum.errors = errors;
  const auto ranks = static_cast<std::size_t>(members);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(kMemberSlots); ++rank) {
    const MemberReport report = decode_report(tail.subspan(slot_of(rank)).first<kReportElements>());
    if (rank < ranks && members <= kMemberSlots) {
      sum.compute_seconds.push_back(report.compute_seconds);
    }
    if (report.name == 0) continue;
    sum.reports.resize(rank + 1);
    sum.reports[rank] = report;
  }
  return sum;
}

RoundVector::RoundVector(ParameterArena& arena, Exchange& exchange, bool whole)
    : arena_(arena),
      exchange_(exchange),
      whole_(whole),
      gradient_elements_(arena.layout().num_elements()),
      contributed_(static_cast<std::size_t>(arena.size())) {}

Status RoundVector::begin() {
  std::fill(contributed_.begin(), contributed_.end(), false);
  return exchange_.begin(elements());
}

void RoundVector::add(ParameterId id) { contribute(id.value()); }

void RoundVector::contribute(int index) {
  // Up to the next parameter: the gap between the two holds zeros and belongs to the vector.
  const Layout& layout = arena_.layout();
  const std::int64_t begin = layout[index].offset;
  const std::int64_t end =
      index + 1 < layout.size() ? layout[index + 1].offset : gradient_elements_;
  contributed_[static_cast<std::size_t>(index)] = true;
  if (whole_) return;
  exchange_.contribute(begin, arena_.gradients().subspan(static_cast<std::size_t>(begin),
                                                         static_cast<std::size_t>(end - begin)));
}

std::span<const float> RoundVector::complete() {
  for (int index = arena_.size() - 1; index >= 0; --index) {
    if (contributed_[static_cast<std::size_t>(index)]) continue;
    arena_.gradient(index).fill(0.0);
    contribute(index);
  }
  return std::as_const(arena_).gradients();
}

void RoundVector::add_rest(const RoundMetrics& own, int rank) {
  complete();
  tail_ = encode_metrics(own, rank);
  exchange_.contribute(gradient_elements_, tail_);
}

void RoundVector::add_whole(std::span<const float> gradients, const RoundMetrics& own, int rank) {
  tail_ = encode_metrics(own, rank);
  exchange_.contribute(0, gradients);
  exchange_.contribute(gradient_elements_, tail_);
}

Result<std::span<const float>> RoundVector::finish() { return exchange_.finish(); }

}  // namespace weft
