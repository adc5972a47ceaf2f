// Sockets: file descriptors with an owner, and the few calls on them that transports use.
//
// Threads: any, one at a time. Fails: kUnavailable with the system's message.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "weft/base/status.h"
#include "weft/net/stream/medium.h"

namespace weft {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }
  bool valid() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
// Parses "host:port" or "[v6]:port"; kInvalidArgument for anything else.
Result<HostPort> parse_host_port(const std::string& text);
std::string to_string(const HostPort& endpoint);

// Returns a non-blocking socket, bound and listening; no other process may listen there.
Result<Socket> listen_on(const SocketAddress& address);
// Listens on every address of this machine, of both families where it has both.
Result<Socket> listen_on_all(std::uint16_t port);
// Returns a non-blocking socket whose connect() has begun; it is writable when that has ended. With
// a `local_port` it is bound there, even if this process listens on it.
Result<Socket> begin_connect(const SocketAddress& address, std::uint16_t local_port = 0);
// The outcome of that connect().
Status connect_outcome(int socket);
// Returns an invalid socket if no connection waits, otherwise a non-blocking one.
Result<Socket> accept_from(int listening);
Result<SocketAddress> local_address(int socket);
Result<SocketAddress> remote_address(int socket);
std::string address_text(const SocketAddress& address);
// Parses "host:port" with a numeric host; kInvalidArgument for names, port 0 and addresses that
// belong to no single machine.
Result<SocketAddress> numeric_address(const std::string& endpoint);
// True for addresses of this machine and of private networks.
bool is_nearby(const SocketAddress& address);
// True for a TCP connection between two sockets of this machine with one address.
bool ends_meet(int socket);
Status system_status(int error);

// Prepares a TCP connection: no delay, keep-alive, and an end after `dead_after` without an
// acknowledgement. Loopback and private networks get a loss-based congestion control: model-based
// ones take the jitter of a busy machine for congestion.
void prepare_tcp(int socket, Duration dead_after);
// Addresses of this machine at `port`: those that most others may reach come first, loopback last.
std::vector<std::string> interface_endpoints(std::uint16_t port, bool with_v6);

}  // namespace weft
