#include "weft/wire/ids.h"

namespace weft {

std::string PeerId::short_name() const { return to_base32(ByteSpan(bytes).first(5)); }
std::string PeerId::to_string() const { return to_hex(bytes); }

}  // namespace weft
