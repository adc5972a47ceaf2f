// JoinCode: a short code that a person reads aloud so that a machine on the same network may join
// without a ticket: k7q2m4-xd9fhj-2wpz8y.
//
// It has 17 symbols of 5 bits and a check symbol, which detects any one mistyped symbol and any two
// exchanged ones. The letters i, l, o and u are not used; i and l are read as 1 and o as 0,
// capitals as small letters, and blanks and dashes are skipped.
//
// A code is a secret and a commitment. It is the beginning of a slow hash over its issuer's public
// key and random bytes (`salt`), so nobody else can show a key and bytes that give the same code,
// not even others who hold the code. The two sides encrypt their messages under another slow hash
// of the code itself. An eavesdropper can try codes: 2^85 of them at 2^17 rounds of HMAC-SHA-256
// each (PBKDF2, RFC 8018), which is 2^102 rounds in total.
// Threads: functions of their arguments; those that hash slowly take about 0.1 s, so do not call
// them on the loop thread. Fails: kInvalidArgument, with the reason, if the text is no code.
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
  // The symbols without the check, which follows from them; each is below 32.
  std::array<std::uint8_t, 17> symbols{};
  friend bool operator==(const JoinCode&, const JoinCode&) = default;
};

std::string format_join_code(const JoinCode& code);
// True if `text` looks more like a code than like a ticket: then parse_join_code() reports what is
// wrong with it.
bool looks_like_join_code(std::string_view text);
// Skips words before the code, such as "weft join", as well as quotes and a full stop.
Result<JoinCode> parse_join_code(std::string_view text);

// Makes the code of a peer with this key. Slow.
JoinCode join_code_of(const PublicKey& issuer, const Hash256& salt);
// The key from which the holders of the code derive others. Slow.
Hash256 join_code_key(const JoinCode& code);

struct IssuedJoinCode {
  JoinCode code;
  Hash256 key{};
  Hash256 salt{};
};
// Draws a salt and makes the code. Slow.
IssuedJoinCode issue_join_code(const PublicKey& issuer);

}  // namespace weft
