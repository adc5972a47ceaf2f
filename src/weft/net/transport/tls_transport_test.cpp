#include "weft/net/tls_transport.h"

#include "weft/net/testing/socket_world.h"

namespace weft::tls_transport_test {

namespace {

ListenOptions loopback() {
  ListenOptions options;
  options.host = "127.0.0.1";
  return options;
}

template <bool kShortcuts, std::size_t kConnections = 0>
class TlsWorld final : public SocketWorld {
 public:
  TlsWorld() {
    ListenOptions options = loopback();
    options.shortcuts = kShortcuts;
    options.connections = kConnections;
    for (int peer = 0; peer < kPeers; ++peer) {
      add(peer, make_tls_transport(loop_, PeerIdentity::generate(), options));
    }
  }
  std::string dead_endpoint() override { return "127.0.0.1:1"; }
  bool stands(int from, int to) override {
    const auto connections = [&](int a, int b) {
      return transport(a).stats(transport(b).self()).connections;
    };
    return kConnections == 0 ||
           (connections(from, to) == kConnections && connections(to, from) == kConnections);
  }
};

class TcpWorld final : public SocketWorld {
 public:
  TcpWorld() {
    for (int peer = 0; peer < kPeers; ++peer) {
      add(peer, make_tcp_transport(loop_, PeerIdentity::generate().id(), loopback()));
    }
  }
  std::string dead_endpoint() override { return "127.0.0.1:1"; }
};

template <class World>
std::unique_ptr<TransportWorld> make_world() {
  return std::make_unique<World>();
}

INSTANTIATE_TEST_SUITE_P(
    Socket, TransportContract,
    ::testing::Values(TransportCase{"tls", make_world<TlsWorld<false>>},
                      TransportCase{"tls_in_memory", make_world<TlsWorld<true>>},
                      TransportCase{"tls_striped", make_world<TlsWorld<false, 4>>, 4},
                      TransportCase{"tcp", make_world<TcpWorld>}),
    case_name);

}  // namespace

TEST(ListenOptions, SomeAddressesAreReachedByThisMachineOnly) {
  for (const char* endpoint : {"127.0.0.1:0", "127.3.2.1:7420", "[::1]:0", "localhost:80"}) {
    EXPECT_TRUE(is_of_this_machine_only(endpoint)) << endpoint;
  }
  for (const char* endpoint :
       {"*:0", "0.0.0.0:0", "192.168.1.2:7420", "[fe80::1]:0", "a.example:1", "no endpoint"}) {
    EXPECT_FALSE(is_of_this_machine_only(endpoint)) << endpoint;
  }
}

}  // namespace weft::tls_transport_test
