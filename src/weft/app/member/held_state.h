// What a restarted peer takes from --out: its memberships and its state.
//
// Threads: the main thread. Fails: as the files do; damaged files and those of another run are
// ignored, with a note in the event log.
#pragma once

#include <optional>

#include "weft/app/folder/out_folder.h"
#include "weft/app/member/resume.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/net/identity.h"
#include "weft/peer/ticket.h"
#include "weft/peer/voter_record.h"
#include "weft/train/event/event_log.h"
#include "weft/train/run/trainer.h"

namespace weft {

// The record in `out` of the memberships of `identity`; nothing if there is no valid one.
std::optional<VoterRecord> past_membership(const OutFolder& out, const PeerIdentity& identity,
                                           EventLog& log);

// `ticket` with the members of the record's last view and those that the run had lost before behind
// its own, within its bounds.
Ticket with_old_members(Ticket ticket, const VoterRecord& past);

// Which run the newest checkpoint was saved in; zeros if it is not stored.
Result<RunId> checkpoint_run(const OutFolder& out);

struct HeldCheckpoint {
  Round round;
  RunId run{};
};
// Loads the newest good checkpoint of a peer that joins `run`: if all members have died, and this
// one is ahead of the others, the run goes on from there. Round 0 if it has none of the run's
// history. Checkpoints of other runs are set aside and reported to `resume.note`.
Result<HeldCheckpoint> held_checkpoint(Trainer& trainer, const OutFolder& out,
                                       const std::optional<VoterRecord>& past, const RunId& run,
                                       const ResumeOptions& resume);

// What this peer's codec had dropped when the checkpoint after `round` was written; nothing if
// there is no residual of that round. `log` gets a note if the file is damaged or of another codec.
ResidualState held_residual(const OutFolder& out, const SwarmOptions& options, Round round,
                            EventLog& log);

// The waiting of a former member that finds nobody: all may have died.
class Comeback {
 public:
  Comeback(const Clock& clock, EventLog& log) : clock_(clock), log_(log), began_(clock.now()) {}
  // Reports at intervals what it waits for, and pauses. False once the limit has passed, the person
  // wants to stop, or `why` shows that waiting cannot help.
  bool waits(const Status& why);

 private:
  const Clock& clock_;
  EventLog& log_;
  TimePoint began_;
  std::optional<TimePoint> told_;
};

}  // namespace weft
