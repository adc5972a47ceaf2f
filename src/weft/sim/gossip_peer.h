// GossipPeer: one virtual machine that gossips: the real GossipCore, and the real model's part,
// which takes virtual time.
//
// A gradient takes its samples over the machine's speed; mixing and the optimizer's step take none.
// A peer that has done its last round goes on answering newcomers until the world ends. Links are
// taken as proved: who may join is the business of MemberGate, which is not simulated.
//
// Where it stands: GossipWorld owns one for each machine. Threads: one owner.
// Fails: failure() says why it goes on no more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/gossip/gossip_core.h"
#include "weft/sim/gossip_trainer.h"
#include "weft/sim/liar/liar.h"
#include "weft/sim/machine/virtual_peer.h"

namespace weft::sim {

struct GossipPeerSettings {
  // With `signer`, `newcomer` and what all have in common; endpoints and the check of signatures
  // are set by the peer.
  GossipOptions gossip;
  double samples_per_second = 1000;
  // What it sends in place of its parameters; nothing where it is honest.
  std::optional<Liar> liar{};
  // After each round that this peer has applied.
  std::function<void(const GossipMix& mix, const RoundReport& report)> on_round;
};

// Signatures that repeat with `key`; they keep nobody out.
RecordSigner repeated_signer(const PublicKey& key);

class GossipPeer final : public VirtualPeer {
 public:
  // Borrows `network` and `trainer`, which must outlive this. `endpoints` is set here.
  GossipPeer(SimNetwork& network, GossipPeerSettings settings, GossipTrainer& trainer);
  ~GossipPeer() override;

  // Before the first event: dials `others`, each any member.
  void start(const std::vector<PeerAddress>& others);
  PeerAddress address() const { return {id(), transport().endpoints()}; }

  const GossipCore& core() const { return *core_; }
  const std::vector<float>& parameters() const { return *state_.parameters; }
  // SHA-256 of parameters and optimizer state, as a real member's summary has it.
  std::string digest() { return trainer_.digest(state_); }
  Round rounds_done() const { return done_; }
  bool honest() const { return !settings_.liar; }
  bool finished() const override { return core_->phase() == GossipPhase::kOver; }
  const Status& failure() const override { return failure_; }

 private:
  // What the network reports to the core.
  class Events;

  TransportHandler& handler() override;
  void on_time() override { core_->tick(network().now()); }
  TimePoint next_deadline() const override {
    return core_->next_deadline().value_or(TimePoint::max());
  }
  void settle() override;

  void take(GossipAction& action);
  void dial(const PeerAddress& peer);
  // Its parameters, or the lie that it sends for them.
  SharedBytes to_send();
  Status begin_round();
  void finish_round();
  void fail(Status why);

  GossipPeerSettings settings_;
  GossipTrainer& trainer_;
  std::unique_ptr<Events> events_;
  std::unique_ptr<GossipCore> core_;
  // Dials that have not ended, by address.
  std::map<std::string, PeerId> dials_;
  GossipState state_;
  RoundReport report_;
  bool computes_ = false;
  Round done_;
  Status failure_;
};

}  // namespace weft::sim
