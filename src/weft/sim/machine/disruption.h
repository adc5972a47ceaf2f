// Disruption: what befalls many virtual machines at once, after a round.
//
//   disruption := ("leave" | "data") "=" ("random" | "hubs") ":" COUNT "@" ROUND
//
//   leave  the machines are gone, with what they hold
//   data   they stay and pass on what they get, but have no samples any more
//   hubs   those with the most neighbours; of equal ones the first
//
// IMPLEMENTATION: the cases of Palmieri, Boldrini, Valerio, Passarella, Conti and Kertesz,
// "Robustness of decentralised learning to nodes and data disruption", arXiv 2405.02377, 2024.
// There survivors compute their weights anew; here the share of a member that is gone goes to the
// survivor's own model, which keeps the weights symmetric, too.
//
// Threads: values and pure functions. Fails: parse_disruption() with kInvalidArgument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"

namespace weft::sim {

struct Disruption {
  bool leaves = true;  // otherwise the data are lost
  bool hubs = false;   // otherwise drawn
  std::size_t count = 1;
  std::uint64_t round = 1;
};

// A machine that it may befall.
struct DisruptionTarget {
  std::size_t peer = 0;
  std::size_t degree = 0;
};

Result<Disruption> parse_disruption(const std::string& text);
// Whom it befalls, by number; all of them where they are fewer.
std::vector<std::size_t> chosen_by(const Disruption& disruption,
                                   std::vector<DisruptionTarget> targets, Rng& draws);
// The connected parts of a graph over the numbers 0 to neighbours.size() - 1, the largest first,
// each in order. A number without an entry in `there` is not part of it.
std::vector<std::vector<std::size_t>> connected_parts(
    const std::vector<std::vector<std::size_t>>& neighbours, const std::vector<bool>& there);

}  // namespace weft::sim
