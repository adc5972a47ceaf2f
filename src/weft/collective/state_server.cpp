#include "weft/collective/state_server.h"

#include <algorithm>

#include "weft/wire/frame_type.h"

namespace weft {

static constexpr std::size_t kSnapshotsKept = 2;
static constexpr std::size_t kPieceElements = kStateBlockBytes / sizeof(float);
// A snapshot is not offered if its followers must apply more results than so many, and more bytes
// of them than the state has: a newer one is cheaper.
static constexpr std::uint64_t kRoundsBehindMax = 16;
// A snapshot that was made or asked for so lately is offered even so.
static constexpr Duration kFreshFor = std::chrono::seconds(2);
// How far above the newest result a request may reach; a joiner asks a few rounds ahead.
static constexpr std::uint64_t kRoundsAheadMax = 256;

static std::uint32_t pieces_of(std::size_t elements) {
  const std::size_t full = (elements + kPieceElements - 1) / kPieceElements;
  return static_cast<std::uint32_t>(std::max<std::size_t>(full, 1));
}

void StateServer::publish(StateSnapshot snapshot, TimePoint now) {
  snapshots_.push_back({std::move(snapshot), now});
  while (snapshots_.size() > kSnapshotsKept) snapshots_.pop_front();
  wanted_ = false;
}

Round StateServer::newest_snapshot() const {
  return snapshots_.empty() ? Round() : snapshots_.back().of.name.round;
}

Round StateServer::oldest_snapshot() const {
  return snapshots_.empty() ? Round() : snapshots_.front().of.name.round;
}

void StateServer::forget_unused(TimePoint now) {
  std::erase_if(snapshots_, [&](const Snapshot& snapshot) {
    return now >= snapshot.used + options_.keep_unused;
  });
}

TimePoint StateServer::unused_at() const {
  TimePoint first = TimePoint::max();
  for (const Snapshot& snapshot : snapshots_) {
    first = std::min(first, snapshot.used + options_.keep_unused);
  }
  return first;
}

void StateServer::pump_all(TimePoint now) {
  for (auto& [peer, waiting] : waiting_) pump(peer, waiting, now);
}

bool StateServer::waiting() const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [](const auto& each) { return !each.second.requests.empty(); });
}

TimePoint StateServer::next_deadline(TimePoint now) const {
  TimePoint first = TimePoint::max();
  for (const auto& [peer, waiting] : waiting_) {
    for (const Request& request : waiting.requests) {
      const std::size_t bytes = next_bytes(request);
      const StateKind kind = request.is_block ? StateKind::kBlock : StateKind::kResult;
      if (bytes > 0) first = std::min(first, throttle_.next_change(kind, bytes, now));
    }
  }
  return first;
}

// Of the frame that the request asks for next; 0 for none that has a body, or not yet.
std::size_t StateServer::next_bytes(const Request& request) const {
  if (request.is_block) {
    const Snapshot* const snapshot = find(request.root);
    const bool there = snapshot != nullptr && request.part < snapshot->of.name.blocks();
    return there ? snapshot->of.name.block_bytes(request.part) : 0;
  }
  const ResultLog::Entry* const entry = log_.find(request.round);
  if (entry == nullptr) return 0;
  const std::size_t elements = std::as_const(*entry->values).span().size();
  const std::size_t begin = std::size_t{request.part} * kPieceElements;
  return std::min(kPieceElements, elements - begin) * sizeof(float);
}

// A result goes out once a round has passed since it was asked for, whatever the line does: a
// newcomer that gets less than a result a round would never catch up.
bool StateServer::may_serve(const Waiting& waiting, const Request& request, TimePoint now) const {
  if (!request.is_block && log_.newest() > request.since) return true;
  const std::size_t bytes = next_bytes(request);
  const StateKind kind = request.is_block ? StateKind::kBlock : StateKind::kResult;
  return waiting.urgent || bytes == 0 || throttle_.may_send(kind, bytes, now);
}

Status StateServer::on_frame(const PeerId& from, const FrameView& frame, bool urgent,
                             TimePoint now) {
  switch (frame.type) {
    case frame_type::kStateQuery: {
      WEFT_TRY_ASSIGN(const StateQueryMessage query, StateQueryMessage::decode(frame.head));
      offer(from, query, now);
      return {};
    }
    case frame_type::kBlockRequest: {
      WEFT_TRY_ASSIGN(const BlockRequestMessage asked, BlockRequestMessage::decode(frame.head));
      note_delivered(from, now);
      return enqueue(from, {true, asked.root, Round(), asked.index, Round()}, urgent, now);
    }
    case frame_type::kResultRequest: {
      WEFT_TRY_ASSIGN(const ResultRequestMessage asked, ResultRequestMessage::decode(frame.head));
      return enqueue(from, {false, {}, asked.round, 0, Round()}, urgent, now);
    }
    default:
      return corrupt("state request: unknown frame type " + std::to_string(frame.type));
  }
}

// An asker has a few requests open: a further one says that a block has come.
void StateServer::note_delivered(const PeerId& to, TimePoint now) {
  const auto found = waiting_.find(to);
  if (found == waiting_.end() || found->second.blocks_sent.empty()) return;
  throttle_.on_state_delivered(kStateBlockBytes, found->second.blocks_sent.front(), now);
  found->second.blocks_sent.pop_front();
}

