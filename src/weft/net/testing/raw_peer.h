// A peer without a transport: sockets with which tests send what no transport would.
//
// Threads: one. Fails: checks.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "weft/base/check.h"
#include "weft/net/stream/frame_codec.h"
#include "weft/net/stream/socket.h"

namespace weft {

inline Bytes framed(std::uint8_t type, ByteSpan head, ByteSpan body = {}) {
  const FrameHeaderBytes header = FrameHeader{head.size(), body.size(), type}.encode();
  Bytes bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), head.begin(), head.end());
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

// A connected socket that the loop has yet to accept on the other side.
inline Socket dial_raw(const std::string& endpoint) {
  const HostPort target = parse_host_port(endpoint).value();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(target.port);
  inet_pton(AF_INET, target.host.c_str(), &address.sin_addr);
  Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  WEFT_CHECK(::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
             0);
  return made;
}

}  // namespace weft
