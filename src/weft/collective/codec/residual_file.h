// ResidualFile: what a member's codec has dropped, kept beside a checkpoint.
//
//   file := "weft residual 2\n" codec:u32 round:u64 count:u32 count x elements:u64 hash:16 bytes
//           all values, f32
//
// One vector for each exchange of a round, of no elements where nothing was dropped. Little-endian;
// the hash is XXH3-128 of what stands before it and of XXH3-128 of the values. The
// state of a run is one of all members, the residual one member's own, so it is no part of the
// checkpoint. It belongs to one round: beside a checkpoint of another round it is of no use, which
// RoundCodec finds.
//
// Threads: free functions, any thread. Fails: kUnavailable where the system refuses, kCorrupt for a
// damaged file, kInvalidArgument for one of another codec.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/status.h"
#include "weft/collective/codec/round_codec.h"

namespace weft {

// Replaces the file, so that a crash leaves the old or the new one; removes it where there is no
// residual. REQUIRES: at most kExchangesMax of them.
Status write_residual_file(const std::string& path, const Codec& codec, const ResidualState& state);
// A state without residual where there is no file. `elements_max`: of all exchanges together.
Result<ResidualState> read_residual_file(const std::string& path, const Codec& codec,
                                         std::uint64_t elements_max);

}  // namespace weft
