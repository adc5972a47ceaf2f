// StateGroup: StateServers and a StateFetch against each other over a queue that a test can shuffle
// and damage.
//
// Threads: one owner. For tests.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/collective/state/result_log.h"
#include "weft/collective/state/state_fetch.h"
#include "weft/collective/state/state_server.h"
#include "weft/wire/frame_type.h"

namespace weft {

inline PeerId peer_of(std::uint8_t number) {
  PeerId id;
  id.bytes[0] = number;
  return id;
}

inline Bytes state_bytes(std::size_t size, std::uint8_t salt) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i * 31 + i / 257 + salt);
  }
  return bytes;
}

inline std::shared_ptr<FloatBuffer> result_of(std::uint64_t round, std::int64_t elements) {
  auto buffer = std::make_shared<FloatBuffer>(elements);
  float value = static_cast<float>(round);
  for (float& each : buffer->span()) each = value += 0.25F;
  return buffer;
}

inline Hash128 hash_of(const FloatBuffer& buffer) { return xxh3_128(as_bytes(buffer.span())); }

// One joiner (peer 0) and some members; frames wait in `queue` until deliver().
class StateGroup {
 public:
  explicit StateGroup(int members, StateFetchOptions options = {}) {
    for (int i = 0; i < members; ++i) {
      members_.push_back(
          std::make_unique<Member>(*this, peer_of(static_cast<std::uint8_t>(i + 1))));
    }
    fetch_ = std::make_unique<StateFetch>(options, joiner_sink_);
    fetch_->set_sources(ids(), now_);
  }

  struct Sent {
    PeerId from;
    PeerId to;
    Lane lane = Lane::kControl;
    Frame frame;
  };

  class Sink final : public StateSink {
   public:
    Sink(StateGroup& group, PeerId self) : group_(group), self_(self) {}
    void send(const PeerId& to, Lane lane, Frame frame) override {
      group_.queue.push_back({self_, to, lane, std::move(frame)});
    }
    std::size_t queued_bytes(const PeerId& to) const override {
      std::size_t bytes = 0;
      for (const Sent& sent : group_.queue) {
        if (sent.from == self_ && sent.to == to) bytes += sent.frame.body.size();
      }
      return bytes;
    }

   private:
    StateGroup& group_;
    PeerId self_;
  };

  struct Member {
    Member(StateGroup& group, PeerId peer)
        : id(peer), sink(group, peer), log(64U << 20U), server({}, log, sink) {}
    PeerId id;
    Sink sink;
    ResultLog log;
    StateServer server;
    bool alive = true;
  };

  std::vector<PeerId> ids() const {
    std::vector<PeerId> out;
    for (const auto& member : members_) {
      if (member->alive) out.push_back(member->id);
    }
    return out;
  }
  Member& member(std::size_t index) { return *members_.at(index); }
  StateFetch& fetch() { return *fetch_; }

  void publish_all(Round round, const Bytes& state) {
    const StateSnapshot snapshot = make_state_snapshot(round, state);
    for (const auto& member : members_) member->server.publish(snapshot, now_);
  }
  void commit_all(std::uint64_t round, std::int64_t elements, Bytes encoded_reports = {}) {
    const auto values = result_of(round, elements);
    const SharedBytes reports(std::move(encoded_reports));
    const Hash128 hash = result_hash(std::as_const(*values).span(), reports.span());
    for (const auto& member : members_) {
      member->log.add({Round(round), hash, values, reports});
      member->server.committed(now_);
    }
  }
  void kill(std::size_t index) {
    Member& member = *members_.at(index);
    member.alive = false;
    std::erase_if(queue, [&](const Sent& sent) { return sent.from == member.id; });
    fetch_->on_link_down(member.id, now_);
  }

  // Hands over the oldest frame of a link drawn by `rng`; false if there is none.
  bool deliver_one() {
    if (queue.empty()) return false;
    const std::size_t pick = rng_.below(static_cast<std::uint32_t>(queue.size()));
    const PeerId from = queue[pick].from;
    const PeerId to = queue[pick].to;
    const Lane lane = queue[pick].lane;
    const auto first = std::find_if(queue.begin(), queue.end(), [&](const Sent& sent) {
      return sent.from == from && sent.to == to && sent.lane == lane;
    });
    const Sent sent = std::move(*first);
    queue.erase(first);
    hand_over(sent);
    return true;
  }

