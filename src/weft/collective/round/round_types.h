// The values that a RoundCore takes and gives: its options, how rounds end, what they wait for.
//
// Threads: values; reports_of() and the makers of values: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/codec/round_codec.h"
#include "weft/collective/reduce/all_reduce.h"
#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/collective/state/result_log.h"
#include "weft/wire/ids.h"

namespace weft {

struct RoundCoreOptions {
  PeerId self;
  // What identifies an exchange and its team, `start_open`, `residual` and `encoder` are set for
  // each exchange.
  AllReduceOptions all_reduce;
  // Where members share hosts, large vectors are summed in each host first, and one member of each
  // exchanges with the other hosts.
  bool by_host = swarm_defaults::kByHost;
  // Each member reports on its part of a round: report() is to follow begin(). The same at all.
  bool reports = false;
  // Where it is not exact, members gather encoded inputs (payload_collective.h). The same at all.
  Codec codec;
  // The residuals of this member's encoders, from a checkpoint.
  ResidualState residual;
  // Empty: make_collective().
  CollectiveMaker make_core;
  // A member that owes data and does not answer for this long is reported.
  Duration stall_timeout = swarm_defaults::kStallTimeout;
  // When no data of an open round has arrived for this long, all members are asked for their
  // progress, and again after each such interval; see waiting().
  Duration wait_interval = std::chrono::seconds(2);
};

// How a begun round ended here.
struct RoundOutcome {
  Round round;
  // ok: committed. kAborted: run it again in the new view. Else: it cannot go on at all.
  Status status;
  Hash128 hash{};
  // The results of all exchanges, one after the other.
  std::shared_ptr<FloatBuffer> values;
  // All members' reports, as RoundReports encodes them; empty where rounds have none.
  SharedBytes reports;
  // Since begin().
  Duration took{};
  // By rank, seconds since begin() until the report of that member was here; -1: it came another
  // way. Empty where rounds have no reports.
  std::vector<double> entry_seconds = {};
};
// The log's entry for a committed round.
ResultLog::Entry log_entry(RoundOutcome outcome);
// By rank. REQUIRES: empty, or of a result, which was found to decode when it came.
std::vector<Bytes> reports_of(const SharedBytes& reports);
// A round that never began.
RoundOutcome failed_outcome(Round round, Status why);

enum class StallKind : std::uint8_t {
  kStuck,    // it has nothing to wait for, and yet its data does not come: renew the link
  kSilent,   // no answer at all
  kDiffers,  // its result is another one
  kLies,     // it broke the rules of the exchange; `text` has the details
};

struct Stall {
  PeerId peer;
  StallKind kind{};
  Round round;
  Duration waited{};
  std::string text = {};
};

// An open round to which this member has given everything, and that does not move.
struct RoundWait {
  Round round;
  // All exchanges together.
  std::int64_t elements = 0;
  // Since the last piece of data, the last Done, or this member's own last input.
  Duration waited{};
  // Members that have reported since then that they still compute their input.
  std::vector<PeerId> computing;
  // If there are none: whose data this member lacks.
  std::vector<PeerId> owing;
  // Where rounds have reports, members whose report is not here: their input is not complete.
  std::vector<PeerId> absent = {};
  // Members for which data waits here to be sent.
  std::vector<PeerId> unsent = {};
};

// Members that have all they need but this one's input.
struct RoundAwaited {
  Round round;
  std::vector<PeerId> by;
};

}  // namespace weft
