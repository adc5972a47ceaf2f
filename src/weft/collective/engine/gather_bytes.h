// gather_bytes(): what every member of an engine has to say, by rank: bytes of unequal lengths.
//
// What fits into a small slot goes in one all-gather; where somebody has more, a second one
// follows, whose length all know from the first.
//
// Where it stands: train's EngineExchange gathers the reports of a round with it. Threads: as
// Engine. Fails: kInvalidArgument where this member's are more than `bytes_max`, before anybody is
// asked; kCorrupt, at all alike, where another's are; as the engine's calls.
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
