// TcpLink: the system's figures of one TCP connection, and the options set on it. It is kept apart
// from other headers, since the system's newest description of them cannot be included beside the
// one that asio includes.
//
// Threads: any.
#pragma once

#include <cstdint>

namespace weft {

struct TcpLink {
  // The shortest round trip seen lately; 0 if it is unknown.
  double rtt_seconds = 0;
  // Since the connection began: the time in which it had something to send, and the part of it in
  // which the receiver's window or its own send buffer, not the path, limited it.
  double busy_seconds = 0;
  double window_limited_seconds = 0;
  std::uint64_t bytes_acknowledged = 0;
};

// All zeros if the socket is no TCP connection.
TcpLink read_tcp_link(int socket);

// From now on the system accepts only as much as it can soon send: what its owner still holds can
// go by another connection.
void keep_little_unsent(int socket);

}  // namespace weft
