// ParkingWorld: simulated machines that are all linked through ParkingTransports, for tests.
//
// Each peer counts what it sends to each other one and checks what arrives: in order, once, and
// only while the link is up.
// Threads: one owner.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/status.h"
#include "weft/net/parking_transport.h"
#include "weft/net/sim_network.h"
#include "weft/wire/codec.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/parking_message.h"

namespace weft {

// What a member does with packets for others.
enum class Forwarding { kHonest, kDropsAll, kRepeatsAll, kAlters };

class ParkingPeer final : public TransportHandler {
 public:
  ParkingPeer(SimNetwork& network, const PeerId& self, const ParkingOptions& options,
              std::uint64_t seed)
      : net(network),
        id(self),
        inner(network.start(self)),
        transport(options, inner, network.clock(), Rng(seed)) {
    inner.set_handler(*this);
    transport.set_handler(above_);
    above_.on_down = [this](const PeerId& peer) { redial_later(peer); };
    net.set_alarm_body(id, [this] {
      transport.on_timer();
      wake();
    });
  }

  ~ParkingPeer() override { *alive_ = false; }
  ParkingPeer(const ParkingPeer&) = delete;
  ParkingPeer& operator=(const ParkingPeer&) = delete;

  // Numbers the frames to `to` from 1 in each life of the link; false without a link.
  bool send(const PeerId& to, Lane lane, std::size_t bytes = 10) {
    std::uint64_t& last = above_.sent[{to, lane}];
    Bytes head = Writer().u64(last + 1).u64(above_.life_sent[to]).take();
    head.resize(head.size() + bytes, std::uint8_t{7});
    const bool sent = transport.send(to, lane, {kType, std::move(head), {}}).ok();
    if (sent) ++last;
    wake();
    return sent;
  }
  // A frame is the first thing on each link.
  void greet() {
    above_.on_up = [this](const PeerId& peer) { send(peer, Lane::kControl); };
  }
  void connect(const PeerId& to) {
    transport.connect({to, {net.endpoint(to)}});
    wake();
  }
  void set_ring(const std::vector<PeerId>& members) {
    std::vector<PeerAddress> addresses;
    addresses.reserve(members.size());
    for (const PeerId& member : members) addresses.push_back({member, {net.endpoint(member)}});
    transport.set_ring(std::move(addresses), {});
    wake();
  }
  void wake() { net.set_alarm(id, transport.next_deadline()); }
  std::uint64_t received(const PeerId& from, Lane lane) const {
    const auto found = above_.received.find({from, lane});
    return found == above_.received.end() ? 0 : found->second;
  }
  std::uint64_t total_received() const { return above_.total_received; }
  int ups(const PeerId& peer) const { return count(above_.ups, peer); }
  int downs(const PeerId& peer) const { return count(above_.downs, peer); }
  const std::string& fault() const { return above_.fault; }
  const Status& last_why() const { return above_.why; }

  // --- TransportHandler, of the connections.
  LinkTrust first_trust(const LinkInfo& link) override { return transport.first_trust(link); }
  void on_link_up(const LinkInfo& link) override {
    transport.on_link_up(link);
    wake();
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    transport.on_link_down(peer, why);
    wake();
  }
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override {
    ++arrived[frame.type];
    if (frame.type == frame_type::kRouted && forwarding != Forwarding::kHonest) {
      Result<RoutedMessage> packet = RoutedMessage::decode(frame.head);
      ASSERT_TRUE(packet.ok()) << packet.status().to_string();
      if (packet->target != id) {
        if (forwarding == Forwarding::kDropsAll) return;
        if (forwarding == Forwarding::kRepeatsAll) transport.on_frame(from, lane, frame);
        if (forwarding == Forwarding::kAlters) {
          packet->sealed[packet->sealed.size() / 2] ^= 1;
          const Bytes altered = packet->encode();
          transport.on_frame(from, lane, {frame.type, altered, {}});
          return wake();
        }
      }
    }
    transport.on_frame(from, lane, frame);
    wake();
  }
  void on_writable(const PeerId& peer, Lane lane) override { transport.on_writable(peer, lane); }

  static constexpr std::uint8_t kType = 0x30;
  SimNetwork& net;
  const PeerId id;
  SimTransport& inner;
  ParkingTransport transport;
  Forwarding forwarding = Forwarding::kHonest;
  // Frames of each type that the connections have brought.
  std::map<std::uint8_t, int> arrived;
  // Links that are down are dialled again, as a membership does.
  bool redials = true;

