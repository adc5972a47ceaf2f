#include "weft/gossip/book/member_record.h"

#include <algorithm>
#include <tuple>

#include "weft/base/check.h"

namespace weft {

PeerId owner_of(const MemberRecord& record) { return peer_id_of(record.key); }

bool is_newer(const MemberStanding& one, const MemberStanding& other) {
  // A member that left is gone from the run in this life, whatever else it signed with this number.
  return std::tie(one.counter, one.left, one.endpoints, one.signature) >
         std::tie(other.counter, other.left, other.endpoints, other.signature);
}

bool is_newer(const MemberPresence& one, const MemberPresence& other) {
  return std::tie(one.round, one.signature) > std::tie(other.round, other.signature);
}

MemberRecord merged(const MemberRecord& one, const MemberRecord& other) {
  WEFT_CHECK(one.key == other.key);
  MemberRecord out = one;
  if (is_newer(other.standing, out.standing)) out.standing = other.standing;
  if (is_newer(other.presence, out.presence)) out.presence = other.presence;
  return out;
}

RecordSigner signer_of(const PeerIdentity& identity) {
  return {identity.public_key(), [identity](ByteSpan message) { return identity.sign(message); }};
}

void sign_standing(const RecordSigner& signer, const RunId& run, MemberStanding& standing) {
  standing.signature = signer.sign(signed_standing(run, standing));
}

void sign_presence(const RecordSigner& signer, const RunId& run, MemberPresence& presence) {
  presence.signature = signer.sign(signed_presence(run, presence));
}

}  // namespace weft
