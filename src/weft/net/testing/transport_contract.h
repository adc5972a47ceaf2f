// What every Transport must do, as one suite of tests: TransportContract, in
// transport_contract_test.cpp. A transport joins by a TransportWorld and one line:
//
//   INSTANTIATE_TEST_SUITE_P(Sim, TransportContract,
//                            ::testing::Values(TransportCase{"sim", make_sim_world}), case_name);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/status.h"
#include "weft/net/transport.h"

namespace weft {

// Three peers of one kind of transport, whose time the tests control.
class TransportWorld {
 public:
  static constexpr int kPeers = 3;

  virtual ~TransportWorld() = default;
  virtual Transport& transport(int peer) = 0;
  virtual PeerAddress address(int peer) = 0;
  // An endpoint of the right form at which nobody listens.
  virtual std::string dead_endpoint() = 0;
  // Lets time pass until done() returns true; false if a generous limit passed first.
  virtual bool run_until(const std::function<bool()>& done) = 0;
  // True if both sides have finished setting up a link.
  virtual bool stands(int /*from*/, int /*to*/) { return true; }
  // Lets time pass until frames that are under way have arrived.
  virtual void settle() = 0;
  // Ends the peer's process, as if it were killed.
  virtual void kill(int peer) = 0;
};

struct TransportCase {
  std::string name;
  std::unique_ptr<TransportWorld> (*make)() = nullptr;
  // The number of connections of the bulk lane of a link.
  std::size_t connections = 1;
};

inline std::string case_name(const ::testing::TestParamInfo<TransportCase>& info) {
  return info.param.name;
}

// Records its calls.
class RecordingHandler : public TransportHandler {
 public:
  struct Received {
    PeerId from;
    Lane lane{};
    std::uint8_t type = 0;
    Bytes head;
    Bytes body;
  };
  struct Down {
    PeerId peer;
    Status why;
  };

  LinkTrust first_trust(const LinkInfo& /*link*/) override {
    note_call();
    return trust;
  }
  void on_link_up(const LinkInfo& link) override {
    note_call();
    ups.push_back(link);
    if (when_up) when_up(link);
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    note_call();
    downs.push_back({peer, why});
  }
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override {
    note_call();
    if (!lent.empty() && frame.body.data() == lent.data()) ++bodies_in_place;
    frames.push_back({from, lane, frame.type, Bytes(frame.head.begin(), frame.head.end()),
                      Bytes(frame.body.begin(), frame.body.end())});
    if (when_frame) when_frame(frames.back());
  }
  void on_writable(const PeerId& peer, Lane lane) override {
    note_call();
    if (lane == Lane::kBulk) writable.push_back(peer);
  }
  void on_refused(const std::string& /*remote*/, const Status& why) override {
    note_call();
    refusals.push_back(why);
  }
  MutableByteSpan body_destination(const PeerId& /*from*/, std::uint8_t /*type*/, ByteSpan /*head*/,
                                   std::size_t body_bytes) override {
    note_call();
    if (lent.size() < body_bytes) return {};
    return MutableByteSpan(lent).first(body_bytes);
  }

  // What first_trust() returns for every link that comes up.
  LinkTrust trust = LinkTrust::kProved;
  std::vector<LinkInfo> ups;
  std::vector<Down> downs;
  std::vector<Received> frames;
  std::vector<PeerId> writable;
  std::vector<Status> refusals;
  // The destination of bodies, if it is large enough.
  Bytes lent;
  int bodies_in_place = 0;
  std::function<void(const LinkInfo&)> when_up;
  std::function<void(const Received&)> when_frame;
  // True while the test is inside a call to the transport.
  bool inside_call = false;
  int calls_inside_call = 0;

 private:
  void note_call() {
    if (inside_call) ++calls_inside_call;
  }
};

class TransportContract : public ::testing::TestWithParam<TransportCase> {
 protected:
  void SetUp() override;
  void TearDown() override;

  Transport& transport(int peer) { return world_->transport(peer); }
  RecordingHandler& handler(int peer) { return handlers_[static_cast<std::size_t>(peer)]; }
  PeerId id(int peer) { return world_->address(peer).id; }
  // Calls body(transport) and checks that no handler was called meanwhile.
  template <class Body>
  auto call(int peer, Body body) {
    handler(peer).inside_call = true;
    struct Leave {
      RecordingHandler& handler;
      ~Leave() { handler.inside_call = false; }
    } leave{handler(peer)};
    return body(transport(peer));
  }
  void connect(int from, int to);
  Status send(int from, int to, Lane lane, std::uint8_t type, Bytes head, Bytes body = {});
  // Makes a link from one to the other, up on both sides.
  void link(int from, int to);
  bool run_until(const std::function<bool()>& done) { return world_->run_until(done); }

  // These outlive the world.
  RecordingHandler handlers_[TransportWorld::kPeers];
  std::unique_ptr<TransportWorld> world_;
};

}  // namespace weft
