#include "weft/collective/round/round_core.h"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "weft/base/exception_status.h"
#include "weft/collective/link/hosts.h"

namespace weft {

static constexpr std::size_t kBuffersKept = 96;
static constexpr std::size_t kEarlyMembersMax = kMembersMax;

Status RoundCore::on_view(const View& view, TimePoint now) {
  owner_.assert_here();
  // After views that were missed here the round may have been run again, with another result.
  const bool follows = view.id.number == view_.id.number.next();
  codec_.on_view(follows, view.base_round);
  if (held_ && follows && view.base_round >= held_->round) adopted_ = std::move(held_);
  held_.reset();
  if (attempt_) {
    const Round round = attempt_->id.round;
    if (attempt_->done && follows && view.base_round >= round) {
      committed_ = round;
      end_attempt({}, now);
    } else {
      end_attempt(aborted(fmt::format("round {}: the view changed to {}", round.value(),
                                      view.id.number.value())),
                  now);
    }
  }
  view_ = view;
  hosts_.clear();
  if (options_.by_host) hosts_ = hosts_of(view);
  residual_.reset();
  self_ = view.rank_of(options_.self);
  if (const bool shares = shares_host(view, self_); shares != shares_host_) {
    shares_host_ = shares;
    buffers_.clear();
  }
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
  codec_.on_leave();
  view_ = {};
  residual_.reset();
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

Status RoundCore::can_aggregate() const {
  const AllReduceOptions& options = options_.all_reduce;
  if (options.aggregator.is_mean()) return {};
  return options.aggregator.check(view_.size(), options.aggregate_round.liars);
}

// The same at all members. Whoever is in the view can compute it before the round begins.
static std::uint64_t aggregate_seed(const CollectiveId& id) {
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < sizeof seed; ++i) seed = seed << 8U | id.view.hash[i];
  return seed + id.round.value();
}

void RoundCore::begin(const CollectiveId& id, std::int64_t elements, TimePoint now) {
  owner_.assert_here();
  WEFT_CHECK(!attempt_);
  outcome_.reset();
  if (frozen_ || peers_.empty() || id.view != view_.id || id.round != committed_.next()) {
    outcome_ = failed_outcome(
        id.round, aborted(fmt::format("round {}: the view has changed", id.round.value())));
    return;
  }
  std::shared_ptr<FloatBuffer> errors;
  std::shared_ptr<FloatBuffer> sums;
  try {
    errors = residual(elements);
    sums = take_buffer(elements);
  } catch (const std::bad_alloc& fault) {
    outcome_ = failed_outcome(id.round,
                              exception_status(fmt::format("round {}", id.round.value()), fault));
    return;
  }
  AllReduceOptions options = options_.all_reduce;
  if (const Status enough = can_aggregate(); !enough.ok()) {
    outcome_ = failed_outcome(id.round, aborted(enough.message()));
    return;
  }
  options.id = id;
  options.rank = self_;
  options.size = view_.size();
  options.link = profile_of(view_.links, options.link);
  options.start_open = false;
  const bool is_large =
      elements > static_cast<std::int64_t>(options.direct_bytes_max / sizeof(float));
  const bool adds = options.aggregator.is_mean();
  if (!hosts_.empty() && is_large && adds && options.algorithm == Algorithm::kAuto) {
    options.algorithm = Algorithm::kHierarchical;
    options.hosts = hosts_;
  }
  options.residual = std::move(errors);
  options.encoder = codec_.begin(id.round);
  options.aggregate_round.seed = aggregate_seed(id);
  attempt_.emplace(Attempt{});
  attempt_->id = id;
  attempt_->begun = now;
  note_movement(now);
  for (const Member& member : view_.members) options.verification.members.push_back(member.id);
  attempt_->core = options_.make_core
                       ? options_.make_core(options, elements, *this, std::move(sums))
                       : make_all_reduce(options, elements, *this, std::move(sums));
  if (options_.reports) attempt_->reports.resize(view_.members.size());
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

std::shared_ptr<FloatBuffer> RoundCore::residual(std::int64_t elements) {
  const bool rounds = options_.all_reduce.precision != WirePrecision::kF32 && view_.size() > 1;
  if (!rounds || elements == 0) return nullptr;
  if (!residual_ || static_cast<std::int64_t>(residual_->span().size()) != elements) {
    residual_ = std::make_shared<FloatBuffer>(elements);
    std::ranges::fill(residual_->span(), 0.0F);
  }
  return residual_;
}

std::shared_ptr<FloatBuffer> RoundCore::take_buffer(std::int64_t elements) {
  const auto size = static_cast<std::size_t>(elements);
  for (auto it = buffers_.begin(); it != buffers_.end(); ++it) {
    if (it->use_count() > 1 || (*it)->span().size() != size) continue;
    std::shared_ptr<FloatBuffer> buffer = *it;
    // The one that rests longest is taken first: frames may still read the last ones.
    buffers_.erase(it);
    buffers_.push_back(buffer);
    return buffer;
  }
  auto buffer = std::make_shared<FloatBuffer>(
      elements, shares_host_ ? FloatBuffer::Kind::kShareable : FloatBuffer::Kind::kPrivate);
  if (buffers_.size() >= kBuffersKept) buffers_.erase(buffers_.begin());
  buffers_.push_back(buffer);
  return buffer;
}

void RoundCore::contribute(std::int64_t offset, std::span<const float> values, TimePoint now) {
  owner_.assert_here();
  if (!attempt_) return;
  note_movement(now);
  attempt_->core->contribute(offset, values);
  if (input_given()) awaited_by_.clear();
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
  if (attempt_->done) held_ = result_of_attempt();
  end_attempt(why, now);
  // Whether it is run again is not known yet.
  if (held_) outcome_->took = {};
}

std::optional<RoundOutcome> RoundCore::take_outcome() {
  owner_.assert_here();
  return std::exchange(outcome_, {});
}

RoundOutcome RoundCore::result_of_attempt() const {
  return {.round = attempt_->id.round,
          .status = {},
          .hash = attempt_->hash,
          .values = attempt_->core->result(),
          .reports = attempt_->all_reports,
          .took = {}};
}

void RoundCore::end_attempt(Status status, TimePoint now) {
  if (input_given()) given_ = attempt_->id.round;
  RoundOutcome outcome = failed_outcome(attempt_->id.round, {});
  if (status.ok()) {
    codec_.committed();
    outcome = result_of_attempt();
  }
  outcome.took = now - attempt_->begun;
  outcome.status = std::move(status);
  outcome_ = std::move(outcome);
  attempt_.reset();
}

void RoundCore::collect_findings() {
  for (Finding& finding : attempt_->core->take_findings()) {
    stalls_.push_back(
        {id_of(finding.member), StallKind::kLies, attempt_->id.round, {}, std::move(finding.text)});
  }
}

void RoundCore::settle(TimePoint now) {
  if (!attempt_) return;
  collect_findings();
  if (!attempt_->done && attempt_->core->complete() && unreported().value() < 0) {
    seal_result();
    if (!frozen_) {
      attempt_->announced = true;
      last_done_ = DoneMessage{attempt_->id, attempt_->hash};
      for (int rank = 0; rank < view_.size(); ++rank) {
        if (Rank(rank) != self_) send_done(Rank(rank));
      }
    }
  }
  if (attempt_->announced && all_done()) {
    committed_ = attempt_->id.round;
    end_attempt({}, now);
  }
}

bool RoundCore::all_done() {
  const Round round = attempt_->id.round;
  for (int rank = 0; rank < view_.size(); ++rank) {
    Peer& each = peer(Rank(rank));
    if (Rank(rank) == self_) continue;
    if (each.done < round) return false;
    if (each.done == round && each.done_hash != attempt_->hash) {
      each.done = Round();
      stalls_.push_back({id_of(Rank(rank)), StallKind::kDiffers, round, {}});
      return false;
    }
  }
  return true;
}

void RoundCore::learn_committed(Round round, TimePoint now) {
  owner_.assert_here();
  if (!attempt_ || !attempt_->announced || attempt_->id.round > round) return;
  committed_ = attempt_->id.round;
  end_attempt({}, now);
}

// --- Sending.

void RoundCore::send(Rank to, Frame frame) { sink_.send(id_of(to), Lane::kBulk, std::move(frame)); }

std::size_t RoundCore::queued_bytes(Rank to) const { return sink_.queued_bytes(id_of(to)); }

void RoundCore::send_control(Rank to, std::uint8_t type, Bytes head) {
  sink_.send(id_of(to), Lane::kControl, {type, std::move(head), {}});
}

void RoundCore::send_ready(Rank to) {
  ReadyMessage message;
  message.id = attempt_->id;
  message.elements = static_cast<std::uint64_t>(attempt_->core->elements());
  message.received = attempt_->core->received_map(to);
  // All zeros says no more than nothing does, and this is the common case.
  if (std::ranges::all_of(message.received, [](std::uint8_t has) { return has == 0; })) {
    message.received.clear();
  }
  send_control(to, frame_type::kReady, message.encode());
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
  if (attempt_) attempt_->core->on_link_down(rank);
}

void RoundCore::on_writable(const PeerId& peer_id) {
  owner_.assert_here();
  const Rank rank = rank_of(peer_id);
  if (attempt_ && rank.value() >= 0) attempt_->core->on_writable(rank);
}

MutableByteSpan RoundCore::body_destination(const PeerId& from, ByteSpan head,
                                            std::size_t body_bytes) {
  owner_.assert_here();
  const Rank rank = rank_of(from);
  if (!attempt_ || rank.value() < 0) return {};
  const Result<SegmentHead> segment = SegmentHead::decode(head);
  if (!segment.ok() || segment->id != attempt_->id) return {};
  const MutableByteSpan place = attempt_->core->body_destination(rank, head, body_bytes);
  if (!place.empty()) receiving_[from] = attempt_->core;
  return place;
}

Status RoundCore::on_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  owner_.assert_here();
  const Rank rank = rank_of(from);
  if (rank.value() < 0 || rank == self_) {
    // A member of the next view may speak before we have heard of that view.
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
  const std::shared_ptr<AllReduce> receiving = [&]() -> std::shared_ptr<AllReduce> {
    const auto found = receiving_.find(id_of(from));
    if (found == receiving_.end()) return nullptr;
    std::shared_ptr<AllReduce> core = std::move(found->second);
    receiving_.erase(found);
    return core;
  }();
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(frame.head));
  if (!attempt_ || head.id != attempt_->id) return check_not_open(head.id, "data");
  const Status status = attempt_->core->on_frame(from, frame);
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
  if (message.id.view.number <= view_.id.number || !message.received.empty()) return;
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
// than two it is that member which misbehaves; two are told in words.
Status RoundCore::differs(const Status& status, TimePoint now) {
  if (status.code() != Code::kInvalidArgument) return status;
  if (view_.size() > 2) return corrupt(status.message());
  end_attempt(status, now);
  return {};
}

// Sends to a member that is ready what it has not got.
Status RoundCore::resume(Rank to) {
  const std::optional<ReadyMessage>& ready = peer(to).ready;
  if (!ready || ready->id != attempt_->id) return {};
  const auto elements = static_cast<std::uint64_t>(attempt_->core->elements());
  if (ready->elements != elements) {
    return invalid_argument(
        fmt::format("round {}: the vector of peer {} has {} elements, this member's has {}",
                    attempt_->id.round.value(), id_of(to).short_name(), ready->elements, elements));
  }
  if (!attempt_->reports.empty() &&
      attempt_->reports[static_cast<std::size_t>(self_.value())].has_value()) {
    send_report(to);
  }
  return attempt_->core->resume(to, ready->received);
}

Status RoundCore::on_done(Rank from, const DoneMessage& message, TimePoint now) {
  if (message.id.view != view_.id || message.id.round < peer(from).done) return {};
  const Round round = message.id.round;
  // Nobody can be done with a round to which this member has not given all its input.
  const bool possible = round <= committed_ || round <= given_ ||
                        (attempt_ && round == attempt_->id.round && input_given());
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
  if (attempt_ && attempt_->done) return {attempt_->id.round, attempt_->hash};
  if (held_) return {held_->round, held_->hash};
  // What was said in this view stands, even if the round was given up here since.
  if (last_done_ && last_done_->id.round > held.done) {
    return {last_done_->id.round, last_done_->result_hash};
  }
  return held;
}

std::optional<std::uint64_t> RoundCore::elements_elsewhere(Round round) const {
  owner_.assert_here();
  for (const Peer& each : peers_) {
    if (each.ready && each.ready->id == CollectiveId{view_.id, round}) return each.ready->elements;
  }
  return std::nullopt;
}

}  // namespace weft
