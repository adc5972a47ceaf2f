// The options of a program for its group, and for its own member, to train with peers.
//
// Where it stands: the fields of SwarmOptions that programs need; member_start.h sets the rest.
// Threads: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/peer/membership_defaults.h"

namespace weft {

// Options of the whole group: the founder's apply, and joiners get them.
struct SwarmGroupOptions {
  // How gradients travel: "f32", "bf16", "f16" or "int8". With less than f32 each member keeps what
  // its roundings drop and adds it in the next round.
  std::string wire = "f32";
  // The last round; 0: there is none.
  std::uint64_t rounds = 0;
  // The first round waits for this many members, at most `start_timeout`.
  int start_members = swarm_defaults::kStartMembers;
  std::chrono::milliseconds start_timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(swarm_defaults::kStartTimeout);
  // A member that is silent for this long is removed.
  std::chrono::milliseconds suspicion_timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(membership_defaults::kSuspicionTimeout);
  // Either of two members may go on alone. Unsafe if both run and only their link is broken: then
  // each goes on by itself.
  bool lone_survivor = false;
};

// Options of this member alone.
struct SwarmMemberOptions {
  // "HOST:PORT"; host *: all addresses; port 0: the system chooses.
  std::string listen = "*:0";
  // Told to others before the addresses found from `listen`: "host:port" each.
  std::vector<std::string> advertise = {};
  // Ask this network's router to open the port, by UPnP or NAT-PMP.
  bool map_port = false;
  // Path of this member's key, which is made there if it is missing; empty: a new one in memory.
  std::string identity = {};
};

}  // namespace weft
