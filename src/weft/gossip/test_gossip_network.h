// A network of gossiping members in virtual time, all drawn from one seed, for the tests.
//
// Each member's parameters move by a function of its own after each mix, as a trainer's would.
// Frames are delayed, may overtake each other, are lost singly (which no link of ours does, and the
// core must bear) or with their link; members crash with and without their system telling the
// others, and come in.
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/rng.h"
#include "weft/gossip/gossip_core.h"
#include "weft/wire/codec.h"

namespace weft {

// A key and signatures that repeat with the seed; nobody is kept out by them. Large groups check
// millions of them, hence a fast hash.
inline RecordSignature test_signature(const PublicKey& key, ByteSpan message) {
  Bytes signed_bytes(key.begin(), key.end());
  signed_bytes.insert(signed_bytes.end(), message.begin(), message.end());
  const Hash128 mac = xxh3_128(signed_bytes);
  RecordSignature signature{};
  std::copy(mac.begin(), mac.end(), signature.begin());
  return signature;
}
inline RecordSigner test_signer(std::uint64_t number) {
  Writer key;
  key.text("key").u64(number);
  const PublicKey made = sha256(key.written());
  return {made, [made](ByteSpan message) { return test_signature(made, message); }};
}
inline bool check_test_signature(const PublicKey& key, ByteSpan message,
                                 const RecordSignature& signature) {
  return signature == test_signature(key, message);
}

inline Topology random_regular(int degree, std::uint64_t seed) {
  return *Topology::parse("random_regular:degree=" + std::to_string(degree), seed);
}

struct TestGossipOptions {
  std::uint64_t seed = 1;
  Duration delay_min = std::chrono::milliseconds(1);
  Duration delay_spread = std::chrono::milliseconds(9);
  Duration compute_min = std::chrono::milliseconds(5);
  Duration compute_spread = std::chrono::milliseconds(20);
  bool reorder = false;
  double lost_frames = 0;
  double broken_links = 0;  // for each frame sent
  // What all members have in common.
  GossipOptions gossip{};
};

class TestGossipNetwork {
 public:
  // The parameters after round `round`, from those before and after the mix.
  using Update = std::function<void(std::size_t member, Round round, std::span<const float> before,
                                    std::span<float> mixed)>;

  struct Member {
    std::unique_ptr<GossipCore> core;
    std::vector<float> values;
    std::vector<GossipMix> mixes;
    bool running = true;
    std::optional<TimePoint> tick_at;
    TimePoint finished_at{};   // the last finish()
    Duration longest_pause{};  // from await() to finish()
    Duration longest_gap{};    // between two rounds
    TimePoint awaits_since{};
    bool computes = false;
    Duration stalls{};
    std::uint64_t closed_corrupt = 0;
  };

  TestGossipNetwork(TestGossipOptions options, Update update)
      : options_(std::move(options)), update_(std::move(update)), rng_(options_.seed) {}

  // Where newcomers dial at first: any members that run. `change` is this member's alone.
  std::size_t add(std::vector<float> values, bool newcomer, const std::vector<std::size_t>& dial,
                  const std::function<void(GossipOptions& own)>& change = {}) {
    GossipOptions own = options_.gossip;
    own.signer = test_signer(options_.seed * 1'000'003 + members_.size());
    own.elements = values.size();
    own.newcomer = newcomer;
    own.endpoints = {"sim:" + std::to_string(members_.size())};
    own.book.check = check_test_signature;
    if (change) change(own);
    Member member;
    member.core = std::make_unique<GossipCore>(std::move(own), now_);
    member.values = std::move(values);
    member.finished_at = now_;
    const std::size_t index = members_.size();
    members_.push_back(std::move(member));
    by_id_.emplace(id(index), index);
    for (const std::size_t other : dial) connect(index, other);
    settle(index);
    return index;
  }