// A snapshot whose following results are gone is of no use: a newer one must be made. One of which
// the asker has a part already is better than a newer one of which it has none.
bool StateServer::usable(const Snapshot& snapshot, const StateQueryMessage& query) const {
  const std::uint64_t round = snapshot.of.name.round.value();
  if (log_.empty() || round >= log_.newest().value()) return true;
  if (round + 1 < log_.oldest().value()) return false;
  const std::uint64_t behind = log_.newest().value() - round;
  if (behind <= kRoundsBehindMax || query.wanted == snapshot.of.name.root) return true;
  const auto& newest = *log_.find(log_.newest())->values;
  return behind * newest.span().size_bytes() <= snapshot.of.state.span().size();
}

void StateServer::offer(const PeerId& to, const StateQueryMessage& query, TimePoint now) {
  StateOfferMessage message;
  Snapshot* best = nullptr;
  for (Snapshot& snapshot : snapshots_) {
    // Rounds may be faster than questions: whoever made it necessary must get it.
    const bool followed = log_.empty() || snapshot.of.name.round.next() >= log_.oldest();
    const bool fresh = followed && now < snapshot.used + kFreshFor;
    if (!fresh && !usable(snapshot, query)) continue;
    best = &snapshot;
    if (query.wanted == snapshot.of.name.root) break;
  }
  if (held_) best = nullptr;
  if (best != nullptr) {
    message.snapshot = best->of.name;
    best->used = now;
  } else if (!held_) {
    wanted_ = true;
  }
  sink_.send(to, Lane::kControl, {frame_type::kStateOffer, message.encode(), {}});
}

Status StateServer::enqueue(const PeerId& from, const Request& request, bool urgent,
                            TimePoint now) {
  Waiting& waiting = waiting_[from];
  // Asked again because the answer is long in coming.
  const auto known = [&](const Request& other) { return other.same_as(request); };
  if (std::ranges::any_of(waiting.requests, known)) return {};
  if (waiting.requests.size() >= options_.requests_max) {
    return corrupt("state request: more than " + std::to_string(options_.requests_max) +
                   " are waiting");
  }
  waiting.requests.push_back(request);
  waiting.requests.back().since = log_.newest();
  waiting.urgent = urgent;
  pump(from, waiting, now);
  return {};
}

void StateServer::on_writable(const PeerId& peer, TimePoint now) {
  if (const auto found = waiting_.find(peer); found != waiting_.end()) {
    pump(peer, found->second, now);
  }
}

void StateServer::pump(const PeerId& to, Waiting& waiting, TimePoint now) {
  std::deque<Request>& requests = waiting.requests;
  std::size_t next = 0;
  while (next < requests.size() && sink_.queued_bytes(to) < options_.queue_bytes_max &&
         may_serve(waiting, requests[next], now)) {
    switch (serve(to, requests[next], now)) {
      case Outcome::kMore:
        break;
      case Outcome::kNotYet:  // it waits for its round; a later one may be served meanwhile
        ++next;
        break;
      case Outcome::kSent:
        requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(next));
        break;
    }
  }
}

StateServer::Outcome StateServer::serve(const PeerId& to, Request& request, TimePoint now) {
  if (!request.is_block) return serve_result(to, request, now);
  serve_block(to, request, now);
  return Outcome::kSent;
}

void StateServer::serve_block(const PeerId& to, const Request& request, TimePoint now) {
  const Snapshot* const snapshot = find(request.root);
  if (snapshot == nullptr || request.part >= snapshot->of.name.blocks()) {
    const BlockMissingMessage message{request.root};
    sink_.send(to, Lane::kControl, {frame_type::kBlockMissing, message.encode(), {}});
    return;
  }
  const BlockHead head{request.root, request.part, snapshot->of.tree.path(request.part)};
  const SharedBytes block = snapshot->of.state.slice(std::size_t{request.part} * kStateBlockBytes,
                                                     snapshot->of.name.block_bytes(request.part));
  throttle_.on_state_sent(StateKind::kBlock, block.size(), now);
  std::deque<TimePoint>& sent = waiting_[to].blocks_sent;
  sent.push_back(now);
  if (sent.size() > options_.requests_max) sent.pop_front();
  sink_.send(to, Lane::kBulk, {frame_type::kBlock, head.encode(), block});
}

StateServer::Outcome StateServer::serve_result(const PeerId& to, Request& request, TimePoint now) {
  const ResultLog::Entry* const entry = log_.find(request.round);
  if (entry == nullptr) {
    // Compared without a sum: a hostile round number may be the largest there is.
    const bool ahead = request.round > log_.newest() &&
                       request.round.value() - log_.newest().value() <= kRoundsAheadMax;
    if (ahead) return Outcome::kNotYet;
    const ResultMissingMessage message{request.round, log_.oldest(), log_.newest()};
    sink_.send(to, Lane::kControl, {frame_type::kResultMissing, message.encode(), {}});
    return Outcome::kSent;
  }
  const std::span<const float> values = std::as_const(*entry->values).span();
  const std::size_t begin = std::size_t{request.part} * kPieceElements;
  const std::span<const float> piece =
      values.subspan(begin, std::min(kPieceElements, values.size() - begin));
  throttle_.on_state_sent(StateKind::kResult, piece.size_bytes(), now);
  const ResultHead head{request.round, log_.newest(), values.size(), request.part, entry->hash};
  sink_.send(to, Lane::kBulk,
             {frame_type::kResult, head.encode(), SharedBytes(entry->values, as_bytes(piece))});
  return ++request.part == pieces_of(values.size()) ? Outcome::kSent : Outcome::kMore;
}

const StateServer::Snapshot* StateServer::find(const Hash256& root) const {
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.of.name.root == root) return &snapshot;
  }
  return nullptr;
}

}  // namespace weft
