#include "weft/net/transport.h"

#include <string_view>

namespace weft {

// What such a Status says, in the words of whoever dials.
static constexpr std::string_view kNobodyListens = "nobody listens";

bool nobody_listens(const Status& why) {
  return why.message().find(kNobodyListens) != std::string::npos;
}

std::string_view to_string(LinkPath path) {
  switch (path) {
    case LinkPath::kDirect:
      return "direct";
    case LinkPath::kMapped:
      return "mapped";
    case LinkPath::kPunched:
      return "punched";
    case LinkPath::kRelayed:
      return "relayed";
  }
  return "unknown";
}

}  // namespace weft