  Member& member(std::size_t index) { return members_.at(index); }
  std::size_t size() const { return members_.size(); }
  PeerId id(std::size_t index) const { return members_[index].core->self(); }
  TimePoint now() const { return now_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t frames() const { return frames_; }

  void crash(std::size_t index, bool links_end) {
    members_[index].running = false;
    std::vector<std::size_t> others;
    for (const auto& [pair, life] : links_) {
      if (pair.first == index) others.push_back(pair.second);
    }
    for (const std::size_t other : others) {
      links_.erase({index, other});
      links_.erase({other, index});
      if (links_end) later(delay(), [this, index, other] { link_down(other, index); });
    }
  }
  // The member's next computation takes so much longer.
  void stall(std::size_t index, Duration more) { members_[index].stalls = more; }
  void leave(std::size_t index) {
    members_[index].core->leave(now_);
    settle(index);
  }
  // Hands bytes to a member as if another had sent them.
  void inject(std::size_t from, std::size_t to, std::uint8_t type, Bytes head, SharedBytes body) {
    members_[to].core->receive(id(from), type, head, std::move(body), now_);
    settle(to);
  }
  bool linked(std::size_t a, std::size_t b) const { return links_.contains({a, b}); }
  void connect(std::size_t a, std::size_t b) {
    later(delay(), [this, a, b] {
      if (!members_[a].running) return;
      if (!members_[b].running) return link_down(a, b);
      if (a == b || links_.contains({a, b})) return;
      links_[{a, b}] = links_[{b, a}] = ++lives_;
      members_[a].core->link_up(id(b), now_);
      members_[b].core->link_up(id(a), now_);
      settle(a);
      settle(b);
    });
  }

  // One event; false if none is left.
  bool step() {
    if (events_.empty()) return false;
    auto first = events_.extract(events_.begin());
    now_ = first.key().first;
    first.mapped()();
    return true;
  }
  // Until `done`; false if that does not come about within so much virtual time.
  bool run_until(const std::function<bool()>& done, Duration limit) {
    const TimePoint end = now_ + limit;
    while (!done()) {
      if (events_.empty() || events_.begin()->first.first > end || !step()) return false;
    }
    return true;
  }
  // Until all that run have finished `round`.
  bool run_rounds(Round round, Duration limit) {
    return run_until(
        [&] {
          return std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
            return !member.running || (!member.mixes.empty() && member.mixes.back().round >= round);
          });
        },
        limit);
  }

  Hash128 event_hash() const {
    Writer out;
    for (const Member& member : members_) {
      out.raw(member.core->event_hash()).raw(member.core->fingerprint());
      out.raw(xxh3_128(as_bytes(std::span<const float>(member.values))));
    }
    return xxh3_128(out.written());
  }

 private:
  using Pair = std::pair<std::size_t, std::size_t>;

  Duration drawn(Duration min, Duration spread) {
    return min + std::chrono::duration_cast<Duration>(rng_.uniform() * spread);
  }
  Duration delay() { return drawn(options_.delay_min, options_.delay_spread); }
  void later(Duration wait, std::function<void()> body) { at(now_ + wait, std::move(body)); }
  void at(TimePoint when, std::function<void()> body) {
    events_.emplace(std::pair(std::max(when, now_), ++numbers_), std::move(body));
  }

  void link_down(std::size_t at_member, std::size_t other) {
    if (!members_[at_member].running) return;
    members_[at_member].core->link_down(id(other), now_);
    settle(at_member);
  }
  void break_link(std::size_t a, std::size_t b) {
    if (links_.erase({a, b}) == 0) return;
    links_.erase({b, a});
    last_arrival_.erase({a, b, 0});
    later(delay(), [this, a, b] { link_down(a, b); });
    later(delay(), [this, a, b] { link_down(b, a); });
  }

  void deliver(std::size_t from, GossipSend send) {
    const auto to = by_id_.at(send.to);
    const auto link = links_.find({from, to});
    if (link == links_.end()) return;
    bytes_ += send.frame.head.size() + send.frame.body.size();
    ++frames_;
    if (rng_.chance(options_.lost_frames)) return;
    if (options_.broken_links > 0 && rng_.chance(options_.broken_links)) {
      return break_link(from, to);
    }
    TimePoint when = now_ + delay();
    TimePoint& last = last_arrival_[{from, to, static_cast<int>(lane_index(send.lane))}];
    if (!options_.reorder) when = std::max(when, last);
    last = when;
    const std::uint64_t life = link->second;
    auto frame = std::make_shared<GossipSend>(std::move(send));
    at(when, [this, from, to, life, frame] {
      const auto now_linked = links_.find({from, to});
      if (now_linked == links_.end() || now_linked->second != life) return;
      members_[to].core->receive(id(from), frame->frame.type, frame->frame.head, frame->frame.body,
                                 now_);
      settle(to);
    });
  }

  // Does what the core asks for, and what a trainer would do next.
  void settle(std::size_t index) {
    if (!members_[index].running) return;
    GossipCore& core = *members_[index].core;
    for (bool again = true; again;) {
      for (GossipAction& action : core.take_actions()) take(index, action);
      again = advance(index);
    }
    Member& member = members_[index];
    const std::optional<TimePoint> next = core.next_deadline();
    if (!next || (member.tick_at && *member.tick_at <= *next && *member.tick_at > now_)) return;
    member.tick_at = std::max(*next, now_ + std::chrono::microseconds(1));
    at(*member.tick_at, [this, index, when = *member.tick_at] {
      Member& due = members_[index];
      if (!due.running || due.tick_at != when) return;
      due.tick_at.reset();
      due.core->tick(now_);
      settle(index);
    });
  }

