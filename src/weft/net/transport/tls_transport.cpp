#include "weft/net/tls_transport.h"

#include <utility>

#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <fmt/format.h>

#include "weft/base/log.h"
#include "weft/net/port_map.h"
#include "weft/net/stream/address_scope.h"
#include "weft/net/stream/loop_impl.h"
#include "weft/net/stream/socket.h"
#include "weft/net/stream/tls_stream.h"
#include "weft/net/transport/link_transport.h"
#include "weft/wire/link_message.h"
#include "weft/wire/reach_message.h"

namespace weft {

namespace {

using asio::ip::tcp;

constexpr std::size_t kDialAddressesMax = 8;
constexpr std::string_view kAllHosts = "*";

class TcpMedium : public Medium {
 public:
  TcpMedium(EventLoop& loop, Duration dead_after)
      : resolver_(loop.impl().context), dead_after_(dead_after) {}

  void resolve(const std::string& endpoint, Resolved done) override {
    const Result<HostPort> parsed = parse_host_port(endpoint);
    if (!parsed.ok()) return done(parsed.status());
    asio::error_code error;
    const asio::ip::address numeric = asio::ip::make_address(parsed->host, error);
    if (!error) return done(std::vector<SocketAddress>{tcp::endpoint(numeric, parsed->port)});
    resolver_.async_resolve(parsed->host, std::to_string(parsed->port),
                            tcp::resolver::numeric_service,
                            [done = std::move(done)](const asio::error_code& failed,
                                                     const tcp::resolver::results_type& found) {
                              if (failed) return done(unavailable(failed.message()));
                              std::vector<SocketAddress> addresses;
                              for (const auto& entry : found) {
                                if (addresses.size() < kDialAddressesMax)
                                  addresses.emplace_back(entry.endpoint());
                              }
                              done(std::move(addresses));
                            });
  }
  std::unique_ptr<ByteStream> dial(int socket, Lane /*lane*/) override {
    return make_plain_stream(socket);
  }
  std::unique_ptr<ByteStream> accept(int socket) override { return make_plain_stream(socket); }
  Status prepare(int socket) override {
    prepare_tcp(socket, dead_after_);
    return {};
  }
  bool reaches_far() const override { return true; }

 private:
  tcp::resolver resolver_;
  Duration dead_after_;
};

class TlsMedium final : public TcpMedium {
 public:
  TlsMedium(EventLoop& loop, Duration dead_after, std::unique_ptr<TlsContext> context)
      : TcpMedium(loop, dead_after), context_(std::move(context)) {}
  bool proves_keys() const override { return true; }
  std::unique_ptr<ByteStream> dial(int socket, Lane /*lane*/) override {
    return context_->dial(socket);
  }
  std::unique_ptr<ByteStream> accept(int socket) override { return context_->accept(socket); }

