#include "weft/net/stream/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include <arpa/inet.h>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weft/net/stream/address_scope.h"

namespace weft {

namespace {

// Strangers that all come at once must not fill it before the loop turns.
constexpr int kBacklog = 1024;
constexpr int kKeepAliveIdleSeconds = 5;
constexpr int kKeepAliveIntervalSeconds = 2;
constexpr int kKeepAliveProbes = 3;

void set_integer_option(int socket, int level, int name, int value) {
  // An option that this system lacks only makes the line slower to notice or to fill.
  static_cast<void>(::setsockopt(socket, level, name, &value, sizeof value));
}

bool is_nearby_ip(const asio::ip::address& address) {
  const AddressScope scope = scope_of(address);
  return scope == AddressScope::kHost || scope == AddressScope::kLink ||
         scope == AddressScope::kSite;
}

}  // namespace

Socket::~Socket() {
  if (valid()) ::close(descriptor_);
}

Status system_status(int error) { return unavailable(std::generic_category().message(error)); }

Result<HostPort> parse_host_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return invalid_argument(fmt::format("endpoint: expected HOST:PORT, got \"{}\"", text));
  }
  HostPort result;
  result.host = text.substr(0, colon);
  if (result.host.size() >= 2 && result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  } else if (result.host.find(':') != std::string::npos) {
    return invalid_argument(fmt::format("endpoint: expected [V6]:PORT, got \"{}\"", text));
  }
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, result.port);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return invalid_argument(
        fmt::format("endpoint: expected a port of 0 to 65535, got \"{}\"", text));
  }
  return result;
}

std::string to_string(const HostPort& endpoint) {
  return endpoint.host.find(':') == std::string::npos
             ? fmt::format("{}:{}", endpoint.host, endpoint.port)
             : fmt::format("[{}]:{}", endpoint.host, endpoint.port);
}

Result<Socket> listen_on(const SocketAddress& address) {
  const int family = address.protocol().family();
  Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_status(errno);
  if (family != AF_UNIX) set_integer_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (family == AF_INET6) set_integer_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.get(), address.data(), static_cast<socklen_t>(address.size())) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return system_status(errno);
  }
  // Only now, so that no other process shares the port: begin_connect() may dial from it.
  if (family != AF_UNIX) set_integer_option(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  return socket;
}

Result<Socket> listen_on_all(std::uint16_t port) {
  // A socket for IPv6 takes IPv4 as well; without IPv6 the system makes none.
  Result<Socket> both = listen_on(asio::ip::tcp::endpoint(asio::ip::tcp::v6(), port));
  if (both.ok()) return both;
  return listen_on(asio::ip::tcp::endpoint(asio::ip::tcp::v4(), port));
}

static Status bind_local(int socket, int family, std::uint16_t port) {
  set_integer_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  set_integer_option(socket, SOL_SOCKET, SO_REUSEPORT, 1);
  const asio::ip::tcp::endpoint any(family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
                                    port);
  const bool bound = ::bind(socket, any.data(), static_cast<socklen_t>(any.size())) == 0;
  return bound ? Status() : system_status(errno);
}

Result<Socket> begin_connect(const SocketAddress& address, std::uint16_t local_port) {
  const int family = address.protocol().family();
  Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_status(errno);
  if (local_port != 0) WEFT_TRY(bind_local(socket.get(), family, local_port));
  if (::connect(socket.get(), address.data(), static_cast<socklen_t>(address.size())) != 0 &&
      errno != EINPROGRESS) {
    return system_status(errno);
  }
  return socket;
}

Status connect_outcome(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return system_status(errno);
  return error == 0 ? Status() : system_status(error);
}

Result<Socket> accept_from(int listening) {
  Socket socket(::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.valid()) return socket;
  switch (errno) {
    case EAGAIN:
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
      return Socket();
    default:
      return system_status(errno);
  }
}

Result<SocketAddress> local_address(int socket) {
  SocketAddress address;
  auto size = static_cast<socklen_t>(address.capacity());
  if (::getsockname(socket, address.data(), &size) != 0) return system_status(errno);
  address.resize(size);
  return address;
}

