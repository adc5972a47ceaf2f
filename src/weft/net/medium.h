// Medium: what tells the link transports apart: how endpoints are found, and how bytes travel.
//
// Threads: the loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/generic/stream_protocol.hpp>

#include "weft/net/byte_stream.h"
#include "weft/net/event_loop.h"
#include "weft/net/transport.h"

namespace weft {

using SocketAddress = asio::generic::stream_protocol::endpoint;

class Medium {
 public:
  using Resolved = std::function<void(Result<std::vector<SocketAddress>>)>;

  virtual ~Medium() = default;
  // Calls `done` once, now or later.
  virtual void resolve(const std::string& endpoint, Resolved done) = 0;
  virtual std::unique_ptr<ByteStream> dial(int socket, Lane lane) = 0;
  virtual std::unique_ptr<ByteStream> accept(int socket) = 0;
  // Sets a connected socket's options; an error turns an inbound connection away.
  virtual Status prepare(int socket) = 0;
};

struct LinkOptions {
  Duration handshake_timeout{};
  std::size_t handshakes_max = 0;
  std::size_t links_max = 0;
  std::size_t low_water_bytes = 0;
  std::size_t bulk_queue_bytes_max = 0;
  std::size_t control_queue_bytes_max = 0;
};

// What the parts of one transport share.
struct LinkContext {
  EventLoop& loop;
  PeerId self;
  // Drawn at the start of the transport.
  std::uint64_t instance = 0;
  LinkOptions options;
  Medium& medium;
};

}  // namespace weft
