// The rendezvous table that the OpenDHT network is; a node of it runs inside this process.
//
// Compiled only where CMake finds the library; otherwise asking for it says so. The node has
// threads of its own; what it finds comes back over the loop.
// Threads: those of RendezvousTable. Fails: kUnavailable without the library, without a UDP port;
// kInvalidArgument for a node that is no HOST:PORT.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/net/rendezvous.h"

namespace weft {

// Where the public network is entered; anybody may run nodes.
inline constexpr const char* kPublicRendezvous = "bootstrap.jami.net:4222";

bool has_opendht();

struct OpenDhtOptions {
  // "HOST:PORT" of any node of the network; empty: this node is the first of a new one.
  std::string bootstrap;
  // UDP; 0: the system chooses.
  std::uint16_t port = 0;
  // Listens on 127.0.0.1 only.
  bool local = false;
};

class OpenDhtTable : public RendezvousTable {
 public:
  // The UDP port of this node.
  virtual std::uint16_t port() const = 0;
};

// Borrows `loop`, which must outlive the table.
Result<std::unique_ptr<OpenDhtTable>> make_opendht_table(EventLoop& loop,
                                                         const OpenDhtOptions& options);
// The same for a swarm, with the node at `bootstrap`.
MakeRendezvousTable opendht_maker(const std::string& bootstrap);

}  // namespace weft
