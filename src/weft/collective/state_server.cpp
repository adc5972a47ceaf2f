#include "weft/collective/state_server.h"

#include <algorithm>

#include "weft/wire/frame_type.h"

namespace weft {

static constexpr std::size_t kSnapshotsKept = 2;
static constexpr std::size_t kPieceElements = kStateBlockBytes / sizeof(float);
// How far above the newest result a request may reach; a joiner asks a few rounds ahead.
static constexpr std::uint64_t kRoundsAheadMax = 256;

static std::uint32_t pieces_of(std::size_t elements) {
  const std::size_t full = (elements + kPieceElements - 1) / kPieceElements;
  return static_cast<std::uint32_t>(std::max<std::size_t>(full, 1));
}

void StateServer::publish(Round round, Bytes state) {
  SnapshotManifest manifest = make_manifest(round, state);
  const Hash256 id = manifest.id();
  snapshots_.push_back({std::move(manifest), id, SharedBytes(std::move(state))});
  while (snapshots_.size() > kSnapshotsKept) snapshots_.pop_front();
  wanted_ = false;
}

Round StateServer::newest_snapshot() const {
  return snapshots_.empty() ? Round() : snapshots_.back().manifest.round;
}

Round StateServer::oldest_snapshot() const {
  return snapshots_.empty() ? Round() : snapshots_.front().manifest.round;
}

void StateServer::forget_snapshots() {
  snapshots_.clear();
  wanted_ = false;
}

void StateServer::committed() {
  for (auto& [peer, requests] : waiting_) pump(peer);
}

Status StateServer::on_frame(const PeerId& from, const FrameView& frame) {
  switch (frame.type) {
    case frame_type::kStateQuery:
      offer(from);
      return {};
    case frame_type::kBlockRequest: {
      WEFT_TRY_ASSIGN(const BlockName asked, BlockName::decode(frame.head));
      return enqueue(from, {true, asked.manifest, Round(), asked.index});
    }
    case frame_type::kResultRequest: {
      WEFT_TRY_ASSIGN(const ResultRequestMessage asked, ResultRequestMessage::decode(frame.head));
      return enqueue(from, {false, {}, asked.round, 0});
    }
    default:
      return corrupt("state request: unknown frame type " + std::to_string(frame.type));
  }
}

void StateServer::offer(const PeerId& to) {
  StateOfferMessage message;
  // A snapshot whose following results are gone is of no use: a newer one must be made.
  const bool usable = !snapshots_.empty() &&
                      (log_.empty() || newest_snapshot().value() + 1 >= log_.oldest().value());
  if (usable) message.manifest = snapshots_.back().manifest;
  if (!usable) wanted_ = true;
  sink_.send(to, Lane::kControl, {frame_type::kStateOffer, message.encode(), {}});
}

Status StateServer::enqueue(const PeerId& from, const Request& request) {
  std::deque<Request>& requests = waiting_[from];
  if (requests.size() >= options_.requests_max) {
    return corrupt("state request: more than " + std::to_string(options_.requests_max) +
                   " are waiting");
  }
  requests.push_back(request);
  pump(from);
  return {};
}

void StateServer::on_writable(const PeerId& peer) {
  if (waiting_.contains(peer)) pump(peer);
}

void StateServer::pump(const PeerId& to) {
  std::deque<Request>& requests = waiting_[to];
  std::size_t next = 0;
  while (next < requests.size() && sink_.queued_bytes(to) < options_.queue_bytes_max) {
    switch (serve(to, requests[next])) {
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

StateServer::Outcome StateServer::serve(const PeerId& to, Request& request) {
  if (!request.is_block) return serve_result(to, request);
  serve_block(to, request);
  return Outcome::kSent;
}

void StateServer::serve_block(const PeerId& to, const Request& request) {
  const Snapshot* const snapshot = find(request.manifest);
  if (snapshot == nullptr || request.part >= snapshot->manifest.blocks.size()) {
    const BlockMissingMessage message{request.manifest};
    sink_.send(to, Lane::kControl, {frame_type::kBlockMissing, message.encode(), {}});
    return;
  }
  const BlockName head{request.manifest, request.part};
  const std::size_t begin = std::size_t{request.part} * kStateBlockBytes;
  const std::size_t size = snapshot->manifest.block_bytes(request.part);
  sink_.send(to, Lane::kBulk,
             {frame_type::kBlock, head.encode(), snapshot->state.slice(begin, size)});
}

StateServer::Outcome StateServer::serve_result(const PeerId& to, Request& request) {
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
  const ResultHead head{request.round, log_.newest(), values.size(), request.part, entry->hash};
  sink_.send(to, Lane::kBulk,
             {frame_type::kResult, head.encode(), SharedBytes(entry->values, as_bytes(piece))});
  return ++request.part == pieces_of(values.size()) ? Outcome::kSent : Outcome::kMore;
}

const StateServer::Snapshot* StateServer::find(const Hash256& id) const {
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.id == id) return &snapshot;
  }
  return nullptr;
}

}  // namespace weft