  void hand_over(const Sent& sent) {
    if (sent.to != peer_of(0)) {
      Member& member = *members_.at(sent.to.bytes[0] - 1U);
      const FrameView view{sent.frame.type, sent.frame.head, sent.frame.body.span()};
      EXPECT_TRUE(!member.alive || member.server.on_frame(sent.from, view, false, now_).ok());
      return;
    }
    Bytes body(sent.frame.body.span().begin(), sent.frame.body.span().end());
    blocks_[sent.from] += sent.frame.type == frame_type::kBlock ? 1 : 0;
    if (damage) damage(sent, body);
    const FrameView frame{sent.frame.type, sent.frame.head, body};
    fetch_->acknowledge(sent.from, frame);
    const Status status = fetch_->on_frame(sent.from, frame, now_);
    if (!status.ok()) {
      refused.push_back(sent.from);
      kill(sent.from.bytes[0] - 1U);
    }
    members_.at(sent.from.bytes[0] - 1U)->server.on_writable(peer_of(0), now_);
  }

  // Runs until `done`, passing time where nothing is under way; false after 60 virtual seconds.
  bool run_until(const std::function<bool()>& done) {
    const TimePoint limit = now_ + std::chrono::seconds(60);
    while (!done()) {
      if (deliver_one()) continue;
      const TimePoint next = fetch_->next_deadline();
      if (next == TimePoint::max() || next > limit) return false;
      now_ = std::max(now_, next);
      fetch_->on_timer(now_);
    }
    return true;
  }

  std::optional<StateFetch::Snapshot> snapshot() {
    std::optional<StateFetch::Snapshot> out;
    run_until([&] { return (out = fetch_->take_snapshot(now_)).has_value(); });
    return out;
  }
  std::optional<StateFetch::FetchedResult> result() {
    std::optional<StateFetch::FetchedResult> out;
    run_until([&] { return (out = fetch_->take_result(now_)).has_value(); });
    return out;
  }
  TimePoint now() const { return now_; }
  // The joiner's process ends and is started again: what it keeps is all that it has.
  void restart_joiner(StateFetchOptions options) {
    std::erase_if(
        queue, [](const Sent& sent) { return sent.from == peer_of(0) || sent.to == peer_of(0); });
    for (const auto& member : members_) member->server.on_link_down(peer_of(0));
    fetch_ = std::make_unique<StateFetch>(options, joiner_sink_);
    fetch_->set_sources(ids(), now_);
  }
  // Blocks that came to the joiner so far.
  int blocks_from(const PeerId& peer) const {
    const auto found = blocks_.find(peer);
    return found == blocks_.end() ? 0 : found->second;
  }
  // All links to the joiner break: nothing is under way any more.
  void break_links() {
    queue.clear();
    for (const auto& member : members_) member->server.on_link_down(peer_of(0));
    for (const PeerId& id : ids()) fetch_->on_link_down(id, now_);
  }
  void seed(std::uint64_t value) { rng_ = Rng(value, 0); }

  std::deque<Sent> queue;
  std::vector<PeerId> refused;
  // Changes a body on its way to the joiner.
  std::function<void(const Sent&, Bytes&)> damage;

 private:
  TimePoint now_{};
  Rng rng_{1, 0};
  std::map<PeerId, int> blocks_;
  std::vector<std::unique_ptr<Member>> members_;
  Sink joiner_sink_{*this, peer_of(0)};
  std::unique_ptr<StateFetch> fetch_;
};

inline bool same(ByteSpan a, ByteSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// All blocks that came to the joiner so far.
inline int blocks_of(const StateGroup& group) {
  return group.blocks_from(peer_of(1)) + group.blocks_from(peer_of(2)) +
         group.blocks_from(peer_of(3));
}

}  // namespace weft
