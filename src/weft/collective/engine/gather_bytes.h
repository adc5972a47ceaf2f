// gather_bytes(): gathers the bytes of every member of an engine, of unequal lengths, by rank.
//
// Bytes that fit into a small slot go in one all-gather; if a member has more, a second one
// follows, whose length all know from the first.
//
// Where it stands: train's EngineExchange gathers the reports of a round with it. Threads: as
// Engine. Fails: kInvalidArgument if this member's bytes are more than `bytes_max`, before anything
// is sent; kCorrupt at all members if another's are; as the engine's calls.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/collective/engine/engine.h"

namespace weft {

// All members call it with the same `bytes_max` and options.
Result<std::vector<Bytes>> gather_bytes(Engine& engine, ByteSpan own, std::size_t bytes_max,
                                        const CallOptions& options);

}  // namespace weft
