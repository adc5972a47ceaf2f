// What a member leaves for others in a public table: where it can be reached, signed.
//
//   record = version u16, key 32, unix time u64, count u32 x endpoint text, signature 64
//
// The signature covers the run id too, which is not in the record. In the table a record lies
// sealed (net/rendezvous.h): only who knows the run id reads or writes one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

inline constexpr std::uint16_t kRendezvousVersion = 1;
// Of an encoded record.
inline constexpr std::size_t kRendezvousRecordBytesMax = 600;

struct RendezvousRecord {
  std::array<std::uint8_t, 32> key{};
  // When it was written.
  std::int64_t unix_time_s = 0;
  // At least one.
  std::vector<std::string> endpoints;
  std::array<std::uint8_t, 64> signature{};

  // What the signature is over, in the run `run`.
  Bytes signed_part(const RunId& run) const;
  Bytes encode() const;
  static Result<RendezvousRecord> decode(ByteSpan bytes);
};

}  // namespace weft
