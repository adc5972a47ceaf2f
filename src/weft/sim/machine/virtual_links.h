// VirtualLinks: the links by which virtual machines reach each other, made as the machines start.
//
//   capacity  of all bulk frames that a machine sends, and of all that it receives, together
//   latency   one way; between two machines the larger of their two
//   loss      of packets; it shows as TCP shows it, by its rate: at most
//             1.22 * 1460 bytes / (round trip * sqrt(loss)) between two machines, with the larger
//             of their two losses
//
// IMPLEMENTATION: Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion
// avoidance algorithm", 1997, equation 3, for segments of 1460 bytes that are acknowledged each.
// Where it stands: worlds own one. Threads: one owner. Fails: never.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/net/sim_network.h"
#include "weft/sim/machine/spread.h"

namespace weft::sim {

struct LinkOptions {
  Spread megabits{{1000}, false};  // a second; 0: unlimited
  Spread latency_ms{{1}, false};
  Spread loss{{0}, false};
};

// For a SimNetwork whose machines have these links.
SimNetworkOptions link_network_options(std::uint64_t seed);

class VirtualLinks {
 public:
  // Borrows `network`, which was made with link_network_options(), and must outlive this.
  VirtualLinks(SimNetwork& network, LinkOptions options, std::uint64_t seed)
      : network_(network), options_(std::move(options)), seed_(seed) {}

  // The link of the next machine, which has started.
  void add(const PeerId& id);

 private:
  double latency_ms(std::size_t index) const;
  double loss(std::size_t index) const;

  SimNetwork& network_;
  const LinkOptions options_;
  const std::uint64_t seed_;
  std::vector<PeerId> ids_;
};

}  // namespace weft::sim