 private:
  using Flow = std::pair<PeerId, Lane>;
  void redial_later(const PeerId& peer) {
    if (!redials) return;
    net.call_at(net.now() + std::chrono::milliseconds(500), [this, alive = alive_, peer] {
      if (*alive && net.running(id)) connect(peer);
    });
  }
  static int count(const std::map<PeerId, int>& counts, const PeerId& peer) {
    const auto found = counts.find(peer);
    return found == counts.end() ? 0 : found->second;
  }

  // What the links above show.
  struct Above final : public TransportHandler {
    LinkTrust first_trust(const LinkInfo& /*link*/) override { return LinkTrust::kProved; }
    void on_link_up(const LinkInfo& link) override {
      if (is_up[link.peer]) fault = "up twice";
      is_up[link.peer] = true;
      ++ups[link.peer];
      ++life_sent[link.peer];
      for (const Lane lane : {Lane::kControl, Lane::kBulk}) {
        sent[{link.peer, lane}] = received[{link.peer, lane}] = 0;
      }
      life_received.erase(link.peer);
      if (on_up) on_up(link.peer);
    }
    void on_link_down(const PeerId& peer, const Status& status) override {
      if (is_up[peer]) {
        ++downs[peer];
        why = status;
      }
      is_up[peer] = false;
      on_down(peer);
    }
    void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override {
      Reader in("test", frame.head);
      const std::uint64_t number = in.u64("number");
      const std::uint64_t life = in.u64("life");
      if (!is_up[from]) fault = "a frame without a link";
      if (life_received.emplace(from, life).first->second != life) fault = "of another life";
      std::uint64_t& last = received[{from, lane}];
      if (number != last + 1) {
        fault = "frame " + std::to_string(number) + " after " + std::to_string(last);
      }
      last = number;
      ++total_received;
    }
    void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}

    std::map<PeerId, bool> is_up;
    std::map<PeerId, int> ups;
    std::map<PeerId, int> downs;
    std::map<Flow, std::uint64_t> sent;
    std::map<Flow, std::uint64_t> received;
    std::map<PeerId, std::uint64_t> life_sent;
    std::map<PeerId, std::uint64_t> life_received;
    std::uint64_t total_received = 0;
    Status why;
    std::string fault;
    std::function<void(const PeerId&)> on_down;
    std::function<void(const PeerId&)> on_up;
  };
  Above above_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class ParkingWorld {
 public:
  explicit ParkingWorld(int count, std::uint64_t seed = 1, SimNetworkOptions network = {})
      : seed_(seed), net(with_seed(network, seed)) {
    for (int i = 0; i < count; ++i) {
      options.mesh_members = 8;
      ids.push_back({sha256(as_bytes("parking peer " + std::to_string(i)))});
      start(i);
    }
  }

  void start(int i) {
    const auto at = static_cast<std::size_t>(i);
    if (peers.size() <= at) peers.resize(at + 1);
    peers[at].reset();
    peers[at] = std::make_unique<ParkingPeer>(net, ids[at], options,
                                              seed_ * 1000 + static_cast<std::uint64_t>(i));
  }
  void crash(int i, SimCrash how = SimCrash::kKilled) {
    net.crash(ids[static_cast<std::size_t>(i)], how);
  }
  ParkingPeer& operator[](int i) { return *peers[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(peers.size()); }
  bool runs(int i) const { return net.running(ids[static_cast<std::size_t>(i)]); }

  void connect_all() {
    for (int a = 0; a < size(); ++a) {
      for (int b = 0; b < a; ++b) (*this)[a].connect(ids[static_cast<std::size_t>(b)]);
    }
    run_for(std::chrono::milliseconds(200));
  }
  void set_ring_of_all(const std::vector<PeerId>& ring) {
    for (int i = 0; i < size(); ++i) {
      if (runs(i)) (*this)[i].set_ring(ring);
    }
  }
  // All linked, and all that can be parked is.
  void park_all() {
    connect_all();
    set_ring_of_all(ids);
    run_for(std::chrono::seconds(20));
  }
  void run_for(Duration duration) { net.run_until(net.now() + duration); }
  std::size_t connections(int i) { return (*this)[i].transport.connected().size(); }
  // No frame was lost, repeated, reordered, or given without a link.
  void expect_no_faults() {
    for (const auto& peer : peers) EXPECT_EQ(peer->fault(), "") << peer->id.short_name();
  }

 private:
  static SimNetworkOptions with_seed(SimNetworkOptions options, std::uint64_t seed) {
    options.seed = seed;
    return options;
  }

  std::uint64_t seed_;

 public:
  ParkingOptions options;
  SimNetwork net;
  std::vector<PeerId> ids;
  std::vector<std::unique_ptr<ParkingPeer>> peers;
};

}  // namespace weft
