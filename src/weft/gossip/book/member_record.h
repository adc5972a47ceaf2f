// MemberRecord: what a member has signed about itself, and how two such records are merged.
//
// A record has two parts, each signed by the owner for one run: its standing (address, here or
// left) and its presence (the last round in which it was there). Merging takes the greater of each
// part, so a set of records is a join-semilattice: whatever the order, and however often a record
// arrives, all members that have received the same records hold the same.
//
// IMPLEMENTATION: de Vos et al., "Decentralized learning made practical with client sampling"
// (MoDeST), 2023, merges views by per-field maximum in the same way; the signatures are ours: there
// members trust what others report about third ones. The order is theirs (counter, then the round),
// made total by the bytes, so that two standings that an owner signs with one counter are merged
// alike everywhere.
// Where it stands: AddressBook keeps the records, GossipCore signs its own.
// Threads: values and pure functions.
#pragma once

#include <functional>

#include "weft/net/identity.h"
#include "weft/wire/gossip_message.h"
#include "weft/wire/ids.h"

namespace weft {

// The id of the member that owns the record.
PeerId owner_of(const MemberRecord& record);

// Whether the first replaces the second.
bool is_newer(const MemberStanding& one, const MemberStanding& other);
bool is_newer(const MemberPresence& one, const MemberPresence& other);

// The greater of each part. REQUIRES: both of one owner.
MemberRecord merged(const MemberRecord& one, const MemberRecord& other);

// A member's key and a function that signs with it: PeerIdentity's, or in a simulation a
// deterministic one.
struct RecordSigner {
  PublicKey key{};
  std::function<RecordSignature(ByteSpan message)> sign{};
};
RecordSigner signer_of(const PeerIdentity& identity);

void sign_standing(const RecordSigner& signer, const RunId& run, MemberStanding& standing);
void sign_presence(const RecordSigner& signer, const RunId& run, MemberPresence& presence);

// Whether `signature` over `message` is of the holder of `key`.
using CheckSignature =
    std::function<bool(const PublicKey& key, ByteSpan message, const RecordSignature& signature)>;

}  // namespace weft
