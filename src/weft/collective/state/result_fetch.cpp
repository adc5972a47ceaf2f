#include "weft/collective/state/result_fetch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/wire/frame_type.h"

namespace weft {

// A round that is not known to be over is asked for again after this.
static constexpr Duration kAskAgain = std::chrono::milliseconds(2500);

static Round after(Round round, std::uint64_t steps) { return Round(round.value() + steps); }

static Status bad_result(const PeerId& from, const ResultHead& head, const std::string& fault) {
  return corrupt("result of round " + std::to_string(head.round.value()) + " from " +
                 from.short_name() + ": " + fault);
}

void ResultFetch::begin(Round first, TimePoint now) {
  if (active_ && first == next_) ++begun_again_;
  active_ = true;
  gone_ = false;
  next_ = first;
  pending_.clear();
  request(now);
}

void ResultFetch::stop() {
  active_ = false;
  pending_.clear();
}

void ResultFetch::set_sources(const std::vector<PeerId>& sources, TimePoint now) {
  const std::set<PeerId> wanted(sources.begin(), sources.end());
  const std::set<PeerId> before = sources_;
  for (const PeerId& peer : before) {
    if (!wanted.contains(peer)) remove_source(peer, now);
  }
  sources_ = wanted;
  request(now);
}

void ResultFetch::remove_source(const PeerId& peer, TimePoint now) {
  sources_.erase(peer);
  for (auto& [round, pending] : pending_) {
    if (pending.source == peer && !pending.complete) restart(pending);
    pending.without.erase(peer);
  }
  request(now);
}

void ResultFetch::restart(Pending& pending) {
  pending.asked = false;
  pending.values.reset();
  pending.reports.clear();
  pending.pieces_here = 0;
}

void ResultFetch::request(TimePoint now) {
  if (!active_ || gone_) return;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(options_.rounds_ahead); ++i) {
    const Round round = after(next_, i);
    Pending& pending = pending_[round];
    if (pending.asked || pending.complete) continue;
    const PeerId* const source = pick(pending);
    if (source != nullptr) ask(*source, round, pending, now);
  }
}

void ResultFetch::ask(const PeerId& source, Round round, Pending& pending, TimePoint now) {
  pending.asked = true;
  pending.source = source;
  pending.asked_at = now;
  const ResultRequestMessage message{round};
  sink_.send(source, Lane::kControl, {frame_type::kResultRequest, message.encode(), {}});
}

const PeerId* ResultFetch::pick(const Pending& pending) const {
  const PeerId* best = nullptr;
  std::size_t best_load = 0;
  if (sources_.empty()) return best;
  // Two members that lag must not ask each other again and again: another one is the first now.
  auto next =
      std::next(sources_.begin(), static_cast<std::ptrdiff_t>(begun_again_ % sources_.size()));
  for (std::size_t i = 0; i < sources_.size(); ++i, ++next) {
    if (next == sources_.end()) next = sources_.begin();
    const PeerId& source = *next;
    if (pending.without.contains(source)) continue;
    std::size_t load = 0;
    for (const auto& [round, other] : pending_) {
      load += other.asked && !other.complete && other.source == source ? 1 : 0;
    }
    if (best == nullptr || load < best_load) {
      best = &source;
      best_load = load;
    }
  }
  return best;
}

void ResultFetch::learn(Round newest, TimePoint now) {
  if (newest <= newest_) return;
  for (auto& [round, pending] : pending_) {
    // Until now the source could not have it: the wait begins here.
    if (round > newest_ && round <= newest) pending.asked_at = now;
  }
  newest_ = newest;
}

ResultFetch::Pending* ResultFetch::expected(const PeerId& from, const ResultHead& head) {
  const auto found = pending_.find(head.round);
  if (found == pending_.end()) return nullptr;
  Pending& pending = found->second;
  const bool wanted = pending.asked && !pending.complete && pending.source == from;
  return wanted && head.piece == pending.pieces_here ? &pending : nullptr;
}

