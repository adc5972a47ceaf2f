// The fields of a ticket as bytes; the grammar is in peer/ticket.h.
//
// Threads: functions of their arguments. Fails: kInvalidArgument, with the wrong field.
#pragma once

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/peer/ticket.h"

namespace weft {

Bytes encode_ticket_fields(const Ticket& ticket);
Result<Ticket> decode_ticket_fields(ByteSpan bytes);

}  // namespace weft
