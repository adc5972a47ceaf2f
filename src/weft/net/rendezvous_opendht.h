// A rendezvous table in the OpenDHT network; a node of it runs inside this process.
//
// It is compiled only where CMake finds the library; otherwise make_opendht_table() says so. The
// node has threads of its own; its results are posted to the loop. Threads: those of
// RendezvousTable. Fails: kUnavailable without the library or without a UDP port; kInvalidArgument
// if the node is no HOST:PORT.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/net/rendezvous.h"

namespace weft {

// A node of the public network, which anybody may join.
inline constexpr const char* kPublicRendezvous = "bootstrap.jami.net:4222";

bool has_opendht();

struct OpenDhtOptions {
  // "HOST:PORT" of any node of the network; empty: this node is the first of a new one.
  std::string bootstrap;
  // The UDP port; 0: the system chooses.
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
// Returns a maker of such tables for a swarm, with the node at `bootstrap`.
MakeRendezvousTable opendht_maker(const std::string& bootstrap);

}  // namespace weft
