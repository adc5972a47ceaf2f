#include "weft/collective/round/round_attempt.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {

RoundAttempt::RoundAttempt(const CollectiveId& id, RoundPlan plan,
                           std::vector<std::unique_ptr<TeamExchange>> exchanges,
                           std::shared_ptr<FloatBuffer> result, std::size_t reporters, Rank self)
    : id_(id),
      plan_(std::move(plan)),
      self_(self),
      exchanges_(std::move(exchanges)),
      result_(std::move(result)),
      reports_(reporters) {
  WEFT_CHECK(!exchanges_.empty() && exchanges_.size() == plan_.exchanges.size());
}

std::int64_t RoundAttempt::elements() const {
  return static_cast<std::int64_t>(std::as_const(*result_).span().size());
}

// --- This member's part.

void RoundAttempt::contribute(std::size_t exchange, std::int64_t offset,
                              std::span<const float> values) {
  WEFT_CHECK(exchange < exchanges_.size() && exchanges_[exchange]->gives());
  exchanges_[exchange]->contribute(offset, values);
}

void RoundAttempt::report(Bytes report) {
  WEFT_CHECK(!reports_.empty() && report.size() <= kReportBytesMax);
  std::optional<Bytes>& own = reports_[static_cast<std::size_t>(self_.value())];
  WEFT_CHECK(!own);
  own = std::move(report);
}

const std::optional<Bytes>& RoundAttempt::own_report() const {
  static const std::optional<Bytes> none;
  return reports_.empty() ? none : reports_[static_cast<std::size_t>(self_.value())];
}

bool RoundAttempt::input_given() const {
  return (reports_.empty() || own_report().has_value()) &&
         std::ranges::all_of(exchanges_, [](const auto& each) { return each->contributed(); });
}

// --- The others' parts.

Status RoundAttempt::on_frame(Rank from, std::size_t exchange, const FrameView& frame) {
  if (exchange >= exchanges_.size()) {
    return corrupt(fmt::format("data of exchange {}, round {} has {}", exchange, id_.round.value(),
                               exchanges_.size()));
  }
  return exchanges_[exchange]->on_frame(from, frame);
}

MutableByteSpan RoundAttempt::body_destination(Rank from, ByteSpan head, std::size_t body_bytes) {
  const Result<SegmentHead> decoded = SegmentHead::decode(head);
  const bool is_here =
      decoded.ok() && decoded->id.of_round() == id_ && decoded->id.exchange < exchanges_.size();
  if (!is_here) return {};
  return exchanges_[decoded->id.exchange]->body_destination(from, head, body_bytes);
}

Result<bool> RoundAttempt::on_report(Rank from, Bytes report) {
  WEFT_CHECK(!reports_.empty());
  std::optional<Bytes>& known = reports_[static_cast<std::size_t>(from.value())];
  if (known) {
    // A report is sent again over a restored link, since it may have been lost with the old one.
    if (*known == report) return false;
    return corrupt(fmt::format("two reports of round {}", id_.round.value()));
  }
  known = std::move(report);
  return true;
}

// --- Links.

ReadyMessage RoundAttempt::ready_for(Rank to) const {
  ReadyMessage message;
  message.id = id_;
  for (const auto& each : exchanges_) {
    message.exchanges.push_back(
        {each->team().id(), static_cast<std::uint64_t>(each->elements()), each->received_map(to)});
  }
  return message;
}

Status RoundAttempt::check_same(const ReadyMessage& ready, const std::string& name) const {
  const std::uint64_t round = id_.round.value();
  if (ready.exchanges.size() != exchanges_.size()) {
    return invalid_argument(fmt::format("round {}: peer {} has {} exchanges, this member {}", round,
                                        name, ready.exchanges.size(), exchanges_.size()));
  }
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    const ReadyMessage::Exchange& theirs = ready.exchanges[i];
    const auto elements = static_cast<std::uint64_t>(exchanges_[i]->elements());
    if (theirs.elements != elements) {
      return invalid_argument(
          fmt::format("round {}: the vector of peer {} has {} elements, this member's has {}",
                      round, name, theirs.elements, elements));
    }
    if (theirs.team != exchanges_[i]->team().id()) {
      return invalid_argument(
          fmt::format("round {}: peer {} has another team than '{}' in exchange {}", round, name,
                      exchanges_[i]->team().purpose(), i));
    }
  }
  return {};
}

Status RoundAttempt::resume(Rank to, const ReadyMessage& ready) {
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    WEFT_TRY(exchanges_[i]->resume(to, ready.exchanges[i].received));
  }
  return {};
}

void RoundAttempt::on_writable(Rank to) {
  for (const auto& each : exchanges_) each->on_writable(to);
}

void RoundAttempt::on_link_down(Rank to) {
  for (const auto& each : exchanges_) each->on_link_down(to);
}

// --- The result.

std::vector<ExchangeFinding> RoundAttempt::take_findings() {
  std::vector<ExchangeFinding> findings;
  for (const auto& exchange : exchanges_) {
    for (ExchangeFinding& finding : exchange->take_findings())
      findings.push_back(std::move(finding));
  }
  return findings;
}

bool RoundAttempt::exchanges_complete() const {
  return std::ranges::all_of(exchanges_, [](const auto& each) { return each->complete(); });
}

std::optional<std::span<const float>> RoundAttempt::sums(std::size_t exchange) const {
  if (exchange >= exchanges_.size() || !exchanges_[exchange]->complete()) return std::nullopt;
  return plan_.result(std::as_const(*result_).span(), exchange);
}

Rank RoundAttempt::unreported() const {
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    if (!reports_[i]) return Rank(static_cast<int>(i));
  }
  return Rank(-1);
}

Rank RoundAttempt::waits_for() const {
  for (const auto& each : exchanges_) {
    if (!each->complete() && each->waits_for() != self_) return each->waits_for();
  }
  if (!exchanges_complete()) return self_;
  const Rank reporter = unreported();
  return reporter.value() < 0 ? self_ : reporter;
}

void RoundAttempt::seal() {
  WEFT_CHECK(!sealed_ && complete());
  sealed_ = true;
  if (!reports_.empty()) {
    RoundReports reports;
    for (const std::optional<Bytes>& report : reports_) reports.by_rank.push_back(*report);
    all_reports_ = SharedBytes(reports.encode());
  }
  hash_ = result_hash(std::as_const(*result_).span(), all_reports_.span());
}

RoundOutcome RoundAttempt::outcome() const {
  WEFT_CHECK(sealed_);
  return {.round = id_.round,
          .status = {},
          .hash = hash_,
          .values = result_,
          .reports = all_reports_,
          .took = {}};
}

}  // namespace weft
