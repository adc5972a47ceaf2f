// Medium: what tells the link transports apart: how endpoints are found, and how bytes travel.
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
  // Sets a connected socket's options; an error turns an inbound connection away.
  virtual Status prepare(int socket) = 0;
  // Its connections cross networks: peers behind address translation are worth reaching.
  virtual bool reaches_far() const { return false; }
  // Its streams prove the other side's key, and nobody else reads them.
  virtual bool proves_keys() const { return false; }
};

struct LinkOptions {
  Duration handshake_timeout{};
  // Inbound connections without a hello.
  std::size_t handshakes_max = 0;
  std::size_t links_max = 0;
  std::size_t low_water_bytes = 0;
  std::size_t bulk_queue_bytes_max = 0;
  std::size_t control_queue_bytes_max = 0;
  HandshakeLimits handshakes{};
  // Bulk frames to peers of this machine go through memory; shortcut.h.
  bool shortcuts = false;
  // For the bulk lane of a link; 0: as many as the line needs (stripes.h).
  std::size_t connections = 0;
  // How long both sides of a punched connection try; then a relay is asked for.
  Duration punch_timeout = std::chrono::seconds(1);
  // For others: whether this peer relays, how many connections at once, and how fast in all.
  bool relays = true;
  std::size_t relayed_connections_max = 64;
  double relay_bytes_per_second = 64e6;
  Duration relay_idle_timeout = std::chrono::seconds(60);
  // Inbound links of which the second lane is still to come.
  std::size_t halves_max = 64;
};

class Partings;

// What the parts of one transport share.
struct LinkContext {
  EventLoop& loop;
  PeerId self;
  // Drawn at the start of the transport.
  std::uint64_t instance = 0;
  LinkOptions options;
  Medium& medium;
  Partings& partings;
  // Where far connections of each lane are dialled from, so that a router between translates all of
  // them alike; 0: from any port.
  std::array<std::uint16_t, 2> lane_ports = {};
};

}  // namespace weft
