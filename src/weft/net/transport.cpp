#include "weft/net/transport.h"

namespace weft {

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
