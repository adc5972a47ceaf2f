// Exchange: what the run loop needs from a group of peers; Swarm is the one implementation.
//
// It stands between the learning side and the network so that the run loop can be driven through
// aborts, catch-up and lost quorums by a test without sockets. The methods and their contracts
// are those of collective/swarm.h.
// Threads: one owner, the training thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/codec/round_codec.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/peer/ticket.h"

namespace weft {

class Swarm;

// With whom a member that agrees with nobody has averaged in a round.
struct Mixing {
  std::int64_t members = 1;     // that it knows to be there, itself included
  std::int64_t neighbours = 0;  // that it has sent its parameters to
  std::int64_t mixed = 0;       // whose parameters came in time
  // From its own parameters to the mean with theirs, over the norm of its own.
  double distance = 0;
};

// What a round came to. Spans are valid until the next call of next().
struct RoundResult {
  std::span<const float> sums;
  // The reports of the members that were in the round, by rank; see train/report/round_report.h.
  std::span<const Bytes> reports;
  // Where members average with neighbours; its distance is not known here.
  std::optional<Mixing> mixing{};
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual Result<Turn> next() = 0;
  // Rounds wait for all members where it does nothing.
  virtual void stand_in(const StandIn& /*stand_in*/) {}
  virtual Status begin(std::int64_t elements) = 0;
  virtual void contribute(std::int64_t offset, std::span<const float> values) = 0;
  // What this member reports of the begun round: once, or the round never ends. Fails: where it is
  // too long, or not the time for it.
  virtual Status report(Bytes report) = 0;
  virtual Result<RoundResult> finish() = 0;
  virtual void applied(Round round, const StateHash& hash) = 0;
  virtual void publish_state(Round round, Bytes state) = 0;
  // Newcomers wait for the end of the round where it does nothing.
  virtual void lend_state(const StateReader& /*read*/) {}
  virtual Status leave(Duration limit) = 0;
  // The text of a ticket that others can use from now on; empty where nobody can join.
  virtual Result<std::string> ticket(Duration valid_for) = 0;
  // A code by which peers of this network get the ticket of that line. Any thread.
  virtual Result<std::string> join_code(const std::string& /*ticket*/) {
    return unavailable("code: this run has no tickets");
  }
  // Those of collective/swarm.h; any thread. Groups with fixed members have neither.
  virtual Status revoke(const InvitationId& /*invitation*/) {
    return unavailable("revoke: this run has no tickets");
  }
  virtual Result<std::string> expel(const PeerId& /*peer*/, const std::string& /*reason*/) {
    return unavailable("expel: the members of this run are fixed");
  }
  virtual Result<SwarmStatus> status() = 0;
  // What this member's codec has dropped since the last committed round; none where it has none.
  virtual Result<ResidualState> residual_state() { return ResidualState{}; }
  virtual std::vector<SwarmEvent> take_events() = 0;
  virtual const PeerId& self() const = 0;
};

std::unique_ptr<Exchange> make_swarm_exchange(std::unique_ptr<Swarm> swarm);

}  // namespace weft
