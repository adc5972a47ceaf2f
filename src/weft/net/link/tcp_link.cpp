#include "weft/net/link/tcp_link.h"

#include <limits>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace weft {

namespace {

constexpr double kMicrosecond = 1e-6;
constexpr int kUnsentBytes = 16 * 1024;

}  // namespace

TcpLink read_tcp_link(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  TcpLink link;
  if (info.tcpi_min_rtt != std::numeric_limits<decltype(info.tcpi_min_rtt)>::max()) {
    link.rtt_seconds = info.tcpi_min_rtt * kMicrosecond;
  }
  link.busy_seconds = static_cast<double>(info.tcpi_busy_time) * kMicrosecond;
  link.window_limited_seconds =
      static_cast<double>(info.tcpi_rwnd_limited + info.tcpi_sndbuf_limited) * kMicrosecond;
  link.bytes_acknowledged = info.tcpi_bytes_acked;
  return link;
}

void keep_little_unsent(int socket) {
  ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
}

}  // namespace weft
