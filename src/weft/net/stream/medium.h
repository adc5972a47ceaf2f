// Medium: the part in which link transports differ: how endpoints are resolved, and how bytes are
// carried.
//
// Threads: the loop thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/generic/stream_protocol.hpp>

#include "weft/base/status.h"
#include "weft/net/event_loop.h"
#include "weft/net/handshake_gate.h"
#include "weft/net/stream/byte_stream.h"
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
  // Sets a connected socket's options; an error refuses an inbound connection.
  virtual Status prepare(int socket) = 0;
  // True if its connections cross networks: peers behind address translation are then worth
  // reaching.
  virtual bool reaches_far() const { return false; }
  // True if its streams prove the other side's key, and nobody else can read them.
  virtual bool proves_keys() const { return false; }
};

struct LinkOptions {
  Duration handshake_timeout{};
  // The bound of inbound connections without a hello.
  std::size_t handshakes_max = 0;
  std::size_t links_max = 0;
  std::size_t low_water_bytes = 0;
  std::size_t bulk_queue_bytes_max = 0;
  std::size_t control_queue_bytes_max = 0;
  HandshakeLimits handshakes{};
  // Bulk frames to peers of this machine go through memory (net/shm/shortcut.h).
  bool shortcuts = false;
  // Connections of a link's bulk lane; 0: as many as the path needs (net/link/stripes.h).
  std::size_t connections = 0;
  // How long both sides of a punched connection try before they ask for a relay.
  Duration punch_timeout = std::chrono::seconds(1);
  // Whether this peer relays for others, for how many connections at once, and at what total rate.
  bool relays = true;
  std::size_t relayed_connections_max = 64;
  double relay_bytes_per_second = 64e6;
  Duration relay_idle_timeout = std::chrono::seconds(60);
  // The bound of inbound links whose second lane has yet to come.
  std::size_t halves_max = 64;
};

class Partings;

// What all parts of one transport share.
struct LinkContext {
  EventLoop& loop;
  PeerId self;
  // Drawn when the transport starts.
  std::uint64_t instance = 0;
  LinkOptions options;
  Medium& medium;
  Partings& partings;
  // The ports from which far connections of each lane are dialled, so that a router on the path
  // translates all of them alike; 0: from any port.
  std::array<std::uint16_t, 2> lane_ports = {};
};

}  // namespace weft
