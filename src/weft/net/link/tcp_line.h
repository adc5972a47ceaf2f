// TcpLine: what the system knows of one TCP connection's line, and what it is told of it. Kept
// apart from other headers, as the system's newest description of it cannot be included beside the
// one that asio includes.
//
// Threads: any.
#pragma once

#include <cstdint>

namespace weft {

struct TcpLine {
  // The shortest round trip seen lately; 0 where it is not known.
  double rtt_seconds = 0;
  // Since the connection began: how long it had something to send, and how much of that time it was
  // held up by the receiver's window or by its own send buffer, not by the line.
  double busy_seconds = 0;
  double window_limited_seconds = 0;
  std::uint64_t bytes_acknowledged = 0;
};

// All zeros for what is no TCP connection.
TcpLine read_tcp_line(int socket);

// From now on the system takes no more of what is to be sent than it can soon send: what is still
// with its owner can go by another connection.
void keep_little_unsent(int socket);

}  // namespace weft
