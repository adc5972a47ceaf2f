#include "weft/net/link/tcp_line.h"

#include <limits>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace weft {

namespace {

constexpr double kMicrosecond = 1e-6;
constexpr int kUnsentBytes = 16 * 1024;

}  // namespace

TcpLine read_tcp_line(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  TcpLine line;
  if (info.tcpi_min_rtt != std::numeric_limits<decltype(info.tcpi_min_rtt)>::max()) {
    line.rtt_seconds = info.tcpi_min_rtt * kMicrosecond;
  }
  line.busy_seconds = static_cast<double>(info.tcpi_busy_time) * kMicrosecond;
  line.window_limited_seconds =
      static_cast<double>(info.tcpi_rwnd_limited + info.tcpi_sndbuf_limited) * kMicrosecond;
  line.bytes_acknowledged = info.tcpi_bytes_acked;
  return line;
}

void keep_little_unsent(int socket) {
  ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
}

}  // namespace weft
