#include "weft/collective/state/state_server.h"

#include <algorithm>
#include <utility>

#include "weft/wire/frame_type.h"

namespace weft {

static constexpr std::size_t kSnapshotsKept = 2;
// A snapshot is not offered if the results that its followers must get have more bytes than this
// part of the state: a newer one costs them the wait for the end of a round.
static constexpr std::uint64_t kBehindPart = 16;
// A snapshot that was made or asked for so lately is offered even so.
static constexpr Duration kFreshFor = std::chrono::seconds(2);
// How far above the newest result a request may reach; a joiner asks a few rounds ahead.
static constexpr std::uint64_t kRoundsAheadMax = 256;

// What a piece may take longer than the shortest time for other reasons than a queue.
static constexpr Duration kUnmeasured = std::chrono::milliseconds(2);

static ResultHead result_head(const ResultLog::Entry& entry, Round newest, std::uint32_t piece) {
  ResultHead head;
  head.round = entry.round;
  head.newest = newest;
  head.elements = std::as_const(*entry.values).span().size();
  head.report_bytes = static_cast<std::uint32_t>(entry.reports.size());
  head.piece = piece;
  head.hash = entry.hash;
  return head;
}

static SharedBytes result_piece(const ResultLog::Entry& entry, const ResultHead& head) {
  const std::uint64_t first_report = head.sum_pieces();
  if (head.piece >= first_report) {
    const std::size_t begin =
        static_cast<std::size_t>(head.piece - first_report) * kStateBlockBytes;
    return entry.reports.slice(begin, head.piece_bytes());
  }
  const std::span<const float> values = std::as_const(*entry.values).span();
  return {entry.values,
          as_bytes(values).subspan(std::size_t{head.piece} * kStateBlockBytes, head.piece_bytes())};
}

void StateServer::publish(StateSnapshot snapshot, TimePoint now) {
  owner_.assert_here();
  snapshots_.push_back({std::move(snapshot), now});
  while (snapshots_.size() > kSnapshotsKept) snapshots_.pop_front();
  wanted_ = false;
  for (const auto& [peer, query] : std::exchange(unanswered_, {})) offer(peer, query, now);
}

std::optional<Round> StateServer::newest_snapshot() const {
  owner_.assert_here();
  if (snapshots_.empty()) return std::nullopt;
  return snapshots_.back().of.name.round;
}

std::optional<Round> StateServer::oldest_snapshot() const {
  owner_.assert_here();
  if (snapshots_.empty()) return std::nullopt;
  return snapshots_.front().of.name.round;
}

void StateServer::forget_unused(TimePoint now) {
  owner_.assert_here();
  std::erase_if(snapshots_, [&](const Snapshot& snapshot) {
    return now >= snapshot.used + options_.keep_unused;
  });
}

TimePoint StateServer::unused_at() const {
  owner_.assert_here();
  TimePoint first = TimePoint::max();
  for (const Snapshot& snapshot : snapshots_) {
    first = std::min(first, snapshot.used + options_.keep_unused);
  }
  return first;
}

void StateServer::pump_all(TimePoint now) {
  owner_.assert_here();
  for (auto& [peer, waiting] : waiting_) give_up_lost(waiting, now);
  const auto from = waiting_.upper_bound(PeerId(served_));
  for (auto it = from; it != waiting_.end(); ++it) pump(it->first, it->second, now);
  for (auto it = waiting_.begin(); it != from; ++it) pump(it->first, it->second, now);
}

bool StateServer::waiting() const {
  owner_.assert_here();
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [](const auto& each) { return !each.second.requests.empty(); });
}

TimePoint StateServer::next_deadline(TimePoint now) const {
  owner_.assert_here();
  TimePoint first = TimePoint::max();
  for (const auto& [peer, waiting] : waiting_) {
    if (waiting.requests.empty()) continue;
    if (!waiting.under_way.empty()) {
      first = std::min(first, waiting.under_way.front().at + options_.lost_after);
    }
    for (const Request& request : waiting.requests) {
      const std::size_t bytes = next_bytes(request);
      if (bytes == 0) continue;
      first = std::min(first, throttle_.next_change(kind_of(request), bytes, now));
      break;
    }
  }
  return first;
}

