#include "weft/collective/round/round_core.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/wire/frame_type.h"

namespace weft {

static constexpr std::size_t kEarlyMembersMax = kMembersMax;

Status RoundCore::on_view(const View& view, TimePoint now) {
  owner_.assert_here();
  // After views that were missed here the round may have been run again, with another result.
  const bool follows = view.id.number == view_.id.number.next();
  factory_.codec().on_view(follows, view.base_round);
  if (held_ && follows && view.base_round >= held_->round) adopted_ = std::move(held_);
  held_.reset();
  if (attempt_) {
    const Round round = attempt_->round->id().round;
    if (attempt_->round->sealed() && follows && view.base_round >= round) {
      committed_ = round;
      end_attempt({}, now);
    } else {
      end_attempt(aborted(fmt::format("round {}: the view changed to {}", round.value(),
                                      view.id.number.value())),
                  now);
    }
  }
  view_ = view;
  self_ = view.rank_of(options_.self);
  factory_.on_view(view, self_);
  frozen_ = false;
  given_ = Round();
  awaited_by_.clear();
  last_done_.reset();
  peers_.assign(view.members.size(), {});
  for (const auto& [id, ready] : std::exchange(early_, {})) {
    const Rank rank = rank_of(id);
    if (ready.id.view == view.id && rank.value() >= 0) peer(rank).ready = ready;
    if (ready.id.view.number > view.id.number) early_.emplace(id, ready);
  }
  if (committed_ > view.base_round) {
    return internal_error(fmt::format("round {} is committed here, view {} says {}",
                                      committed_.value(), view.id.number.value(),
                                      view.base_round.value()));
  }
  committed_ = view.base_round;
  return {};
}

void RoundCore::leave_view(TimePoint now) {
  owner_.assert_here();
  cancel(aborted("this peer is no member of the view"), now);
  factory_.codec().on_leave();
  factory_.on_leave();
  view_ = {};
  peers_.clear();
  held_.reset();
  last_done_.reset();
  awaited_by_.clear();
  frozen_ = false;
}

// --- The training side.

RoundOutcome failed_outcome(Round round, Status why) {
  RoundOutcome outcome;
  outcome.round = round;
  outcome.status = std::move(why);
  return outcome;
}

void RoundCore::begin(const CollectiveId& id, const RoundPlan& plan, TimePoint now) {
  owner_.assert_here();
  WEFT_CHECK(!attempt_);
  outcome_.reset();
  if (frozen_ || peers_.empty() || id.view != view_.id || id.round != committed_.next()) {
    outcome_ = failed_outcome(
        id.round, aborted(fmt::format("round {}: the view has changed", id.round.value())));
    return;
  }
  if (plan.check(std::numeric_limits<std::int64_t>::max()).ok()) plan_ = plan;
  Result<std::shared_ptr<RoundAttempt>> opened = factory_.open(id, plan, *this);
  if (!opened.ok()) {
    outcome_ = failed_outcome(id.round, opened.status());
    return;
  }
  attempt_.emplace(Attempt{});
  attempt_->round = *std::move(opened);
  attempt_->begun = now;
  if (options_.reports) attempt_->entered.assign(peers_.size(), -1.0);
  note_movement(now);
  for (int i = 0; i < view_.size(); ++i) {
    const Rank rank(i);
    if (rank == self_) continue;
    send_ready(rank);
    // A length that differs shows when the data comes; a bad map is its sender's own loss.
    const Status status = resume(rank);
    if (status.ok()) continue;
    if (!differs(status, now).ok()) {
      peer(rank).ready.reset();
      stalls_.push_back({id_of(rank), StallKind::kDiffers, id.round, {}});
    }
    if (!attempt_) return;
  }
  settle(now);
}

void RoundCore::contribute(std::size_t exchange, std::int64_t offset, std::span<const float> values,
                           TimePoint now) {
  owner_.assert_here();
  if (!attempt_) return;
  note_movement(now);
  attempt_->round->contribute(exchange, offset, values);
  if (attempt_->round->input_given()) awaited_by_.clear();
  settle(now);
}

void RoundCore::cancel(const Status& why, TimePoint now) {
  owner_.assert_here();
  if (attempt_) end_attempt(why, now);
}

void RoundCore::release(const Status& why, TimePoint now) {
  owner_.assert_here();
  WEFT_CHECK(frozen_);
  if (!attempt_) return;
  if (attempt_->round->sealed()) held_ = attempt_->round->outcome();
  end_attempt(why, now);
  // Whether it is run again is not known yet.
  if (held_) outcome_->took = {};
}

std::optional<RoundOutcome> RoundCore::take_outcome() {
  owner_.assert_here();
  return std::exchange(outcome_, {});
}

void RoundCore::end_attempt(Status status, TimePoint now) {
  const RoundAttempt& round = *attempt_->round;
  if (round.input_given()) given_ = round.id().round;
  RoundOutcome outcome = failed_outcome(round.id().round, {});
  if (status.ok()) {
    outcome = round.outcome();
    std::vector<std::span<const float>> results;
    for (std::size_t i = 0; i < round.plan().exchanges.size(); ++i) {
      results.push_back(round.plan().result(outcome.values->span(), i));
    }
    factory_.codec().committed(results);
    outcome.entry_seconds = std::move(attempt_->entered);
  }
  outcome.took = now - attempt_->begun;
  outcome.status = std::move(status);
  outcome_ = std::move(outcome);
  attempt_.reset();
}

void RoundCore::collect_findings() {
  for (ExchangeFinding& finding : attempt_->round->take_findings()) {
    stalls_.push_back({id_of(finding.member),
                       StallKind::kLies,
                       attempt_->round->id().round,
                       {},
                       std::move(finding.text)});
  }
}

void RoundCore::settle(TimePoint now) {
  if (!attempt_) return;
  collect_findings();
  RoundAttempt& round = *attempt_->round;
  if (!round.sealed() && round.complete()) {
    round.seal();
    if (!frozen_) announce();
  }
  if (attempt_->announced && all_done()) {
    committed_ = round.id().round;
    end_attempt({}, now);
  }
}

void RoundCore::announce() {
  attempt_->announced = true;
  last_done_ = DoneMessage{attempt_->round->id(), attempt_->round->hash()};
  for (int rank = 0; rank < view_.size(); ++rank) {
    if (Rank(rank) != self_) send_done(Rank(rank));
  }
}

bool RoundCore::all_done() {
  const Round round = attempt_->round->id().round;
  for (int rank = 0; rank < view_.size(); ++rank) {
    Peer& each = peer(Rank(rank));
    if (Rank(rank) == self_) continue;
    if (each.done < round) return false;
    if (each.done == round && each.done_hash != attempt_->round->hash()) {
      each.done = Round();
      stalls_.push_back({id_of(Rank(rank)), StallKind::kDiffers, round, {}});
      return false;
    }
  }
  return true;
}

void RoundCore::learn_committed(Round round, TimePoint now) {
  owner_.assert_here();
  if (!attempt_ || !attempt_->announced || attempt_->round->id().round > round) return;
  committed_ = attempt_->round->id().round;
  end_attempt({}, now);
}

// --- Sending.

void RoundCore::send(Rank to, Frame frame) { sink_.send(id_of(to), Lane::kBulk, std::move(frame)); }

std::size_t RoundCore::queued_bytes(Rank to) const { return sink_.queued_bytes(id_of(to)); }

void RoundCore::send_control(Rank to, std::uint8_t type, Bytes head) {
  sink_.send(id_of(to), Lane::kControl, {type, std::move(head), {}});
}

void RoundCore::send_ready(Rank to) {
  send_control(to, frame_type::kReady, attempt_->round->ready_for(to).encode());
}

void RoundCore::send_done(Rank to) { send_control(to, frame_type::kDone, last_done_->encode()); }

// --- Events.

void RoundCore::on_link_up(const PeerId& peer_id) {
  owner_.assert_here();
  const Rank rank = rank_of(peer_id);
  if (rank.value() < 0 || rank == self_) return;
  if (last_done_ && !frozen_) send_done(rank);
  if (attempt_) send_ready(rank);
}

void RoundCore::on_link_down(const PeerId& peer_id) {
  owner_.assert_here();
  receiving_.erase(peer_id);
  early_.erase(peer_id);
  const Rank rank = rank_of(peer_id);
  if (rank.value() < 0 || rank == self_) return;
  peer(rank).ready.reset();
  if (attempt_) attempt_->round->on_link_down(rank);
}

void RoundCore::on_writable(const PeerId& peer_id) {
  owner_.assert_here();
  const Rank rank = rank_of(peer_id);
  if (attempt_ && rank.value() >= 0 && rank != self_) attempt_->round->on_writable(rank);
}

MutableByteSpan RoundCore::body_destination(const PeerId& from, ByteSpan head,
                                            std::size_t body_bytes) {
  owner_.assert_here();
  const Rank rank = rank_of(from);
  if (!attempt_ || rank.value() < 0 || rank == self_) return {};
  const MutableByteSpan place = attempt_->round->body_destination(rank, head, body_bytes);
  if (!place.empty()) receiving_[from] = attempt_->round;
  return place;
}

Status RoundCore::on_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  owner_.assert_here();
  const Rank rank = rank_of(from);
  if (rank.value() < 0 || rank == self_) {
    // A member of the next view may send before that view is known here.
    if (frame.type != frame_type::kReady) return {};
    WEFT_TRY_ASSIGN(const ReadyMessage message, ReadyMessage::decode(frame.head));
    keep_early(from, message);
    return {};
  }
  switch (frame.type) {
    case frame_type::kSegment:
      return on_segment(rank, frame, now);
    case frame_type::kReady: {
      WEFT_TRY_ASSIGN(const ReadyMessage message, ReadyMessage::decode(frame.head));
      return on_ready(rank, message, now);
    }
    case frame_type::kDone: {
      WEFT_TRY_ASSIGN(const DoneMessage message, DoneMessage::decode(frame.head));
      return on_done(rank, message, now);
    }
    case frame_type::kProgress: {
      WEFT_TRY_ASSIGN(const ProgressMessage message, ProgressMessage::decode(frame.head));
      return on_progress(rank, message, now);
    }
    case frame_type::kReport: {
      WEFT_TRY_ASSIGN(ReportMessage message, ReportMessage::decode(frame.head));
      return on_report(rank, std::move(message), now);
    }
    default:
      return corrupt(fmt::format("collective: unknown frame type {}", frame.type));
  }
}

