#include "weft/sim/machine/virtual_links.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::sim {
namespace {

// Latencies of machines are factors of this one.
constexpr Duration kLatencyUnit = std::chrono::milliseconds(1);
constexpr double kLatencyLeast = 1e-3;
constexpr double kMathis = 1.22;
constexpr double kPacketBytes = 1460;

// What keeps the draws of one option apart from another's.
constexpr std::uint64_t kDrawsOfCapacity = 11;
constexpr std::uint64_t kDrawsOfLatency = 12;
constexpr std::uint64_t kDrawsOfLoss = 13;

std::uint64_t at_least_one(double bytes_per_second) {
  return static_cast<std::uint64_t>(std::max(1.0, bytes_per_second));
}

}  // namespace

SimNetworkOptions link_network_options(std::uint64_t seed) {
  SimNetworkOptions net;
  net.seed = seed;
  net.delay_min = kLatencyUnit;
  net.delay_mean = kLatencyUnit;
  return net;
}

double VirtualLinks::latency_ms(std::size_t index) const {
  return std::max(kLatencyLeast, options_.latency_ms.at(index, seed_, kDrawsOfLatency));
}

double VirtualLinks::loss(std::size_t index) const {
  return options_.loss.at(index, seed_, kDrawsOfLoss);
}

void VirtualLinks::add(const PeerId& id) {
  const std::size_t index = ids_.size();
  ids_.push_back(id);
  const double megabits = options_.megabits.at(index, seed_, kDrawsOfCapacity);
  if (megabits > 0) network_.set_line(id, at_least_one(megabits * 1e6 / 8));
  network_.set_slowness(id, latency_ms(index));
  for (std::size_t other = 0; other < index; ++other) {
    const double lost = std::max(loss(index), loss(other));
    if (lost <= 0) continue;
    const double round_trip = 2e-3 * std::max(latency_ms(index), latency_ms(other));
    const double rate = kMathis * kPacketBytes / (round_trip * std::sqrt(lost));
    network_.set_rate(id, ids_[other], at_least_one(rate));
    network_.set_rate(ids_[other], id, at_least_one(rate));
  }
}

}  // namespace weft::sim
