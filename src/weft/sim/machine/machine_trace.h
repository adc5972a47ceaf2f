// MachineTrace: what is known beforehand of virtual machines: their speeds, and when each leaves
// and comes, drawn or from a file.
//
//   churn    := "leave=" RATE ["," "join=" RATE]     a second, for each peer that is there, or gone
//   failures := line {line}    line := PEER "," SECONDS "," ("leave" | "join")
//   speeds   := line {line}    line := PEER "," SAMPLES_PER_SECOND
//
// PEER counts from 0. A first line of names, empty lines and lines that begin with # are skipped.
// A peer's events alternate, the first one is that it leaves, and it is gone for a second at least,
// in which the others notice.
//
// Threads: values and pure functions. Fails: kInvalidArgument, which names the flag or the file,
// the line and the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"

namespace weft::sim {

// The shortest time for which a machine is gone.
inline constexpr double kGoneSecondsLeast = 1;

// A peer is there for 1 / leave seconds in the mean, and gone for 1 / join seconds (a second longer
// than that at least); 0: for ever.
struct Churn {
  double leave = 0;
  double join = 0;
};

struct MachineEvent {
  double seconds = 0;  // virtual, from the beginning
  std::size_t peer = 0;
  bool comes = false;  // otherwise it leaves
};

struct MachineSpeed {
  std::size_t peer = 0;
  double samples_per_second = 0;
};

// `text`: "leave=0.01,join=0.05".
Result<Churn> parse_churn(std::string_view text);
// `peers`: of the beginning; `name`: of the file, for messages.
Result<std::vector<MachineEvent>> parse_failures(std::string_view text, const std::string& name,
                                                 std::size_t peers);
Result<std::vector<MachineSpeed>> parse_speeds(std::string_view text, const std::string& name,
                                               std::size_t peers);

// Seconds until the next event of a peer that is there, or gone; nothing: there is none. Each peer
// has draws of its own.
std::optional<double> drawn_wait(const Churn& churn, bool is_there, Rng& draws);

}  // namespace weft::sim
