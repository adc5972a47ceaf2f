// Discovery by a code (net/join_code.h): a peer asks the local network for the ticket behind it.
//
// The query is that of discovery with a tag under the code's key and the query's nonce, so that no
// two queries for a code are alike. The member that issued the code answers with the ticket, sealed
// under a key made from code and nonce, so that an answer fits one query; it contains the proof
// that the code belongs to the issuer's public key, and a signature over nonce and ticket. A wrong
// code gets no answer.
//
// Threads: one owner. Fails: an invalid datagram gives the reason, or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/net/identity.h"
#include "weft/net/join_code.h"
#include "weft/wire/discovery_message.h"

namespace weft {

// A member answers for at most this many codes; when there are more, the oldest is dropped.
inline constexpr std::size_t kOfferedCodesMax = 8;

// What a member sends to the holder of a code.
struct OfferedCode {
  Hash256 key{};
  Hash256 salt{};
  // The ticket's line, at most kCodeTicketBytesMax long.
  std::string ticket;
  // The code gets no answer from then on.
  std::int64_t expiry_unix_s = 0;
};

Hash256 code_query_tag(const Hash256& code_key, const DiscoveryNonce& nonce);
// The datagram to send, no longer than a query; nothing if the ticket is too long.
std::optional<Bytes> answer_to_code(const PeerIdentity& issuer, const OfferedCode& offered,
                                    const DiscoveryNonce& nonce);

class CodeSearch {
 public:
  // Slow, like join_code_key().
  explicit CodeSearch(const JoinCode& code);

  // Returns a query to send; each has a nonce of its own. Answers to any of the last eight are
  // accepted.
  Bytes query(const DiscoveryNonce& nonce);
  // Returns the ticket of the code's issuer. kCorrupt if the datagram is no answer to this search,
  // kUnavailable after too many datagrams. Slow if the sender holds the code.
  Result<std::string> on_datagram(ByteSpan datagram);

 private:
  JoinCode code_;
  Hash256 key_;
  std::vector<DiscoveryNonce> nonces_;
  std::size_t datagrams_ = 0;
  // Number of answers opened, each of which costs a slow hash.
  std::size_t opened_ = 0;
};

}  // namespace weft
