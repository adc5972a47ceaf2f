// SwarmCore: one peer's part in a run without threads, sockets or clocks of its own.
//
// It combines the membership (peer/membership.h), the rounds (round_core.h), the transfer of state
// to newcomers and laggards (state_fetch.h) and the comparison of states, and decides what the
// training side does next. Its driver hands it the transport's events, the timer and the training
// side's commands, and after each of them takes turn, outcome and events. The same code runs on
// real transports (swarm_loop.cpp) and in the simulator.
//
// All of its state is in its parts (parts/swarm_parts.h), each behind an interface of its own; here
// an event or a command goes to the part that it is for, and then all parts settle.
//
// The training side stands after `trainer_round()`; it applies committed rounds only, one after
// the other, so its state is always a prefix of the run's history.
//
// Threads: one owner (base/owner_thread.h). Fails: a peer's corrupt frame ends its link; the reason
// why this peer's part ends is the Status that take_turn() gives from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/owner_thread.h"
#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/engine/group_core.h"
#include "weft/collective/link/link_rates.h"
#include "weft/collective/parts/swarm_core_settings.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/state/state_snapshot.h"
#include "weft/collective/team/round_plan.h"
#include "weft/net/parking_transport.h"
#include "weft/net/transport.h"
#include "weft/peer/membership.h"

namespace weft {

struct SwarmParts;

class SwarmCore final : public TransportHandler {
 public:
  // Borrows `transport` and `clock`, which must outlive this. The driver sets the transport's
  // handler: this, or one that hands on to it.
  SwarmCore(SwarmCoreOptions options, Transport& transport, const Clock& clock, Rng rng);
  ~SwarmCore() override;

  // --- Commands; one of the first two, once.
  void found();
  void join(const Ticket& ticket);
  // The training side is done with the last turn and wants the next.
  void request_turn();
  // Opens the round of a kTrain turn; take_outcome() gives its end in any case.
  void begin(const ViewId& view, Round round, const RoundPlan& plan);
  // For one exchange of the round, in whose team this member is. Borrows `values` until the
  // outcome.
  void contribute(std::size_t exchange, std::int64_t offset, std::span<const float> values);
  // For rounds of one exchange.
  void contribute(std::int64_t offset, std::span<const float> values) {
    contribute(0, offset, values);
  }
  // This member's report on the round that it has begun, at most kReportBytesMax bytes. Called only
  // where rounds have reports, and then for each round, after begin().
  void report(Bytes report);
  // After a kTrain turn: the state may, or may no longer, be serialised although the training
  // side is at work. Ends with the round and with the next request.
  void lend_state(bool lent);
  // What this member contributes if its input comes too late, to the round of the latest kTrain
  // turn and to later ones. See late_rounds.h.
  void stand_in(const ViewId& view, Round round, StandIn stand_in);
  // Ends an open round at once: the training side waits no longer.
  void cancel_round(const Status& why);
  void applied(Round round, StateHash hash);
  // The second hashes all of it; the first was made where that may take its time.
  // Where branches merge, the first has the turn's `state` in front; the second puts it there.
  void publish_state(StateSnapshot snapshot);
  void publish_state(Round round, Bytes state);
  // The snapshot that take_snapshot_order() asked for is not made, because the state is not lent
  // any more.
  void snapshot_missed();
  // A collective beside the rounds; take_group_outcomes() gives its end under this number.
  std::uint64_t begin_group(const ViewId& view, GroupCall call);
  void leave();
  // As the methods of Membership.
  Status revoke(const InvitationId& invitation);
  Result<std::string> expel(const PeerId& peer, const std::string& reason);

  // --- Events. Call on_timer() at next_deadline(); it may have changed after any other call.
  void on_link_up(const LinkInfo& link) override;
  void on_link_down(const PeerId& peer, const Status& why) override;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& peer, Lane lane) override;
  void on_refused(const std::string& remote_endpoint, const Status& why) override;
  void on_twin(const PeerId& peer, const std::string& remote_endpoint) override;
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override;
  void on_timer();
  TimePoint next_deadline() const;

  // --- Outcomes; each is given once.
  // Empty unless a turn was requested and there is something to do.
  std::optional<Result<Turn>> take_turn();
  std::optional<RoundOutcome> take_outcome();
  // The sums of one exchange of the round that the training side has begun, as soon as they are
  // complete and as long as the round is open. Valid until the next call.
  std::optional<std::span<const float>> early_sums(std::size_t exchange) const;
  // A kSnapshot turn for the thread that reads the state that is lent: publish_state() or
  // snapshot_missed() is to follow.
  std::optional<Turn> take_snapshot_order();
  std::vector<SwarmEvent> take_events();
  std::vector<GroupOutcome> take_group_outcomes();

  // --- Queries.
  // Whether this peer has left, or has no member to leave.
  bool left() const;
  Round trainer_round() const;
  Round committed() const;
  const View& view() const;
  const LinkRates& link_rates() const;
  ParkingStats parking() const;
  MembershipState state() const;
  // Those that this peer may have a link with: members, and newcomers that it knows of.
  std::set<PeerId> partners() const;
  // Why an open round does not end, for people: the members whose part is missing.
  std::string owed_text() const;
  // All but the training side's wait_seconds.
  SwarmStatus status() const;
  // RoundCore's.
  ResidualState residual_state() const;
  Ticket ticket(Duration valid_for);
  bool stands(const Ticket& ticket) const;
  const Hash256& recipe_hash() const;
  // The record of its memberships that this peer keeps, for its next process.
  VoterRecord record() const;
  // A hash of the state of all parts without clocks and texts; the same after the same events.
  Hash128 fingerprint() const;

 private:
  OnOwnerThread<SwarmParts> parts_;
};

}  // namespace weft
