// The shm transport: frames through memory shared by two processes of one host and user.
//
// Peers meet on a unix socket in a folder that only the user may enter; ids are not proved, since
// every peer there runs as the same user. The socket stays open, so a peer that vanishes is
// detected at once. The loop spins for a moment, then yields, before it sleeps. LinkInfo.exporter
// is not secret.
#pragma once

#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/net/event_loop.h"
#include "weft/net/transport.h"

namespace weft {

struct ShmOptions {
  // The folder is made with mode 0700 if it is missing, and refused if others may enter it.
  // Endpoints are "unix:FOLDER/NAME".
  std::string folder;
  Duration handshake_timeout = std::chrono::seconds(10);
  std::size_t handshakes_max = 128;
  std::size_t links_max = 512;
  std::size_t low_water_bytes = 512 * 1024;
  std::size_t bulk_queue_bytes_max = std::size_t{1} << 30;
  std::size_t control_queue_bytes_max = std::size_t{64} << 20;
};

// kUnavailable if the socket cannot be made there. `loop` is borrowed and outlives the transport.
Result<std::unique_ptr<Transport>> make_shm_transport(EventLoop& loop, const PeerId& self,
                                                      const ShmOptions& options);

}  // namespace weft
