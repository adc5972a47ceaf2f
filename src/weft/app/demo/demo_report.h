// DemoReport: what the demo shows at its end, made from the events and files of its peers.
//
// Threads: values. Fails: never; a peer without a summary counts as failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/train/event/event.h"

namespace weft {

// One peer of the demo at its end.
struct DemoPeer {
  std::string peer_id;
  std::string status;  // finished, killed, or what went wrong
  std::optional<Event> summary;
};

struct DemoReport {
  std::vector<DemoPeer> peers;
  std::string killed_peer;
  std::string joined_peer;
  double seconds = 0;
  // Why the demo failed, apart from the peers' own reports; empty if it succeeded.
  std::string fault;

  // All peers but the killed one finished with one state hash, and one peer was killed and one
  // joined.
  bool ok() const;
  double test_accuracy() const;  // NaN if no peer measured it
  double seconds_lost() const;   // the largest of any peer
  std::int64_t bytes_sent() const;
};

// The last line of `weft demo --json`.
std::string demo_json(const DemoReport& report);
// The table for people, one string per line.
std::vector<std::string> demo_table(const DemoReport& report);

}  // namespace weft
