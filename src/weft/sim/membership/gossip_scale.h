// GossipScale: what one idle member of a large group that gossips sends and receives.
//
// The member is a real GossipCore with a real book of all members; its neighbours are played. An
// idle group makes a round a second with parameters of one value, so that what is left is presence:
// each member signs its own anew eight times within gossip.expiry_rounds, and all pass it on.
//
// What the neighbours send: a member passes a record on to all neighbours but the one that it came
// from. So each record crosses all N d / 2 edges of a graph of degree d as N (d - 1) + 1 messages
// at most, which is d - 1 of them for each member, whatever N is. Here each record therefore comes
// from all of the d neighbours but one, drawn. It is about a fifth more than in a group all of
// whose members are real, with which tests/sim/scale_test.cpp compares it.
//
// Threads: one owner; time is virtual. Fails: never.
#pragma once

#include <cstdint>

#include "weft/sim/membership/scale.h"

namespace weft {

struct GossipScaleOptions {
  int members = 16;
  int degree = 4;  // of a random regular graph
  std::uint64_t expiry_rounds = 64;
};

struct GossipScaleResult {
  Traffic traffic;
  double seconds = 0;  // virtual, as measured; a round each
  std::uint64_t book_records = 0;
};

// Bytes are those of heads, bodies and 6 for each frame. REQUIRES: members > degree. A book of so
// many records is more than the 4,096 that a run keeps by default where `members` is.
GossipScaleResult measure_idle_gossip(const GossipScaleOptions& options);

}  // namespace weft
