// JoinCode: what one reads over so that a machine on the same network may join, in place of a
// ticket: k7q2m4-xd9fhj-2wpz8y.
//
// 17 symbols of 5 bits and one that is a check: any one mistyped symbol is noticed, and any two
// exchanged. The letters i, l, o and u are not among them; i and l are read as 1 and o as 0,
// capitals as small letters, and blanks and dashes are passed over.
//
// A code is a secret and a commitment. It is the beginning of a slow hash over its issuer's public
// key and drawn bytes (`salt`), so nobody else can show a key and bytes that give the same code:
// not even others who were told it. What the two sides say to each other is under another slow hash
// of the code itself. Who overhears them can try codes: 2^85, each for 2^17 rounds of HMAC-SHA-256
// (PBKDF2, RFC 8018), which is 2^102 in all.
// Threads: functions of their arguments; those that hash slowly take about 0.1 s, so not on the
// loop thread. Fails: kInvalidArgument for what is no code, with the reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/net/identity.h"

namespace weft {

struct JoinCode {
  // Each below 32; the check follows from them.
  std::array<std::uint8_t, 17> symbols{};
  friend bool operator==(const JoinCode&, const JoinCode&) = default;
};

std::string format_join_code(const JoinCode& code);
// Whether `text` is more like a code than like a ticket: then parse_join_code() says what is wrong
// with it.
bool looks_like_join_code(std::string_view text);
// Words before it, such as "weft join", quotes and a full stop are passed over, too.
Result<JoinCode> parse_join_code(std::string_view text);

// The code of a peer with this key. Slow.
JoinCode join_code_of(const PublicKey& issuer, const Hash256& salt);
// What the holders of the code derive their keys from. Slow.
Hash256 join_code_key(const JoinCode& code);

struct IssuedJoinCode {
  JoinCode code;
  Hash256 key{};
  Hash256 salt{};
};
// Draws a salt. Slow.
IssuedJoinCode issue_join_code(const PublicKey& issuer);

}  // namespace weft