Status RoundCore::on_segment(Rank from, const FrameView& frame, TimePoint now) {
  const auto receiving = receiving_.extract(id_of(from));
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(frame.head));
  const CollectiveId id = head.id.of_round();
  if (!attempt_ || id != attempt_->round->id()) return check_not_open(id, "data");
  const Status status = attempt_->round->on_frame(from, head.id.exchange, frame);
  if (!status.ok()) return differs(status, now);
  note_movement(now);
  settle(now);
  return {};
}

Status RoundCore::check_not_open(const CollectiveId& id, std::string_view what) const {
  // It belongs to a round that was aborted or is over.
  if (id.view.number < view_.id.number) return {};
  if (id.view == view_.id && id.round <= committed_.next()) return {};
  return corrupt(fmt::format("{} of round {} that was not asked for", what, id.round.value()));
}

void RoundCore::keep_early(const PeerId& from, const ReadyMessage& message) {
  // We cannot have sent anything yet in a view that we do not know.
  const bool claims = std::ranges::any_of(
      message.exchanges, [](const auto& exchange) { return !exchange.received.empty(); });
  if (message.id.view.number <= view_.id.number || claims) return;
  if (early_.size() < kEarlyMembersMax || early_.contains(from)) early_[from] = message;
}

Status RoundCore::on_ready(Rank from, const ReadyMessage& message, TimePoint now) {
  if (message.id.view.number > view_.id.number) {
    keep_early(id_of(from), message);
    return {};
  }
  // Said again because the answer is long in coming: nothing new.
  if (peer(from).ready && peer(from).ready->id == message.id) return {};
  if (message.id.view != view_.id || message.id.round <= committed_) return {};
  learn_committed(Round(message.id.round.value() - 1), now);
  if (message.id.round != committed_.next()) {
    // They have committed what was given up here.
    if (message.id.round <= given_.next()) return {};
    return corrupt(fmt::format("ready for round {} while round {} is not done",
                               message.id.round.value(), committed_.next().value()));
  }
  peer(from).ready = message;
  if (!attempt_) return {};
  const Status status = resume(from);
  if (!status.ok()) return differs(status, now);
  settle(now);
  return {};
}

