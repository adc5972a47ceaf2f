// Endpoints in messages that strangers may have written: a few short texts, "host:port" each.
//
// Threads: functions of their arguments. Fails: the reader fails, with the field's name.
#pragma once

#include <string>
#include <vector>

#include "weft/wire/codec.h"

namespace weft {

inline constexpr std::uint32_t kHintEndpointsMax = 4;
inline constexpr std::size_t kHintEndpointBytesMax = 96;

// Writes a u32 count, then each endpoint as text: the first kHintEndpointsMax of those that are
// short enough.
void write_endpoints(Writer& out, const std::vector<std::string>& endpoints);
// Reads from `least` to kHintEndpointsMax endpoints, each printable, without a blank and with a
// colon.
std::vector<std::string> read_endpoints(Reader& in, std::uint32_t least = 1);

}  // namespace weft
