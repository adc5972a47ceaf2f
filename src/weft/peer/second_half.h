// Values whose second half is a hash of the first: the first half determines the whole.
//
// Tickets are checked by eye and typed, so run ids, invitations' ids and secrets have this form,
// and a ticket carries half of each. The strength of a value is that of its half: 128 bits in 32
// bytes. Threads: functions of their arguments. Fails: never.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"

namespace weft {

// `value` with a second half that follows from its first.
template <std::size_t N>
std::array<std::uint8_t, N> with_second_half(std::array<std::uint8_t, N> value) {
  static_assert(N % 2 == 0 && N <= 64);
  const Hash256 hash = Sha256()
                           .update(as_bytes(std::string_view("weft second half")))
                           .update(ByteSpan(value).first(N / 2))
                           .finish();
  std::copy_n(hash.begin(), N / 2, value.begin() + N / 2);
  return value;
}

template <std::size_t N>
bool has_second_half(const std::array<std::uint8_t, N>& value) {
  return with_second_half(value) == value;
}

}  // namespace weft
