// RoundCore: what members report of a round, which is whole only with the reports of all.
#include <utility>

#include "weft/base/check.h"
#include "weft/collective/round/round_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

std::vector<Bytes> reports_of(const SharedBytes& reports) {
  if (reports.empty()) return {};
  Result<RoundReports> decoded = RoundReports::decode(reports.span());
  WEFT_CHECK(decoded.ok());
  return std::move(decoded->by_rank);
}

ResultLog::Entry log_entry(RoundOutcome outcome) {
  return {outcome.round, outcome.hash, std::move(outcome.values), std::move(outcome.reports)};
}

void RoundCore::report(Bytes report, TimePoint now) {
  owner_.assert_here();
  WEFT_CHECK(options_.reports && report.size() <= kReportBytesMax);
  if (!attempt_) return;
  attempt_->round->report(std::move(report));
  note_movement(now);
  note_entry(self_, now);
  for (int i = 0; i < view_.size(); ++i) {
    const Rank rank(i);
    if (rank != self_ && ready_of(rank, attempt_->round->id()) != nullptr) send_report(rank);
  }
  if (attempt_->round->input_given()) awaited_by_.clear();
  settle(now);
}

void RoundCore::note_entry(Rank member, TimePoint now) {
  attempt_->entered[static_cast<std::size_t>(member.value())] = to_seconds(now - attempt_->begun);
}

void RoundCore::send_report(Rank to) {
  const ReportMessage message{attempt_->round->id(), *attempt_->round->own_report()};
  send_control(to, frame_type::kReport, message.encode());
}

Status RoundCore::on_report(Rank from, ReportMessage message, TimePoint now) {
  if (!options_.reports) return corrupt("a report in a group whose rounds have none");
  if (!attempt_ || message.id != attempt_->round->id()) {
    return check_not_open(message.id, "the report");
  }
  WEFT_TRY_ASSIGN(const bool is_new, attempt_->round->on_report(from, std::move(message.report)));
  if (!is_new) return {};
  note_movement(now);
  note_entry(from, now);
  settle(now);
  return {};
}

}  // namespace weft
