// Revocations: the invitations that are void, and the peers that are expelled for the rest of the
// run.
//
// All members soon hold the same set: additions are sent to all, repaired when a link comes up, and
// sent to newcomers. Nothing is ever removed, so the order of messages does not matter. A renewed
// invitation key makes all earlier invitations void; of two keys the one renewed more often counts,
// then the larger one. Threads: a value. Fails: never; a full set accepts no more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "weft/wire/admission_message.h"

namespace weft {

class Revocations {
 public:
  // False if it is known already, or the set is full.
  bool revoke(const InvitationId& invitation);
  bool ban(const Ban& entry);
  // Makes `key` the next one.
  void renew(const Hash256& key);

  bool revoked(const InvitationId& invitation) const { return invitations_.count(invitation) != 0; }
  // Null for a peer that is not banned.
  const std::string* ban_reason(const PeerId& peer) const;
  bool full() const { return invitations_.size() >= kRevokedMax; }
  bool empty() const { return renewals_ == 0 && invitations_.empty() && bans_.empty(); }
  // 0 and zeros as long as the run has its first key.
  std::uint64_t renewals() const { return renewals_; }
  const Hash256& key() const { return key_; }

  // All of it, for a peer that may lack some.
  RevocationMessage message() const;
  // Adopts new entries and returns them. Bans of peers for which `spares` holds are skipped.
  RevocationMessage learn(const RevocationMessage& received,
                          const std::function<bool(const PeerId&)>& spares);

 private:
  std::uint64_t renewals_ = 0;
  Hash256 key_{};
  std::set<InvitationId> invitations_;
  std::map<PeerId, std::string> bans_;
};

}  // namespace weft
