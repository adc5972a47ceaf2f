// World: machines with a GroupCore each, joined by a SimNetwork. For tests.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/engine/group_core.h"
#include "weft/net/sim_network.h"

namespace weft::group_core_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline PeerId peer_id(int number) {
  return {sha256(as_bytes("group peer " + std::to_string(number)))};
}

// One machine with a GroupCore; links that break are dialled again.
class GroupPeer final : public TransportHandler, public StateSink {
 public:
  GroupPeer(SimNetwork& network, int number) : net(network), id(peer_id(number)) {
    transport = &net.start(id);
    transport->set_handler(*this);
    GroupCoreOptions options;
    options.self = id;
    options.collective.segment_bytes = 4096;
    options.collective.bucket_bytes = 64 * 1024;
    options.collective.direct_bytes_max = 1024;
    core = std::make_unique<GroupCore>(options, *this);
    net.set_alarm_body(id, [this] {
      core->on_timer(net.now());
      pump();
    });
  }

  std::uint64_t begin(GroupCall call) {
    const std::uint64_t number = core->begin(core->view().id, std::move(call), net.now());
    pump();
    return number;
  }
  const GroupOutcome* outcome(std::uint64_t call) const {
    const auto found = std::ranges::find(outcomes, call, &GroupOutcome::call);
    return found == outcomes.end() ? nullptr : &*found;
  }
  void pump() {
    for (GroupOutcome& each : core->take_outcomes()) outcomes.push_back(std::move(each));
    net.set_alarm(id, core->next_deadline());
  }

  LinkTrust first_trust(const LinkInfo& /*link*/) override { return LinkTrust::kProved; }
  void on_link_up(const LinkInfo& link) override {
    core->on_link_up(link.peer);
    pump();
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    downs.push_back(why);
    core->on_link_down(peer);
    // Found the way it was found first.
    if (id < peer) net.call_at(net.now() + milliseconds(3), [this, peer] { dial(peer); });
    pump();
  }
  void on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) override {
    const Status status = core->on_frame(from, frame);
    if (!status.ok()) transport->close(from, status);
    pump();
  }
  void on_writable(const PeerId& peer, Lane lane) override {
    if (lane == Lane::kBulk) core->on_writable(peer);
    pump();
  }
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override {
    if (type != frame_type::kGroupSegment) return {};
    return core->body_destination(from, head, body_bytes);
  }
  void dial(const PeerId& peer) { transport->connect({peer, {net.endpoint(peer)}}); }

  SimNetwork& net;
  PeerId id;
  SimTransport* transport = nullptr;
  std::unique_ptr<GroupCore> core;
  std::vector<GroupOutcome> outcomes;
  std::vector<Status> downs;

 private:
  void send(const PeerId& to, Lane lane, Frame frame) override {
    static_cast<void>(transport->send(to, lane, std::move(frame)).ok());
  }
  std::size_t queued_bytes(const PeerId& to) const override {
    return transport->queued_bytes(to, Lane::kBulk);
  }
};

struct World {
  World(int members, SimNetworkOptions options) : net(options) {
    for (int i = 0; i < members; ++i) peers.push_back(std::make_unique<GroupPeer>(net, i));
    for (int a = 0; a < members; ++a) {
      for (int b = 0; b < members; ++b) {
        if (peer(a).id < peer(b).id) peer(a).dial(peer(b).id);
      }
    }
    net.run_until(net.now() + milliseconds(100));
    install(1, members);
  }
  GroupPeer& peer(int rank) { return *peers[static_cast<std::size_t>(rank)]; }
  // A view of the first so many.
  void install(std::uint64_t number, int members) {
    View view;
    view.id = {ViewNumber(number), sha256(as_bytes("view " + std::to_string(number)))};
    for (int i = 0; i < members; ++i) {
      Member member;
      member.id = peer_id(i);
      view.members.push_back(member);
    }
    for (int i = 0; i < members; ++i) {
      peer(i).core->on_view(view);
      peer(i).pump();
    }
  }
  bool run(const std::function<bool()>& done, Duration limit = seconds(60)) {
    const TimePoint end = net.now() + limit;
    while (!done()) {
      if (net.now() > end || !net.step()) return done();
    }
    return true;
  }

  SimNetwork net;
  std::vector<std::unique_ptr<GroupPeer>> peers;
};

inline SimNetworkOptions sim(std::uint64_t seed) {
  SimNetworkOptions options;
  options.seed = seed;
  return options;
}

}  // namespace weft::group_core_test
