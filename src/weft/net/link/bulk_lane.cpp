#include "weft/net/link/bulk_lane.h"

#include <algorithm>
#include <utility>

#include "weft/net/link/tcp_link.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

// Short, so that all connections are read at nearly one time: the system grows a receive window by
// what is read in a round trip. Long enough that a move costs little: 13 bytes and a call.
constexpr std::size_t kRunBytes = 64 * 1024;
// A connection with more than that to send takes no further frame: what it holds and cannot send
// holds up all that comes after it.
constexpr std::size_t kRoomBytes = 8 * 1024;

std::size_t size_of(const Frame& frame) {
  return kFrameHeaderBytes + frame.head.size() + frame.body.size();
}

}  // namespace

BulkLane::BulkLane(std::size_t low_water_bytes, ConnectionOwner& owner,
                   std::shared_ptr<Connection> first)
    : owner_(owner), low_water_bytes_(low_water_bytes), connections_{std::move(first)} {}

void BulkLane::open(LinkTrust trust) {
  trust_ = trust;
  connections_[0]->set_owner(owner_);
  connections_[0]->accept_frames(trust);
  connections_[0]->resume();
}

void BulkLane::set_trust(LinkTrust trust) {
  trust_ = trust;
  for (const auto& connection : connections_) connection->accept_frames(trust);
  if (shortcut_ != nullptr) shortcut_->accept_frames(trust);
}

// --- Out.

void BulkLane::send(Frame frame) {
  if (!striped()) return at(out_).send(std::move(frame));
  waiting_bytes_ += size_of(frame);
  waiting_.push_back(std::move(frame));
  pump();
  if (queued_bytes() > low_water_bytes_) above_low_water_ = true;
}

std::size_t BulkLane::queued_bytes() const {
  std::size_t sum = waiting_bytes_ + (shortcut_ ? shortcut_->queued_bytes() : 0);
  for (const auto& connection : connections_) sum += connection->queued_bytes();
  return sum;
}

void BulkLane::cancel() {
  // With several connections each holds at most a frame or two, which the order of the others
  // needs; and once the lane has moved into memory, the old connection holds the announcement of
  // that.
  if (!striped()) at(out_).cancel_queued();
  waiting_.clear();
  waiting_bytes_ = 0;
}

bool BulkLane::has_room(std::size_t number) const {
  // So that of queues above the low water together at least one is above its own.
  return connections_[number]->queued_bytes() <=
         std::min(kRoomBytes, low_water_bytes_ / kBulkConnectionsMax);
}

std::size_t BulkLane::choose() const {
  if (run_bytes_ < kRunBytes && has_room(out_)) return out_;
  std::size_t best = kNowhere;
  for (std::size_t step = 1; step <= in_use_; ++step) {
    const std::size_t number = (out_ + step) % in_use_;
    if (!has_room(number)) continue;
    if (best == kNowhere ||
        connections_[number]->queued_bytes() < connections_[best]->queued_bytes()) {
      best = number;
    }
  }
  return best;
}

void BulkLane::pump() {
  while (!waiting_.empty()) {
    const std::size_t next = choose();
    if (next == kNowhere) return;
    if (next != out_) move_out(next);
    Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    const std::size_t size = size_of(frame);
    waiting_bytes_ -= size;
    run_bytes_ += size;
    connections_[out_]->send(std::move(frame));
  }
}

void BulkLane::move_out(std::size_t way) {
  at(out_).send(
      {frame_type::kLaneMoved, LaneMovedMessage{static_cast<std::uint8_t>(way)}.encode(), {}});
  out_ = way;
  run_bytes_ = 0;
}

bool BulkLane::on_writable() {
  if (!striped()) return true;
  pump();
  if (!above_low_water_ || queued_bytes() > low_water_bytes_) return false;
  above_low_water_ = false;
  return true;
}

// --- Ways.

void BulkLane::add(const std::shared_ptr<Connection>& connection) {
  WEFT_CHECK(takes_connection());
  // Until its turn.
  connection->halt();
  connection->set_owner(owner_);
  connection->accept_frames(trust_);
  connections_.push_back(connection);
}

void BulkLane::use(std::size_t count) {
  WEFT_CHECK(count >= in_use_ && count <= connections_.size());
  if (count == in_use_) return;
  if (!striped()) {
    above_low_water_ = queued_bytes() > low_water_bytes_;
    waiting_ = connections_[0]->cancel_queued();
    for (const Frame& frame : waiting_) waiting_bytes_ += size_of(frame);
  }
  in_use_ = count;
  for (const auto& connection : connections_) {
    keep_little_unsent(connection->socket());
    connection->set_low_water_bytes(std::min(kRoomBytes, low_water_bytes_ / kBulkConnectionsMax));
  }
  pump();
}

void BulkLane::take_shortcut(std::shared_ptr<Connection> shortcut, Moves moves) {
  WEFT_CHECK(takes_shortcut());
  shortcut_ = std::move(shortcut);
  // Until the other side has said that it sends no more on the old one.
  shortcut_->halt();
  shortcut_->set_owner(owner_);
  shortcut_->accept_frames(trust_);
  if (moves == Moves::kFirst) move_out(kShortcut);
}

bool BulkLane::lose_unused(const Connection& connection) {
  if (&connection != shortcut_.get() || out_ == kShortcut || in_ == kShortcut) return false;
  shortcut_->close();
  shortcut_.reset();
  return true;
}

Status BulkLane::on_moved(ByteSpan head) {
  WEFT_TRY_ASSIGN(const LaneMovedMessage moved, LaneMovedMessage::decode(head));
  const std::size_t to = moved.to;
  const bool there = to == kShortcut ? shortcut_ != nullptr : to < connections_.size();
  if (!there || to == in_ || in_ == kShortcut) {
    return corrupt("lane_moved.to: the lane cannot have moved there");
  }
  // An old connection that the lane has left for memory is read on, to notice its end.
  if (to != kShortcut) at(in_).halt();
  in_ = to;
  if (to == kShortcut && out_ != kShortcut) move_out(kShortcut);
  at(in_).resume();
  return {};
}

void BulkLane::close() {
  for (const auto& connection : connections_) connection->close();
  if (shortcut_) shortcut_->close();
}

void BulkLane::fall_silent(Duration limit) {
  for (const auto& connection : connections_) connection->fall_silent(limit);
  if (shortcut_) shortcut_->fall_silent(limit);
}

void BulkLane::add_stats(TransportStats& sum) const {
  for (const auto& connection : connections_) {
    sum.bytes_sent += connection->stats().bytes_sent;
    sum.bytes_received += connection->stats().bytes_received;
  }
  sum.connections = in_use_;
  if (shortcut_ == nullptr) return;
  sum.in_memory = out_ == kShortcut;
  sum.bytes_sent += shortcut_->stats().bytes_sent;
  sum.bytes_received += shortcut_->stats().bytes_received;
}

}  // namespace weft