// A member whose vector or way differs. All of a view have one recipe and one layout, so among more
// than two it is that member which misbehaves; of two, both get the reason.
Status RoundCore::differs(const Status& status, TimePoint now) {
  if (status.code() != Code::kInvalidArgument) return status;
  if (view_.size() > 2) return corrupt(status.message());
  end_attempt(status, now);
  return {};
}

// Sends to a member that is ready what it has not got.
Status RoundCore::resume(Rank to) {
  RoundAttempt& round = *attempt_->round;
  const ReadyMessage* const ready = ready_of(to, round.id());
  if (ready == nullptr) return {};
  WEFT_TRY(round.check_same(*ready, id_of(to).short_name()));
  if (round.own_report()) send_report(to);
  return round.resume(to, *ready);
}

Status RoundCore::on_done(Rank from, const DoneMessage& message, TimePoint now) {
  if (message.id.view != view_.id || message.id.round < peer(from).done) return {};
  const Round round = message.id.round;
  // No member can be done with a round to which this one has not given all its input.
  const bool possible =
      round <= committed_ || round <= given_ ||
      (attempt_ && round == attempt_->round->id().round && attempt_->round->input_given());
  if (!possible) {
    return corrupt(fmt::format("done with round {} that cannot be", round.value()));
  }
  peer(from).done = round;
  peer(from).done_hash = message.result_hash;
  if (attempt_) note_movement(now);
  settle(now);
  return {};
}

