// SwarmMember: one virtual machine of a group that trains in rounds: the real SwarmCore, and the
// real Trainer's part, which takes virtual time.
//
// What a part of a round takes is its samples over the machine's speed; the values are handed over
// when that time is over. Applying sums, hashing and serialising take none.
//
// Where it stands: TrainingWorld owns one for each machine. Threads: one owner.
// Fails: failure() says why it goes on no more; its machine does nothing from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/core/swarm_core.h"
#include "weft/peer/ticket.h"
#include "weft/sim/group_trainer.h"
#include "weft/sim/liar/liar.h"
#include "weft/sim/machine/virtual_peer.h"

namespace weft::sim {

class SwarmMember;

// The events of members that a world receives as they happen; it may crash members from here, but
// not delete them.
class MemberWatch {
 public:
  virtual ~MemberWatch() = default;
  virtual void on_round(const SwarmMember& member, const Turn& turn, const StepReport& report) = 0;
  virtual void on_event(const SwarmMember& member, const SwarmEvent& event) = 0;
};

struct SwarmMemberSettings {
  PeerId id;
  std::string run_id;
  std::uint64_t seed = 1;
  std::uint64_t incarnation = 1;
  double samples_per_second = 1000;
  // What it sends in place of its part of a round; nothing where it is honest.
  std::optional<Liar> liar{};
};

class SwarmMember final : public VirtualPeer {
 public:
  // Borrows all three references, which must outlive this. `self`, `incarnation` and `endpoints` of
  // `options` are set here.
  SwarmMember(SimNetwork& network, SwarmCoreOptions options, SwarmMemberSettings settings,
              GroupTrainer& trainer, MemberWatch& watch);

  void found();
  void join(const Ticket& ticket);
  Ticket ticket(Duration valid_for) { return core_->ticket(valid_for); }

  const SwarmCore& core() const { return *core_; }
  const MemberState& state() const { return state_; }
  Round rounds_done() const { return done_; }
  // It has the state after the last round, and so have the others.
  bool finished() const override { return finished_; }
  const Status& failure() const override { return failure_; }

 private:
  TransportHandler& handler() override { return *core_; }
  void on_time() override { core_->on_timer(); }
  TimePoint next_deadline() const override { return core_->next_deadline(); }
  void settle() override;

  void take_events();
  void take(const Turn& turn);
  Status do_turn(const Turn& turn);
  Status train(const Turn& turn);
  Status take(const RoundOutcome& outcome);
  Status apply(const Turn& turn);
  void fail(Status why);

  SwarmMemberSettings settings_;
  GroupTrainer& trainer_;
  MemberWatch& watch_;
  std::unique_ptr<SwarmCore> core_;
  MemberState state_;
  // The last that was applied here, the evaluation at the end included.
  Round done_;
  // The part for the begun round; the core borrows its values until the outcome.
  std::unique_ptr<RoundPart> part_;
  Turn turn_;
  std::uint64_t tries_ = 0;
  bool finished_ = false;
  Status failure_;
};

}  // namespace weft::sim