 private:
  std::unique_ptr<TlsContext> context_;
};

// Names are resolved here and now: a transport is made before its loop runs.
Result<Socket> listen_as(const ListenOptions& options) {
  if (options.host == kAllHosts) return listen_on_all(options.port);
  asio::error_code error;
  const asio::ip::address numeric = asio::ip::make_address(options.host, error);
  if (!error) return listen_on(tcp::endpoint(numeric, options.port));
  asio::io_context context;
  tcp::resolver resolver(context);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error || found.empty()) return unavailable(error.message());
  return listen_on(found.begin()->endpoint());
}

LinkTransport::Endpoints advertised(const ListenOptions& options, const tcp::endpoint& bound) {
  return [first = options.advertise, bound] {
    std::vector<std::string> all = first;
    std::vector<std::string> own = {to_string(HostPort{bound.address().to_string(), bound.port()})};
    if (bound.address().is_unspecified()) {
      own = interface_endpoints(bound.port(), bound.address().is_v6());
    }
    all.insert(all.end(), own.begin(), own.end());
    return all;
  };
}

// The bulk lane's port of its own. Nobody is told of it; without it bulk connections come from any
// port, and hole punching fails where routers translate those.
void listen_for_bulk(LinkTransport& transport, tcp::endpoint control) {
  const std::uint16_t control_port = control.port();
  control.port(0);
  Result<Socket> socket = listen_on(control);
  if (!socket.ok()) return;
  const Result<SocketAddress> address = local_address(socket->get());
  if (!address.ok()) return;
  tcp::endpoint bulk;
  std::memcpy(bulk.data(), address->data(), address->size());
  transport.set_lane_ports({control_port, bulk.port()});
  transport.listen(std::move(socket).value());
}

Result<std::unique_ptr<Transport>> make_transport(EventLoop& loop, const PeerId& self,
                                                  std::unique_ptr<Medium> medium,
                                                  const ListenOptions& options) {
  for (const std::string& endpoint : options.advertise) {
    WEFT_TRY_ASSIGN(const HostPort parsed, parse_host_port(endpoint));
    if (parsed.port == 0 || endpoint.size() > kReachEndpointBytesMax) {
      return invalid_argument(
          fmt::format("advertise: expected HOST:PORT as others dial it, got \"{}\"", endpoint));
    }
  }
  if (options.connections > kBulkConnectionsMax) {
    return invalid_argument(fmt::format("connections: expected 0 to {}, got {}",
                                        kBulkConnectionsMax, options.connections));
  }
  const std::string name = to_string(HostPort{options.host, options.port});
  Result<Socket> socket = listen_as(options);
  if (!socket.ok()) {
    return unavailable(fmt::format("listen on {}: {}; choose another address or port (--listen)",
                                   name, socket.status().message()));
  }
  WEFT_TRY_ASSIGN(const SocketAddress address, local_address(socket->get()));
  tcp::endpoint bound;
  std::memcpy(bound.data(), address.data(), address.size());
  bound.resize(address.size());
  LinkOptions link_options{
      options.handshake_timeout, options.handshakes_max,       options.links_max,
      options.low_water_bytes,   options.bulk_queue_bytes_max, options.control_queue_bytes_max,
      options.handshakes};
  link_options.shortcuts = options.shortcuts && medium->proves_keys();
  link_options.connections = options.connections;
  link_options.punch_timeout = options.punch_timeout;
  link_options.relays = options.relays;
  link_options.relayed_connections_max = options.relayed_connections_max;
  link_options.relay_bytes_per_second = options.relay_bytes_per_second;
  auto transport = std::make_unique<LinkTransport>(loop, self, link_options, std::move(medium),
                                                   advertised(options, bound));
  transport->listen(std::move(socket).value());
  if (!bound.address().is_loopback()) listen_for_bulk(*transport, bound);
  if (options.map_port) {
    Result<std::unique_ptr<PortMap>> mapped = PortMap::open(bound.port());
    if (mapped.ok()) {
      transport->take_port_map(std::move(mapped).value());
    } else {
      log(LogLevel::kWarning, "the router opens no port: {}", mapped.status().message());
    }
  }
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace

Result<ListenOptions> parse_listen(const std::string& endpoint) {
  WEFT_TRY_ASSIGN(HostPort parsed, parse_host_port(endpoint));
  ListenOptions options;
  options.host = std::move(parsed.host);
  options.port = parsed.port;
  return options;
}

bool is_of_this_machine_only(const std::string& endpoint) {
  const Result<ListenOptions> parsed = parse_listen(endpoint);
  if (!parsed.ok()) return false;
  if (parsed->host == "localhost") return true;
  asio::error_code fault;
  const asio::ip::address address = asio::ip::make_address(parsed->host, fault);
  return !fault && scope_of(address) == AddressScope::kHost;
}

Result<std::unique_ptr<Transport>> make_tls_transport(EventLoop& loop, const PeerIdentity& identity,
                                                      const ListenOptions& options) {
  WEFT_TRY_ASSIGN(std::unique_ptr<TlsContext> context, TlsContext::make(identity));
  return make_transport(loop, identity.id(),
                        std::make_unique<TlsMedium>(loop, options.dead_after, std::move(context)),
                        options);
}

Result<std::unique_ptr<Transport>> make_tcp_transport(EventLoop& loop, const PeerId& self,
                                                      const ListenOptions& options) {
  return make_transport(loop, self, std::make_unique<TcpMedium>(loop, options.dead_after), options);
}

}  // namespace weft
