// Discovery by a code (net/join_code.h): a peer asks the local network for the ticket behind it.
//
// The query is that of discovery with a tag under the code's key and the query's nonce: no two
// queries of a code are alike. The member that issued the code answers with the ticket, sealed
// under a key of code and nonce, so that an answer fits one query; inside stand what shows that the
// code is of its public key, and a signature over nonce and ticket. A wrong code is not answered.
//
// Threads: one owner. Fails: a datagram that is out of order gives the reason, or nothing.
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

// So many of them a member answers to; of more the oldest is forgotten.
inline constexpr std::size_t kOfferedCodesMax = 8;

// What a member tells the holder of a code.
struct OfferedCode {
  Hash256 key{};
  Hash256 salt{};
  // Its line; at most kCodeTicketBytesMax.
  std::string ticket;
  // Nobody is told anything from then on.
  std::int64_t expiry_unix_s = 0;
};

Hash256 code_query_tag(const Hash256& code_key, const DiscoveryNonce& nonce);
// The datagram, no longer than a query; nothing for a ticket that is too long.
std::optional<Bytes> answer_to_code(const PeerIdentity& issuer, const OfferedCode& offered,
                                    const DiscoveryNonce& nonce);

class CodeSearch {
 public:
  // Slow, as join_code_key().
  explicit CodeSearch(const JoinCode& code);

  // A query to send, each with a nonce of its own. Answers to any of the last eight are taken.
  Bytes query(const DiscoveryNonce& nonce);
  // The ticket of the code's issuer. kCorrupt for what is no answer to this search, kUnavailable
  // once too many were looked at. Slow for answers of those who know the code.
  Result<std::string> on_datagram(ByteSpan datagram);

 private:
  JoinCode code_;
  Hash256 key_;
  std::vector<DiscoveryNonce> nonces_;
  std::size_t datagrams_ = 0;
  // Opened ones, each of which costs a slow hash.
  std::size_t opened_ = 0;
};

}  // namespace weft
