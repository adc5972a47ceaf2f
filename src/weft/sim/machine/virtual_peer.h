// VirtualPeer: what a virtual machine runs: a protocol core, and what it does between two events.
//
// The core's events come from the simulated network. After each of them settle() does what the core
// asks for, and the machine's one alarm is set anew. Any core without threads, sockets and clocks
// of its own fits behind it: one whose members agree on rounds, one whose peers gossip.
//
// Threads: one owner, the driver of the SimNetwork.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "weft/base/status.h"
#include "weft/net/sim_network.h"

namespace weft::sim {

class VirtualPeer : public TransportHandler {
 public:
  // Starts the machine. Borrows `network`, which must outlive this.
  VirtualPeer(SimNetwork& network, const PeerId& id)
      : network_(network), id_(id), transport_(network.start(id)) {
    transport_.set_handler(*this);
    network_.set_alarm_body(id_, [this] {
      on_time();
      wake();
    });
  }
  ~VirtualPeer() override { *alive_ = false; }
  VirtualPeer(const VirtualPeer&) = delete;
  VirtualPeer& operator=(const VirtualPeer&) = delete;

  const PeerId& id() const { return id_; }
  bool alive() const { return *alive_; }
  // Nothing of this is called any more.
  void crash(SimCrash how) {
    *alive_ = false;
    network_.crash(id_, how);
  }
  const SimTransport& transport() const { return transport_; }
  // It came to the end of the run.
  virtual bool finished() const = 0;
  // Why it goes on no more; ok while it does.
  virtual const Status& failure() const = 0;

  // --- TransportHandler.
  void on_link_up(const LinkInfo& link) final {
    handler().on_link_up(link);
    wake();
  }
  void on_link_down(const PeerId& peer, const Status& why) final {
    handler().on_link_down(peer, why);
    wake();
  }
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) final {
    handler().on_frame(from, lane, frame);
    wake();
  }
  void on_writable(const PeerId& peer, Lane lane) final {
    handler().on_writable(peer, lane);
    wake();
  }
  void on_refused(const std::string& remote_endpoint, const Status& why) final {
    handler().on_refused(remote_endpoint, why);
    wake();
  }
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) final {
    return handler().body_destination(from, type, head, body_bytes);
  }

 protected:
  // The core.
  virtual TransportHandler& handler() = 0;
  virtual void on_time() = 0;
  virtual TimePoint next_deadline() const = 0;
  // Does what the core asks for, until it asks for nothing.
  virtual void settle() = 0;

  // After anything that happened to the core, also by a call from outside.
  void wake() {
    if (!*alive_) return;
    settle();
    if (*alive_) network_.set_alarm(id_, next_deadline());
  }
  // In virtual time, unless the machine has crashed by then; wake() follows.
  void after(Duration delay, std::function<void()> body) {
    network_.call_at(network_.now() + delay, [this, alive = alive_, body = std::move(body)] {
      if (!*alive) return;
      body();
      wake();
    });
  }
  SimNetwork& network() { return network_; }
  SimTransport& own_transport() { return transport_; }

 private:
  SimNetwork& network_;
  const PeerId id_;
  SimTransport& transport_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft::sim