// --- Queries.

RoundStatus RoundCore::status(const RoundStatus& held) const {
  owner_.assert_here();
  if (attempt_ && attempt_->round->sealed()) {
    return {attempt_->round->id().round, attempt_->round->hash()};
  }
  if (held_) return {held_->round, held_->hash};
  // A Done that was sent in this view stands, even if the round was cancelled here since.
  if (last_done_ && last_done_->id.round > held.done) {
    return {last_done_->id.round, last_done_->result_hash};
  }
  return held;
}

const ReadyMessage* RoundCore::ready_of(Rank from, const CollectiveId& id) const {
  const std::optional<ReadyMessage>& ready = peers_[static_cast<std::size_t>(from.value())].ready;
  return ready && ready->id == id ? &*ready : nullptr;
}

std::optional<std::uint64_t> RoundCore::elements_elsewhere(Round round) const {
  owner_.assert_here();
  for (int i = 0; i < view_.size(); ++i) {
    if (const auto* const ready = ready_of(Rank(i), {view_.id, round})) return ready->elements();
  }
  return std::nullopt;
}

std::optional<std::span<const float>> RoundCore::early_sums(std::size_t exchange) const {
  owner_.assert_here();
  return attempt_ ? attempt_->round->sums(exchange) : std::nullopt;
}

bool RoundCore::begun_alike(Round round, const RoundPlan& plan) const {
  owner_.assert_here();
  const auto same = [&](const ReadyMessage& ready) {
    if (ready.exchanges.size() != plan.exchanges.size()) return false;
    for (std::size_t i = 0; i < plan.exchanges.size(); ++i) {
      const ExchangePlan& each = plan.exchanges[i];
      const Result<Team> team = factory_.team(each);
      if (!team.ok() || team->id() != ready.exchanges[i].team ||
          static_cast<std::uint64_t>(each.elements) != ready.exchanges[i].elements) {
        return false;
      }
    }
    return true;
  };
  for (int i = 0; i < view_.size(); ++i) {
    const auto* const ready = ready_of(Rank(i), {view_.id, round});
    if (ready != nullptr) return same(*ready);
  }
  return false;
}

}  // namespace weft
