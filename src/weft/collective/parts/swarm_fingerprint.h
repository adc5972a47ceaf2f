// What counts in a fingerprint (wire/fingerprint.h) of the types that a swarm's parts hold.
//
// Threads: pure. Fails: never.
#pragma once

#include "weft/base/status.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/state/state_fetch.h"
#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/voter_record.h"
#include "weft/wire/collective_message.h"
#include "weft/wire/fingerprint.h"
#include "weft/wire/membership_message.h"
#include "weft/wire/state_message.h"

namespace weft {

// Its text is for people.
void write_fingerprint(Fingerprint& out, const Status& value);
void write_fingerprint(Fingerprint& out, const CollectiveId& value);
// Sums and reports follow from the hash.
void write_fingerprint(Fingerprint& out, const RoundOutcome& value);
// Writes whether there is a stand-in, for which rounds, and whether it has more than zeros.
void write_fingerprint(Fingerprint& out, const StandIn& value);
void write_fingerprint(Fingerprint& out, const RoundWait& value);
// The state follows from its name.
void write_fingerprint(Fingerprint& out, const StateFetch::Snapshot& value);
void write_fingerprint(Fingerprint& out, const StateHistory& value);
void write_fingerprint(Fingerprint& out, const AbsorbedBranch& value);
void write_fingerprint(Fingerprint& out, const MergeDirective& value);
void write_fingerprint(Fingerprint& out, const HeldClaim& value);
void write_fingerprint(Fingerprint& out, const HeldStateMessage& value);
void write_fingerprint(Fingerprint& out, const PastRun& value);

}  // namespace weft
