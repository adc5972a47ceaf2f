// RoundExchange: what a step needs from a group of peers, and nothing else of it: turns, rounds,
// their sums and reports.
//
// It stands between the learning side and the network so that steps and the run loop can be driven
// through aborts, catch-up and lost quorums by a test without sockets. A turn of kind kTrain is
// answered by begin(), contribute() until every element was given once, report() and finish(), then
// applied(). Where the group is administered is GroupAdministration. What not every exchange can do
// has an answer for that: no method does nothing in silence.
//
// Where it stands: run loop, steps -> here -> SwarmExchange and its siblings; AuditExchange wraps
// one. Threads: one owner, the training thread. Fails: kAborted where the view changed and the
// round is to be run again; else as the group behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/collective/codec/round_codec.h"
#include "weft/collective/parts/swarm_types.h"

namespace weft {

// With whom a member that agrees with nobody has averaged in a round.
struct Mixing {
  std::int64_t members = 1;     // that it knows to be there, itself included
  std::int64_t neighbours = 0;  // that it has sent its parameters to
  std::int64_t mixed = 0;       // whose parameters came in time
  // From its own parameters to the mean with theirs, over the norm of its own.
  double distance = 0;
  // All members work for one model; otherwise each has one of its own.
  bool common = false;
};

// What a round came to. Spans are valid until the next call of next().
struct RoundResult {
  std::span<const float> sums;
  // The reports of the members that were in the round, by rank; see train/report/round_report.h.
  std::span<const Bytes> reports;
  // Where members average with neighbours; its distance is not known here.
  std::optional<Mixing> mixing{};
  // Where members need not all take the same steps: how many are behind the result.
  std::int64_t steps = 0;
};

// The state of a member for peers that join while the run goes on.
class StateLender {
 public:
  // The answer to a turn of kind kSnapshot: the state after `round`.
  virtual void publish_state(Round round, Bytes state) = 0;
  // From a kTrain turn on, until finish() or next() or this with nothing: `read` may be called on
  // another thread, once. Each of these waits while it runs. The state may not change meanwhile.
  virtual void lend_state(const StateReader& read) = 0;

 protected:
  ~StateLender() = default;
};

class RoundExchange {
 public:
  virtual ~RoundExchange() = default;
  // The next task; waits for it, in bounded pieces: kWait where there is none yet.
  virtual Result<Turn> next() = 0;
  // What stands in for this member's part of the round of the last kTrain turn and of later ones
  // where it comes too late; before begin(). kUnavailable: rounds wait for all members here.
  virtual Status stand_in(const StandIn& stand_in) = 0;
  virtual Status begin(std::int64_t elements) = 0;
  // Elements [offset, offset + size) are ready. Borrows `values` until finish() returns.
  virtual void contribute(std::int64_t offset, std::span<const float> values) = 0;
  // What this member reports of the begun round: once, or the round never ends. Fails: where it is
  // too long, or not the time for it.
  virtual Status report(Bytes report) = 0;
  virtual Result<RoundResult> finish() = 0;
  // The state after `round` is in place; compared with the other members'.
  virtual void applied(Round round, const StateHash& hash) = 0;
  // Null where nobody takes the state from here: the members are fixed, or newcomers get it
  // elsewhere. Lives as long as this.
  virtual StateLender* state_lender() = 0;
  // What this member's codec has dropped since the last committed round; empty where the codec
  // keeps nothing.
  virtual Result<ResidualState> residual_state() = 0;
};

}  // namespace weft
