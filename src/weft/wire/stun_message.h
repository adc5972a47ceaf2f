// STUN's binding request and its answer: under which address a server sees this machine.
//
//   message   = type u16, length u16, cookie u32, transaction 12, attribute*   (all big-endian)
//   attribute = type u16, length u16, value padded to 4 bytes
//   request   = type 0x0001 without attributes
//   reply     = type 0x0101 with XOR-MAPPED-ADDRESS (0x0020) or MAPPED-ADDRESS (0x0001)
//
// IMPLEMENTATION: RFC 8489, sections 5, 6, 14.1 and 14.2. Requests only, without authentication,
// since only a diagnosis depends on the answer.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kStunReplyBytesMax = 1500;

using StunTransaction = std::array<std::uint8_t, 12>;

struct StunRequest {
  StunTransaction transaction{};

  Bytes encode() const;
};

struct StunReply {
  StunTransaction transaction{};
  // The address (4 or 16 bytes) and the port, as the server saw them.
  Bytes address;
  std::uint16_t port = 0;

  // kCorrupt if the bytes are no binding answer with an address. Unknown attributes are skipped.
  static Result<StunReply> decode(ByteSpan bytes);
};

}  // namespace weft
