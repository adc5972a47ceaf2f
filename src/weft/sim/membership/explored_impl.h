// ExploredNetwork::Impl: what happens in the world that is being worked on; see explored_world.h.
//
// explored_world.cpp has the events and the rounds, explored_network.cpp the network as a whole.
// Threads: one owner.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/peer/parts/membership_core.h"
#include "weft/sim/membership/explored_world.h"

namespace weft {

inline constexpr std::int64_t kExploredUnixTime = 1'700'000'000;

inline std::uint32_t peer_bit(int peer) { return 1U << static_cast<unsigned>(peer); }
inline std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The sink of one peer, in whatever world is being worked on.
class Outlet final : public MembershipSink {
 public:
  Outlet(ExploredNetwork::Impl& network, int self) : network_(network), self_(self) {}

  void send(const PeerId& to, Frame frame) override;
  void connect(const PeerAddress& /*peer*/) override {}
  void close(const PeerId& peer, const Status& why) override;
  std::int64_t unix_time_s() const override { return kExploredUnixTime; }
  RoundStatus round_status() const override;
  Round committed_round() const override;
  void on_freeze() override;
  void on_view(const View& view, const ViewChange& change) override;
  void on_isolated(const IsolatedReport& /*report*/) override {}
  void on_quorum_back() override {}
  void on_removed(const Status& why) override;
  void on_left() override;
  void on_joiner(const Member& /*joiner*/) override {}
  void on_joiner_gone(const PeerId& /*joiner*/, const Status& /*why*/) override {}
  void on_refused(const PeerId& /*peer*/, const Status& /*why*/) override {}
  void on_join_accepted(const View& view, const PeerId& sponsor) override;
  void on_view_ahead(const View& view) override;
  void on_join_failed(const Status& why) override;

 private:
  ExploredPeer& me() const;

  ExploredNetwork::Impl& network_;
  int self_;
};

struct ExploredNetwork::Impl {
  explicit Impl(const ExploreOptions& given) : options(given) {
    for (int i = 0; i < count(); ++i) outlets.push_back(std::make_unique<Outlet>(*this, i));
  }

  int count() const { return options.members + options.joiners; }
  int index_of(const PeerId& id) const {
    for (int i = 0; i < count(); ++i) {
      if (world->peers[at(i)].id == id) return i;
    }
    return -1;
  }
  ExploredPeer& peer(int i) const { return world->peers[at(i)]; }
  std::vector<std::shared_ptr<const QueuedFrame>>& queue(int from, int to) const {
    return world->queues[at(from * count() + to)];
  }
  // The membership of peer `i`, a copy that no other world shares.
  Membership& own(int i) {
    if (!mine[at(i)]) {
      mine[at(i)] = peer(i).membership->copy();
      peer(i).membership = mine[at(i)];
    }
    return *mine[at(i)];
  }
  void begin(ExploredWorld& which) {
    world = &which;
    mine.assign(at(count()), nullptr);
  }
  void end() {
    for (int i = 0; i < count(); ++i) {
      if (!mine[at(i)]) continue;
      peer(i).fingerprint = mine[at(i)]->fingerprint();
      mine[at(i)].reset();
    }
  }
  void check(const std::function<void(Invariants&)>& tell) const {
    auto changed = std::make_shared<Invariants>(*world->invariants);
    tell(*changed);
    world->invariants = std::move(changed);
  }
  void fail(const std::string& text) const {
    if (world->fault.empty()) world->fault = text;
  }

  void push(int from, int to, const Frame& frame) const;
  bool is_void(int from, int to, const QueuedFrame& frame) const;
  void drop_void() const;
  void deliver(int to, int from);
  void lose(int who, int dead);
  void fire(int who);
  void tell(int who, int by);
  void kill(int who);
  void result(int who);
  void on_done(int who, int from, ByteSpan head);
  void commit(int who);
  void commit_if_all(int who);
  bool fetch(int who);
  void hear_all(int who);
  bool deliver_everything();
  void run_until(const std::function<bool()>& enough, Duration limit);
  View newest() const;
  bool healed() const;
  bool lags(int who, int by) const;

  const ExploreOptions options;
  std::vector<std::unique_ptr<Outlet>> outlets;
  ExploredWorld* world = nullptr;
  std::vector<std::shared_ptr<Membership>> mine;
};

}  // namespace weft
