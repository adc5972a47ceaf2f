// Three transports over sockets of this machine on one event loop, for TransportContract.
#pragma once

#include <array>

#include "weft/base/status.h"
#include "weft/net/event_loop.h"
#include "weft/net/testing/test_limit.h"
#include "weft/net/testing/transport_contract.h"

namespace weft {

class SocketWorld : public TransportWorld {
 public:
  static constexpr Duration kSettle = std::chrono::milliseconds(30);

  Transport& transport(int peer) override { return *transports_[static_cast<std::size_t>(peer)]; }
  PeerAddress address(int peer) override { return addresses_[static_cast<std::size_t>(peer)]; }
  bool run_until(const std::function<bool()>& done) override {
    return loop_.run_until(done, kLimit);
  }
  void settle() override { loop_.run_for(kSettle); }
  void kill(int peer) override { transports_[static_cast<std::size_t>(peer)].reset(); }

 protected:
  void add(int peer, Result<std::unique_ptr<Transport>> made) {
    auto& transport = transports_[static_cast<std::size_t>(peer)];
    transport = std::move(made).value();
    addresses_[static_cast<std::size_t>(peer)] = {transport->self(), transport->endpoints()};
  }

  EventLoop loop_;
  std::array<std::unique_ptr<Transport>, kPeers> transports_;
  std::array<PeerAddress, kPeers> addresses_;
};

}  // namespace weft