  void take(std::size_t index, GossipAction& action) {
    if (auto* const send = std::get_if<GossipSend>(&action)) {
      deliver(index, std::move(*send));
    } else if (const auto* const dial = std::get_if<GossipDial>(&action)) {
      connect(index, by_id_.at(dial->peer.id));
    } else if (const auto* const close = std::get_if<GossipClose>(&action)) {
      if (close->why.code() == Code::kCorrupt) ++members_[index].closed_corrupt;
      break_link(index, by_id_.at(close->peer));
    }
  }

  bool advance(std::size_t index) {
    Member& member = members_[index];
    GossipCore& core = *member.core;
    if (auto fetched = core.take_fetched()) fetched->copy_to(member.values);
    if (core.phase() == GossipPhase::kIdle) {
      // Those who are sent it share these bytes.
      auto sent = std::make_shared<const std::vector<float>>(member.values);
      const ByteSpan view = as_bytes(std::span<const float>(*sent));
      WEFT_CHECK(core.begin(SharedBytes(sent, view), now_).ok());
      member.computes = true;
      const Duration computing = drawn(options_.compute_min, options_.compute_spread) +
                                 std::exchange(member.stalls, Duration{});
      later(computing, [this, index] {
        Member& done = members_[index];
        if (!done.running || done.core->phase() != GossipPhase::kOpen) return;
        done.computes = false;
        done.awaits_since = now_;
        done.core->await(now_);
        settle(index);
      });
      return true;
    }
    if (core.phase() != GossipPhase::kOpen || member.computes || !core.ready()) return false;
    std::vector<float> mixed(member.values.size());
    const Round round = core.round();
    member.mixes.push_back(core.finish(mixed, now_));
    if (update_) update_(index, round, member.values, mixed);
    member.values = std::move(mixed);
    member.longest_pause = std::max(member.longest_pause, now_ - member.awaits_since);
    if (member.mixes.size() > 1) {
      member.longest_gap = std::max(member.longest_gap, now_ - member.finished_at);
    }
    member.finished_at = now_;
    return true;
  }

  const TestGossipOptions options_;
  const Update update_;
  Rng rng_;
  TimePoint now_{};
  std::vector<Member> members_;
  std::map<PeerId, std::size_t> by_id_;
  std::map<Pair, std::uint64_t> links_;
  std::map<std::tuple<std::size_t, std::size_t, int>, TimePoint> last_arrival_;
  std::map<std::pair<TimePoint, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t numbers_ = 0;
  std::uint64_t lives_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t frames_ = 0;
};

struct IdleTraffic {
  double bytes_per_member_second = 0;  // sent and received, with 6 for each frame
  std::size_t least_known = 0;         // members in the smallest book
};

// That of a group that makes a round a second with one value each, on random regular graphs of
// degree 4. Its first eight rounds are not counted, in which members come.
inline IdleTraffic idle_gossip_traffic(int members, std::uint64_t rounds) {
  TestGossipOptions options;
  options.compute_min = std::chrono::seconds(1);
  options.compute_spread = Duration();
  options.gossip.topology = random_regular(4, 1);
  options.gossip.start_members = static_cast<std::size_t>(members);
  // Links to neighbours of the time when members knew only some end in the first rounds.
  options.gossip.idle_for = std::chrono::seconds(2);
  TestGossipNetwork network(options, {});
  for (int i = 0; i < members; ++i) {
    const auto endpoints = [i](GossipOptions& own) {
      own.endpoints = {"192.0.2.101:" + std::to_string(20000 + i)};
    };
    std::vector<std::size_t> dialled;
    if (i > 0) dialled.push_back(static_cast<std::size_t>(i - 1) / 2);
    network.add({0.0F}, false, dialled, endpoints);
  }
  constexpr std::uint64_t kFirstRounds = 8;
  WEFT_CHECK(network.run_rounds(Round(kFirstRounds), std::chrono::hours(1)));
  const std::uint64_t before = network.bytes() + 6 * network.frames();
  const TimePoint begun = network.now();
  WEFT_CHECK(network.run_rounds(Round(kFirstRounds + rounds), std::chrono::hours(1)));
  IdleTraffic idle;
  idle.bytes_per_member_second =
      2 * static_cast<double>(network.bytes() + 6 * network.frames() - before) /
      (static_cast<double>(members) * to_seconds(network.now() - begun));
  idle.least_known = static_cast<std::size_t>(members);
  for (std::size_t i = 0; i < network.size(); ++i) {
    idle.least_known = std::min(idle.least_known, network.member(i).core->members());
  }
  return idle;
}

}  // namespace weft