// The size of the frame that the request needs next; 0 for one without a body, or not yet known.
std::size_t StateServer::next_bytes(const Request& request) const {
  if (request.is_block) {
    const Snapshot* const snapshot = find(request.root);
    const bool there = snapshot != nullptr && request.part < snapshot->of.name.blocks();
    return there ? snapshot->of.name.block_bytes(request.part) : 0;
  }
  const ResultLog::Entry* const entry = log_.find(request.round);
  if (entry == nullptr) return 0;
  return result_head(*entry, log_.newest(), request.part).piece_bytes();
}

// A newcomer that gets less than a result a round would never catch up: once two rounds have passed
// since one was asked for it is overdue.
StateKind StateServer::kind_of(const Request& request) const {
  if (request.is_block) return StateKind::kBlock;
  const bool overdue = log_.newest() > request.since.next();
  return overdue ? StateKind::kOverdueResult : StateKind::kResult;
}

bool StateServer::may_serve(const Waiting& waiting, const Request& request, TimePoint now) const {
  const std::size_t bytes = next_bytes(request);
  if (waiting.urgent || bytes == 0) return true;
  const StateKind kind = kind_of(request);
  // Overdue sums are doled out anyway.
  const std::size_t window = kind == StateKind::kOverdueResult
                                 ? options_.window_bytes_max
                                 : std::max(waiting.window_bytes, options_.window_bytes_min);
  const std::uint64_t under_way = waiting.sent_bytes - waiting.gone_bytes;
  return under_way + bytes <= window && throttle_.may_send(kind, bytes, now);
}

Status StateServer::on_frame(const PeerId& from, const FrameView& frame, bool urgent,
                             TimePoint now) {
  owner_.assert_here();
  switch (frame.type) {
    case frame_type::kStateQuery: {
      WEFT_TRY_ASSIGN(const StateQueryMessage query, StateQueryMessage::decode(frame.head));
      offer(from, query, now);
      return {};
    }
    case frame_type::kBlockRequest: {
      WEFT_TRY_ASSIGN(const BlockRequestMessage asked, BlockRequestMessage::decode(frame.head));
      return enqueue(from, {true, asked.root, Round(), asked.index, Round()}, urgent, now);
    }
    case frame_type::kResultRequest: {
      WEFT_TRY_ASSIGN(const ResultRequestMessage asked, ResultRequestMessage::decode(frame.head));
      return enqueue(from, {false, {}, asked.round, 0, Round()}, urgent, now);
    }
    case frame_type::kStateReceived: {
      WEFT_TRY_ASSIGN(const StateReceivedMessage message, StateReceivedMessage::decode(frame.head));
      return on_received(from, message, now);
    }
    default:
      return corrupt("state request: unknown frame type " + std::to_string(frame.type));
  }
}

Status StateServer::on_received(const PeerId& from, const StateReceivedMessage& message,
                                TimePoint now) {
  const auto found = waiting_.find(from);
  const std::uint64_t sent = found == waiting_.end() ? 0 : found->second.sent_bytes;
  if (message.bytes > sent) {
    return corrupt("state received: " + std::to_string(message.bytes) + " bytes, sent were " +
                   std::to_string(sent));
  }
  if (found == waiting_.end()) return {};
  Waiting& waiting = found->second;
  std::optional<TimePoint> sent_at;
  while (!waiting.under_way.empty() && waiting.under_way.front().until <= message.bytes) {
    sent_at = waiting.under_way.front().at;
    waiting.under_way.pop_front();
  }
  settle_gone(waiting, message.bytes);
  if (sent_at) adapt_window(waiting, now - *sent_at);
  pump_all(now);
  return {};
}

// As TCP Vegas does it: pieces that take longer than the shortest time wait in a queue.
void StateServer::adapt_window(Waiting& waiting, Duration took) {
  const Duration shortest = waiting.shortest;
  waiting.shortest = shortest == Duration::max() ? took : std::min(took, shortest + shortest / 64);
  std::size_t& window = waiting.window_bytes;
  if (took <= waiting.shortest + waiting.shortest / 4 + kUnmeasured) {
    window += kStateBlockBytes * kStateBlockBytes / std::max(window, kStateBlockBytes);
  } else {
    window -= window / 8;
  }
  window = std::clamp(window, options_.window_bytes_min, options_.window_bytes_max);
}