Result<SocketAddress> remote_address(int socket) {
  SocketAddress address;
  auto size = static_cast<socklen_t>(address.capacity());
  if (::getpeername(socket, address.data(), &size) != 0) return system_status(errno);
  address.resize(size);
  return address;
}

std::string address_text(const SocketAddress& address) {
  if (address.protocol().family() == AF_UNIX) return "unix";
  asio::ip::tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), address.data(), std::min(address.size(), endpoint.capacity()));
  asio::ip::address ip = ip_of(address);
  if (ip.is_v6() && ip.to_v6().is_v4_mapped()) ip = plain_ip(ip);
  return to_string(HostPort{ip.to_string(), endpoint.port()});
}

Result<SocketAddress> numeric_address(const std::string& endpoint) {
  WEFT_TRY_ASSIGN(const HostPort parsed, parse_host_port(endpoint));
  asio::error_code error;
  asio::ip::address ip = asio::ip::make_address(parsed.host, error);
  if (ip.is_v6() && ip.to_v6().is_v4_mapped()) ip = plain_ip(ip);
  if (error || parsed.port == 0 || scope_of(ip) == AddressScope::kNone) {
    return invalid_argument(
        fmt::format("endpoint: expected the address of a machine, got \"{}\"", endpoint));
  }
  return SocketAddress(asio::ip::tcp::endpoint(ip, parsed.port));
}

bool is_nearby(const SocketAddress& address) {
  return address.protocol().family() == AF_UNIX || is_nearby_ip(ip_of(address));
}

bool ends_meet(int socket) {
  SocketAddress ends[2];
  for (const bool remote : {false, true}) {
    SocketAddress& end = ends[remote ? 1 : 0];
    auto size = static_cast<socklen_t>(end.capacity());
    const int failed = remote ? ::getpeername(socket, end.data(), &size)
                              : ::getsockname(socket, end.data(), &size);
    if (failed != 0) return false;
    end.resize(size);
    const int family = end.protocol().family();
    if (family != AF_INET && family != AF_INET6) return false;
  }
  return ip_of(ends[0]) == ip_of(ends[1]);
}

void prepare_tcp(int socket, Duration dead_after) {
  set_integer_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_integer_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_integer_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set_integer_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set_integer_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(dead_after).count();
  set_integer_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(limit));
  SocketAddress remote;
  auto size = static_cast<socklen_t>(remote.capacity());
  if (::getpeername(socket, remote.data(), &size) != 0) return;
  remote.resize(size);
  if (!is_nearby_ip(ip_of(remote))) return;
  for (const std::string_view name : {"cubic", "reno"}) {
    if (::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                     static_cast<socklen_t>(name.size())) == 0) {
      return;
    }
  }
}

std::vector<std::string> interface_endpoints(std::uint16_t port, bool with_v6) {
  // A machine may have many public IPv6 addresses that last a day; few are worth advertising.
  constexpr std::size_t kFarV6Max = 2;
  // Far IPv4, far IPv6, near IPv4, near IPv6.
  std::array<std::vector<asio::ip::address>, 4> kinds;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) == 0) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
      const int family = entry->ifa_addr->sa_family;
      if (family != AF_INET && (family != AF_INET6 || !with_v6)) continue;
      const std::size_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      const asio::ip::address ip = ip_of({entry->ifa_addr, size});
      if (ip.is_loopback() || (ip.is_v6() && ip.to_v6().is_link_local())) continue;
      kinds[(is_nearby_ip(ip) ? 2U : 0U) + (ip.is_v6() ? 1U : 0U)].push_back(ip);
    }
    ::freeifaddrs(list);
  }
  if (kinds[1].size() > kFarV6Max) kinds[1].resize(kFarV6Max);
  std::vector<std::string> found;
  for (const std::vector<asio::ip::address>& kind : kinds) {
    for (const asio::ip::address& ip : kind) {
      found.push_back(to_string(HostPort{ip.to_string(), port}));
    }
  }
  found.push_back(to_string(HostPort{"127.0.0.1", port}));
  return found;
}

}  // namespace weft
