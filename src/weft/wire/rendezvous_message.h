// A signed record of where a member can be reached, which it leaves in a public table.
//
//   record = version u16, key 32, unix time u64, count u32 x endpoint text, signature 64
//
// The signature also covers the run id, which is not in the record. The record is sealed in the
// table (net/rendezvous.h): only holders of the run id read or write one.
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
// The bound of an encoded record.
inline constexpr std::size_t kRendezvousRecordBytesMax = 600;

struct RendezvousRecord {
  std::array<std::uint8_t, 32> key{};
  // When the record was written.
  std::int64_t unix_time_s = 0;
  // At least one endpoint.
  std::vector<std::string> endpoints;
  std::array<std::uint8_t, 64> signature{};

  // The bytes that the signature covers, for the run `run`.
  Bytes signed_part(const RunId& run) const;
  Bytes encode() const;
  static Result<RendezvousRecord> decode(ByteSpan bytes);
};

}  // namespace weft
