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

// Three peers of one kind of transport, and time for them.
class TransportWorld {
 public:
  static constexpr int kPeers = 3;

  virtual ~TransportWorld() = default;
  virtual Transport& transport(int peer) = 0;
  virtual PeerAddress address(int peer) = 0;
  // An endpoint of the right form where nobody listens.
  virtual std::string dead_endpoint() = 0;
  // Lets time pass until done(); false when a generous limit passed first.
  virtual bool run_until(const std::function<bool()>& done) = 0;
  // Nothing more is being done to a link that is up on both sides.
  virtual bool stands(int /*from*/, int /*to*/) { return true; }
  // Lets time pass long enough for frames that are under way to arrive.
  virtual void settle() = 0;
  // The peer's process is gone, as if killed.
  virtual void kill(int peer) = 0;
};

struct TransportCase {
  std::string name;
  std::unique_ptr<TransportWorld> (*make)() = nullptr;
  // Of the bulk lane of a link.
  std::size_t connections = 1;
};

inline std::string case_name(const ::testing::TestParamInfo<TransportCase>& info) {
  return info.param.name;
}

// Records what it is told.
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

  // What first_trust() answers for every link that comes up.
  LinkTrust trust = LinkTrust::kProved;
  std::vector<LinkInfo> ups;
  std::vector<Down> downs;
  std::vector<Received> frames;
  std::vector<PeerId> writable;
  std::vector<Status> refusals;
  // Where bodies go, if it is large enough.
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
  // A link from one to the other, up on both sides.
  void link(int from, int to);
  bool run_until(const std::function<bool()>& done) { return world_->run_until(done); }

  // Outlive the world.
  RecordingHandler handlers_[TransportWorld::kPeers];
  std::unique_ptr<TransportWorld> world_;
};

}  // namespace weft