Status ResultFetch::on_result(const PeerId& from, const ResultHead& head, ByteSpan body,
                              TimePoint now) {
  Pending* const pending = expected(from, head);
  if (pending == nullptr) return {};  // late: asked of another source meanwhile
  if (head.elements == 0 || head.elements > options_.elements_max ||
      body.size() != head.piece_bytes()) {
    return bad_result(from, head,
                      "piece " + std::to_string(head.piece) + " of " +
                          std::to_string(head.elements) + " elements has " +
                          std::to_string(body.size()) + " bytes");
  }
  if (head.piece == 0 && !pending->values) {
    pending->values = std::make_shared<FloatBuffer>(static_cast<std::int64_t>(head.elements));
  }
  const std::span<float> values = pending->values->span();
  const std::uint64_t first_report = head.sum_pieces();
  const bool agrees = values.size() == head.elements &&
                      (head.piece == 0 || head.hash == pending->hash) &&
                      (head.piece <= first_report || pending->report_bytes == head.report_bytes);
  if (!agrees) return bad_result(from, head, "its pieces do not agree");
  pending->hash = head.hash;
  pending->report_bytes = head.report_bytes;
  if (head.piece < first_report) {
    std::memcpy(values.data() + std::size_t{head.piece} * kPieceElements, body.data(), body.size());
  } else {
    pending->reports.insert(pending->reports.end(), body.begin(), body.end());
  }
  ++pending->pieces_here;
  pending->asked_at = now;
  learn(head.newest, now);
  if (pending->pieces_here < head.pieces()) return {};
  if (result_hash(values, pending->reports) != head.hash) {
    return bad_result(from, head, "its hash does not fit its values and reports");
  }
  if (!pending->reports.empty()) {
    const Result<RoundReports> reports = RoundReports::decode(pending->reports);
    if (!reports.ok()) return bad_result(from, head, reports.status().message());
  }
  pending->complete = true;
  return {};
}

void ResultFetch::on_missing(const PeerId& from, const ResultMissingMessage& missing,
                             TimePoint now) {
  learn(missing.newest, now);
  const auto found = pending_.find(missing.round);
  if (found == pending_.end() || found->second.source != from || found->second.complete) return;
  Pending& pending = found->second;
  pending.without.insert(from);
  restart(pending);
  gone_ = pick(pending) == nullptr;
  request(now);
}

TimePoint ResultFetch::asked_until(Round round, const Pending& pending) const {
  if (!pending.asked || pending.complete) return TimePoint::max();
  return pending.asked_at + (round > newest_ ? kAskAgain : options_.source_timeout);
}

void ResultFetch::on_timer(TimePoint now) {
  bool changed = false;
  for (auto& [round, pending] : pending_) {
    if (asked_until(round, pending) > now) continue;
    // The group may only be slow. But a member that does not know this peer yet, or no more, lets
    // requests fall; nothing would ever come. The same one is asked once more, then another.
    if (round > newest_ && !std::exchange(pending.asked_again, true)) {
      ask(PeerId(pending.source), round, pending, now);
      continue;
    }
    if (sources_.size() > 1) pending.without.insert(pending.source);
    pending.asked_again = false;
    restart(pending);
    if (pick(pending) == nullptr) pending.without.clear();
    changed = true;
  }
  if (changed) request(now);
}

TimePoint ResultFetch::next_deadline() const {
  TimePoint deadline = TimePoint::max();
  for (const auto& [round, pending] : pending_) {
    deadline = std::min(deadline, asked_until(round, pending));
  }
  return deadline;
}

std::optional<StateFetch::FetchedResult> ResultFetch::take(TimePoint now) {
  const auto first = pending_.find(next_);
  if (!active_ || first == pending_.end() || !first->second.complete) return std::nullopt;
  StateFetch::FetchedResult result{next_, first->second.hash, std::move(first->second.values), {}};
  if (!first->second.reports.empty())
    result.reports = SharedBytes(std::move(first->second.reports));
  pending_.erase(first);
  next_ = after(next_, 1);
  request(now);
  return result;
}

}  // namespace weft
