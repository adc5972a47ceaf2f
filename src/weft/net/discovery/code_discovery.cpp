#include "weft/net/code_discovery.h"

#include <algorithm>

#include "weft/net/identity/sealed.h"
#include "weft/wire/codec.h"

namespace weft {

namespace {

constexpr std::size_t kCodeNoncesMax = 8;
constexpr std::size_t kCodeDatagramsMax = 2048;
constexpr std::size_t kCodeOpenedMax = 16;

Hash256 code_seal_key(const Hash256& code_key, const DiscoveryNonce& nonce) {
  return hmac_sha256(code_key, Writer().text("weft code answer").raw(nonce).written());
}

Bytes signed_ticket(const CodeTicket& ticket, const DiscoveryNonce& nonce) {
  return Writer().text("weft code ticket").raw(nonce).bytes(ticket.signed_part()).take();
}

}  // namespace

Hash256 code_query_tag(const Hash256& code_key, const DiscoveryNonce& nonce) {
  return hmac_sha256(code_key, Writer().text("weft code query").raw(nonce).written());
}

std::optional<Bytes> answer_to_code(const PeerIdentity& issuer, const OfferedCode& offered,
                                    const DiscoveryNonce& nonce) {
  if (offered.ticket.size() > kCodeTicketBytesMax) return std::nullopt;
  CodeTicket inside;
  inside.key = issuer.public_key();
  inside.salt = offered.salt;
  inside.ticket = offered.ticket;
  inside.signature = issuer.sign(signed_ticket(inside, nonce));
  CodeAnswer answer;
  answer.nonce = nonce;
  answer.sealed = seal(code_seal_key(offered.key, nonce), nonce, inside.encode());
  return answer.encode();
}

CodeSearch::CodeSearch(const JoinCode& code) : code_(code), key_(join_code_key(code)) {}

Bytes CodeSearch::query(const DiscoveryNonce& nonce) {
  if (nonces_.size() == kCodeNoncesMax) nonces_.erase(nonces_.begin());
  nonces_.push_back(nonce);
  return DiscoveryQuery{nonce, code_query_tag(key_, nonce), {}}.encode();
}

Result<std::string> CodeSearch::on_datagram(ByteSpan datagram) {
  if (datagrams_ >= kCodeDatagramsMax) return unavailable("code: too many datagrams");
  ++datagrams_;
  WEFT_TRY_ASSIGN(const CodeAnswer answer, CodeAnswer::decode(datagram));
  if (std::find(nonces_.begin(), nonces_.end(), answer.nonce) == nonces_.end()) {
    return corrupt("code: the answer is to no query of ours");
  }
  const Result<Bytes> plain =
      open_sealed(code_seal_key(key_, answer.nonce), answer.nonce, answer.sealed);
  if (!plain.ok()) return corrupt("code: the sender does not know the code");
  if (opened_ >= kCodeOpenedMax) return unavailable("code: too many answers");
  ++opened_;
  WEFT_TRY_ASSIGN(CodeTicket inside, CodeTicket::decode(*plain));
  if (!signature_valid(inside.key, signed_ticket(inside, answer.nonce), inside.signature)) {
    return corrupt("code: the signature is not its sender's");
  }
  if (join_code_of(inside.key, inside.salt) != code_) {
    return corrupt("code: the sender did not issue it");
  }
  return std::move(inside.ticket);
}

}  // namespace weft
