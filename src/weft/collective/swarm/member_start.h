// Turns a program's options into a Swarm's options, with identity and hashes.
//
// Where it stands: SwarmTrainer, and the Python package's swarm. Threads: pure, except for the
// key's file. Fails: kInvalidArgument naming the option; kUnavailable if the key's file cannot be
// read or written.
#pragma once

#include <string>

#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/collective/swarm/member_options.h"
#include "weft/collective/swarm/swarm.h"

namespace weft {

// The values that must be the same at all members.
struct SwarmAgreement {
  std::string recipe;  // joiners fetch it; at most kRecipeBytesMax bytes
  Hash256 layout_hash{};
};

Result<SwarmOptions> member_swarm_options(const SwarmGroupOptions& group,
                                          const SwarmMemberOptions& member,
                                          const SwarmAgreement& agreement);

// An event as a sentence for people.
std::string sentence_of(const SwarmEvent& event);

}  // namespace weft
