// Payload: an encoded vector as it travels, behind a head that says what it is and how long.
//
//   payload := element_type:u8 codec:u32 elements:u64 length:u64 length x u8     little-endian
//
// `codec` is Codec::id(), so members whose codecs or options differ find out with the first bytes.
// The length is the sender's claim: the reader of a head checks it against the expected length
// before it allocates anything.
//
// Where it stands: collective gathers payloads of members. Threads: values.
// Fails: read_payload_head with kCorrupt.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

enum class ElementType : std::uint8_t { kF32 = 0 };

struct PayloadHead {
  ElementType element_type = ElementType::kF32;
  std::uint32_t codec = 0;
  std::uint64_t elements = 0;
  // The bytes after the head.
  std::uint64_t length_bytes = 0;
  friend bool operator==(const PayloadHead&, const PayloadHead&) = default;
};

inline constexpr std::size_t kPayloadHeadBytes = 1 + 4 + 8 + 8;

// What a receiver takes.
struct PayloadLimits {
  std::uint32_t codec = 0;
  std::uint64_t elements = 0;
  std::uint64_t length_bytes_max = 0;
};

// Appends kPayloadHeadBytes to `out`.
void write_payload_head(const PayloadHead& head, Bytes& out);
// Reads the head that `bytes` begins with. kCorrupt where it is cut off, of another type, codec or
// number of elements, or longer than `limits` allow.
Result<PayloadHead> read_payload_head(ByteSpan bytes, const PayloadLimits& limits);

}  // namespace weft