void StateServer::settle_gone(Waiting& waiting, std::uint64_t gone_bytes) {
  if (gone_bytes <= waiting.gone_bytes) return;
  throttle_.on_state_gone(static_cast<std::size_t>(gone_bytes - waiting.gone_bytes));
  waiting.gone_bytes = gone_bytes;
}

void StateServer::give_up_lost(Waiting& waiting, TimePoint now) {
  while (!waiting.under_way.empty() && now >= waiting.under_way.front().at + options_.lost_after) {
    settle_gone(waiting, waiting.under_way.front().until);
    waiting.under_way.pop_front();
  }
}

void StateServer::on_link_down(const PeerId& peer) {
  owner_.assert_here();
  unanswered_.erase(peer);
  const auto found = waiting_.find(peer);
  if (found == waiting_.end()) return;
  settle_gone(found->second, found->second.sent_bytes);
  waiting_.erase(found);
}

// A snapshot whose following results are gone is of no use: a newer one must be made. One of which
// the asker has a part already is better than a newer one of which it has none.
bool StateServer::usable(const Snapshot& snapshot, const StateQueryMessage& query) const {
  const std::uint64_t round = snapshot.of.name.round.value();
  if (log_.empty() || round >= log_.newest().value()) return true;
  if (round + 1 < log_.oldest().value()) return false;
  const std::uint64_t behind = log_.newest().value() - round;
  if (query.wanted == snapshot.of.name.root) return true;
  return behind * log_.find(log_.newest())->bytes() * kBehindPart <=
         snapshot.of.state.span().size();
}

void StateServer::offer(const PeerId& to, const StateQueryMessage& query, TimePoint now) {
  StateOfferMessage message;
  Snapshot* best = nullptr;
  for (Snapshot& snapshot : snapshots_) {
    // Rounds may be faster than queries: the peer for which a snapshot was made must get it.
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
    unanswered_[to] = query;
  }
  sink_.send(to, Lane::kControl, {frame_type::kStateOffer, message.encode(), {}});
}

Status StateServer::enqueue(const PeerId& from, const Request& request, bool urgent,
                            TimePoint now) {
  Waiting& waiting = waiting_[from];
  waiting.urgent = urgent;
  // Asked again because the answer is long in coming.
  const auto known = [&](const Request& other) { return other.same_as(request); };
  if (std::ranges::any_of(waiting.requests, known)) {
    pump(from, waiting, now);
    return {};
  }
  if (waiting.requests.size() >= options_.requests_max) {
    return corrupt("state request: more than " + std::to_string(options_.requests_max) +
                   " are waiting");
  }
  waiting.requests.push_back(request);
  waiting.requests.back().since = log_.newest();
  pump(from, waiting, now);
  return {};
}

void StateServer::hurry(const PeerId& peer, TimePoint now) {
  owner_.assert_here();
  const auto found = waiting_.find(peer);
  if (found == waiting_.end()) return;
  found->second.urgent = true;
  pump(peer, found->second, now);
}

void StateServer::on_writable(const PeerId& peer, TimePoint now) {
  owner_.assert_here();
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
  send_piece(to, request, {frame_type::kBlock, head.encode(), block}, now);
}

void StateServer::send_piece(const PeerId& to, const Request& request, Frame frame, TimePoint now) {
  const std::size_t bytes = frame.body.size();
  throttle_.on_state_sent(kind_of(request), bytes, now);
  Waiting& waiting = waiting_[to];
  waiting.sent_bytes += bytes;
  waiting.under_way.push_back({now, waiting.sent_bytes});
  served_ = to;
  sink_.send(to, Lane::kBulk, std::move(frame));
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
  const ResultHead head = result_head(*entry, log_.newest(), request.part);
  send_piece(to, request, {frame_type::kResult, head.encode(), result_piece(*entry, head)}, now);
  return ++request.part >= head.pieces() ? Outcome::kSent : Outcome::kMore;
}

const StateServer::Snapshot* StateServer::find(const Hash256& root) const {
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.of.name.root == root) return &snapshot;
  }
  return nullptr;
}

}  // namespace weft
