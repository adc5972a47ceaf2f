// GossipMember: a GossipCore over sockets: one loop thread, and a box between it and the caller.
//
// What is not gossip's own is LooseMember's.
//
// Where it stands: train's GossipExchange drives it. Threads: begin(), wait_turn(), finish() and
// leave() on one thread, the caller's; the rest on any. Fails: as each says; waits have limits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/gossip/gossip_core.h"
#include "weft/gossip/loose_member.h"

namespace weft {

struct GossipMemberOptions {
  LooseMemberOptions member{};
  // `run`, `signer`, `endpoints`, `incarnation` and `newcomer` are set by this.
  GossipOptions gossip{};
};

struct GossipTurn {
  // kIdle: begin() may be called. kOver: the run has ended. Else there is nothing to do yet.
  GossipPhase phase = GossipPhase::kGathering;
  Round round;
  // The parameters to begin from, once, where they were fetched.
  std::vector<float> fetched{};
};

struct GossipPeerStatus {
  PeerId id;
  bool linked = false;
  bool neighbour = false;
  double rtt_seconds = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

struct GossipStatus {
  GossipPhase phase = GossipPhase::kGathering;
  Round round;
  // The members that this one does not presume gone, itself included.
  std::size_t members = 1;
  // The other members that count as there, by id.
  std::vector<GossipPeerStatus> others{};
  GossipCounts counts{};
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

class GossipMember {
 public:
  // kInvalidArgument or kUnavailable if it cannot listen as asked.
  static Result<std::unique_ptr<GossipMember>> start(GossipMemberOptions options);
  // Leaves, if leave() was not called.
  ~GossipMember();
  GossipMember(const GossipMember&) = delete;
  GossipMember& operator=(const GossipMember&) = delete;

  const PeerId& self() const;
  // Waits until there is something to do, at most `limit`. Fails: kUnavailable where no member can
  // be reached to join by, kInvalidArgument where this peer is refused for good.
  Result<GossipTurn> wait_turn(Duration limit);
  // Copies `parameters` and sends them. REQUIRES: wait_turn() gave kIdle.
  Status begin(std::span<const float> parameters);
  // The own part is done: waits for the neighbours, at most until the deadline. `mixed` of
  // `elements`.
  Result<GossipMix> finish(std::span<float> mixed);
  // After the last round: the parameters that a late newcomer gets.
  void publish(std::span<const float> parameters);
  // Announces to the others that this member leaves, and ends the links.
  Status leave(Duration limit);

  // kUnavailable for a newcomer that has not been let in yet, since it has no key of the run.
  Result<Ticket> ticket(Duration valid_for);
  // A code by which peers of this network get that ticket from this member.
  Result<std::string> join_code(const Ticket& ticket);
  Result<GossipStatus> status();

 private:
  class Impl;
  explicit GossipMember(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
