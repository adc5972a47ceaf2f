// What counts in a fingerprint (wire/fingerprint.h) of the types that a membership's parts hold.
//
// Threads: pure. Fails: never.
#pragma once

#include "weft/net/transport.h"
#include "weft/peer/agreement.h"
#include "weft/peer/conduct.h"
#include "weft/peer/membership.h"
#include "weft/peer/revocations.h"
#include "weft/wire/branch_message.h"
#include "weft/wire/fingerprint.h"

namespace weft {

void write_fingerprint(Fingerprint& out, const Member& value);
void write_fingerprint(Fingerprint& out, const PeerAddress& value);
void write_fingerprint(Fingerprint& out, const Departure& value);
// All else that a view is follows from its name.
void write_fingerprint(Fingerprint& out, const View& value);
void write_fingerprint(Fingerprint& out, const StandingMessage& value);
void write_fingerprint(Fingerprint& out, const EarlierRun& value);
void write_fingerprint(Fingerprint& out, const Revocations& value);
void write_fingerprint(Fingerprint& out, const Accusations& value);
void write_fingerprint(Fingerprint& out, const Agreement& value);
// Writes nothing: the peer of the link is written beside it.
void write_fingerprint(Fingerprint& out, const LinkInfo& value);

}  // namespace weft
