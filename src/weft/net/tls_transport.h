// The socket transports: tls (mutual TLS 1.3) and tcp (plain: benches and trusted hosts).
//
// A link is two TCP connections, one for each lane. With tls each side presents a self-signed
// certificate of its Ed25519 key: a dialler reaches the peer it asked for or none, an acceptor
// learns who dialled, and LinkInfo.exporter is a secret of the two ends. With tcp the ids are not
// proved and the exporter is not secret.
//
// Connections without a hello are bounded in number and in time. When two peers dial each other at
// once exactly one link stays. A peer that vanishes is detected when its connection closes, at the
// latest after `dead_after` without an acknowledgement. A peer whose addresses do not answer is
// reached through a third one that is linked to both (docs/reach.md). No handler call happens
// inside a call to the transport. send() is kUnavailable too when the bulk queue is full; a control
// queue that overflows ends the link.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/net/event_loop.h"
#include "weft/net/handshake_gate.h"
#include "weft/net/identity.h"
#include "weft/net/transport.h"

namespace weft {

struct ListenOptions {
  // An address, a name, "*" for all of this machine, or "0.0.0.0" for all of IPv4.
  std::string host = "*";
  // The port; 0: the system chooses.
  std::uint16_t port = 0;
  // "host:port" each: addresses that others are to dial first, before those of the host or the
  // interfaces.
  std::vector<std::string> advertise;

  // The time from the first byte to the link, for each side.
  Duration handshake_timeout = std::chrono::seconds(10);
  // Inbound connections that have not yet proved a key; more are closed at once.
  std::size_t handshakes_max = 128;
  // How many handshakes may begin in a given time.
  HandshakeLimits handshakes{};
  // The bound of all links; further inbound ones are refused.
  std::size_t links_max = 512;
  // A link ends if sent data is not acknowledged for this long.
  Duration dead_after = std::chrono::seconds(10);
  std::size_t low_water_bytes = 512 * 1024;
  std::size_t bulk_queue_bytes_max = std::size_t{1} << 30;
  std::size_t control_queue_bytes_max = std::size_t{64} << 20;
  // tls: bulk frames to peers of the same user on this machine go through memory, unencrypted, once
  // the link has proved who they are (net/shm/shortcut.h).
  bool shortcuts = true;
  // How many connections carry the bulk frames of one link, 1 to 8; 0: one, and more once the path
  // turns out to have a high bandwidth-delay product (net/link/stripes.h). The peer that dialled
  // opens them.
  std::size_t connections = 0;
  // How long both sides of a punched connection try before they ask for a relay.
  Duration punch_timeout = std::chrono::seconds(1);
  // Ask this network's router to open the port (port_map.h): it takes a few seconds, and failing is
  // not an error. Its address is the first that others get.
  bool map_port = false;
  // Whether this peer relays for others that cannot reach each other (it sees their ciphertext),
  // for how many connections at once (a link has two), and at how many bytes a second in total.
  bool relays = true;
  std::size_t relayed_connections_max = 64;
  double relay_bytes_per_second = 64e6;
};

// Splits "host:port" or "[v6]:port" into `options`' host and port.
Result<ListenOptions> parse_listen(const std::string& endpoint);

// True if only this machine can reach what listens at "host:port": 127.0.0.1, ::1, localhost.
bool is_of_this_machine_only(const std::string& endpoint);

// kUnavailable if the address cannot be listened on. `loop` is borrowed and outlives the transport.
Result<std::unique_ptr<Transport>> make_tls_transport(EventLoop& loop, const PeerIdentity& identity,
                                                      const ListenOptions& options);
// `self` is sent to the peers without proof.
Result<std::unique_ptr<Transport>> make_tcp_transport(EventLoop& loop, const PeerId& self,
                                                      const ListenOptions& options);

}  // namespace weft
