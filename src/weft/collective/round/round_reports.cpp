// RoundCore: what members report of a round, which is whole only with the reports of all.
#include <utility>

#include <fmt/format.h>

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
  std::optional<Bytes>& own = attempt_->reports[static_cast<std::size_t>(self_.value())];
  WEFT_CHECK(!own);
  own = std::move(report);
  note_movement(now);
  for (int i = 0; i < view_.size(); ++i) {
    const std::optional<ReadyMessage>& ready = peer(Rank(i)).ready;
    if (Rank(i) != self_ && ready && ready->id == attempt_->id) send_report(Rank(i));
  }
  if (input_given()) awaited_by_.clear();
  settle(now);
}

bool RoundCore::input_given() const {
  const bool reported = attempt_->reports.empty() ||
                        attempt_->reports[static_cast<std::size_t>(self_.value())].has_value();
  return reported && attempt_->core->contributed();
}

Rank RoundCore::unreported() const {
  for (std::size_t i = 0; i < attempt_->reports.size(); ++i) {
    if (!attempt_->reports[i]) return Rank(static_cast<int>(i));
  }
  return Rank(-1);
}

void RoundCore::seal_result() {
  attempt_->done = true;
  if (options_.reports) {
    RoundReports reports;
    for (std::optional<Bytes>& report : attempt_->reports) {
      reports.by_rank.push_back(*report);
    }
    attempt_->all_reports = SharedBytes(reports.encode());
  }
  const std::shared_ptr<FloatBuffer> sums = attempt_->core->result();
  attempt_->hash = result_hash(std::as_const(*sums).span(), attempt_->all_reports.span());
}

void RoundCore::send_report(Rank to) {
  const ReportMessage message{attempt_->id,
                              *attempt_->reports[static_cast<std::size_t>(self_.value())]};
  send_control(to, frame_type::kReport, message.encode());
}

Status RoundCore::on_report(Rank from, ReportMessage message, TimePoint now) {
  if (!options_.reports) return corrupt("a report in a group whose rounds have none");
  if (!attempt_ || message.id != attempt_->id) return check_not_open(message.id, "the report");
  std::optional<Bytes>& known = attempt_->reports[static_cast<std::size_t>(from.value())];
  if (known) {
    // A link that came back is told again what may have been lost with it.
    if (*known == message.report) return {};
    return corrupt(fmt::format("two reports of round {}", message.id.round.value()));
  }
  known = std::move(message.report);
  note_movement(now);
  settle(now);
  return {};
}

}  // namespace weft
