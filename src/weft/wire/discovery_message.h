// The datagrams with which the members of runs are found on a local network.
//
//   head   = magic u32, version u16, kind u8 (1 query, 2 answer, 3 answer to a code)
//   query  = head, nonce 16, tag 32, proof 32, zeros up to kDiscoveryQueryBytes
//   answer = head, nonce 16, tag 32, key 32, unix time u64, members u32, name text,
//            count u32 x endpoint text, invite u8, [open], run proof 32, signature 64
//   code   = head, nonce 16, sealed bytes; sealed (net/identity/sealed.h):
//            key 32, salt 32, ticket text, signature 64
//   open   = run id 32, recipe hash 32, invitation 16, expiry u64, secret 32; only of invite 0
//
// The tag is a hash of the run id: who holds a ticket finds its run, and who listens does not learn
// the id. A tag of zeros asks for any run; then there is no proof, and an answer has endpoints only
// where the run is open. The tag of a query by code differs each time, and a peer that holds the
// code sends an answer of its own kind (net/code_discovery.h). No answer is longer than a query, so
// that a query under a false address brings its victim no more bytes than its sender has spent.
// net/discovery.h defines what the proof and the signature cover.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"
#include "weft/wire/join_message.h"

namespace weft {

inline constexpr std::uint32_t kDiscoveryMagic = 0x64666577;  // "wefd"
inline constexpr std::uint16_t kDiscoveryVersion = 2;
inline constexpr std::size_t kDiscoveryQueryBytes = 1024;
inline constexpr std::size_t kDiscoveryNameBytesMax = 64;

using DiscoveryNonce = std::array<std::uint8_t, 16>;

struct DiscoveryQuery {
  // Drawn for this query; answers repeat it.
  DiscoveryNonce nonce{};
  Hash256 tag{};
  // Shows that the asker holds the run id.
  Hash256 proof{};

  Bytes encode() const;
  static Result<DiscoveryQuery> decode(ByteSpan bytes);
};

// How a newcomer is admitted to the run.
enum class DiscoveryInvite : std::uint8_t { kOpen = 0, kTicket = 1, kAllowlist = 2 };

// What a ticket of an open run holds besides addresses: anybody may have it.
struct OpenInvitation {
  RunId run{};
  Hash256 recipe_hash{};
  InvitationId invitation{};
  std::int64_t expiry_unix_s = 0;
  Hash256 secret{};
  friend bool operator==(const OpenInvitation&, const OpenInvitation&) = default;
};

struct DiscoveryAnswer {
  DiscoveryNonce nonce{};
  Hash256 tag{};
  // The answering member's Ed25519 key.
  std::array<std::uint8_t, 32> key{};
  std::int64_t unix_time_s = 0;
  std::uint32_t members = 0;
  // The run's name, for people.
  std::string name;
  std::vector<std::string> endpoints;
  DiscoveryInvite invite = DiscoveryInvite::kTicket;
  // Present where invite is kOpen.
  std::optional<OpenInvitation> open;
  Hash256 run_proof{};
  std::array<std::uint8_t, 64> signature{};

  // All but the signature.
  Bytes signed_part() const;
  Bytes encode() const;
  static Result<DiscoveryAnswer> decode(ByteSpan bytes);
};

// The answer to a query by a code.
struct CodeAnswer {
  DiscoveryNonce nonce{};
  Bytes sealed;

  Bytes encode() const;
  static Result<CodeAnswer> decode(ByteSpan bytes);
};

// The content of a CodeAnswer: the ticket, and the proof that its sender issued the code.
struct CodeTicket {
  std::array<std::uint8_t, 32> key{};
  std::array<std::uint8_t, 32> salt{};
  std::string ticket;
  std::array<std::uint8_t, 64> signature{};

  // All but the signature.
  Bytes signed_part() const;
  Bytes encode() const;
  static Result<CodeTicket> decode(ByteSpan bytes);
};

// The bounds keep every answer as short as a query.
inline constexpr std::size_t kCodeSealedBytesMax = kDiscoveryQueryBytes - 7 - 16 - 4;
inline constexpr std::size_t kCodeTicketBytesMax = kCodeSealedBytesMax - 28 - 32 - 32 - 4 - 64;

}  // namespace weft
