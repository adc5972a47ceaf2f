// Revocations: which invitations are void, and which peers are out for the rest of the run.
//
// Every member holds the same set, soon: additions are told to all, repaired where a link comes up,
// and given to newcomers. Nothing is ever taken back, so the order of messages does not matter. A
// renewed invitation key makes all earlier invitations void; of two the one renewed more often
// counts, then the larger.
// Threads: a value.
// Fails: never; a full set takes no more.
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
  // Takes over what is new and returns it. Bans of peers for which `spares` holds are passed over.
  RevocationMessage learn(const RevocationMessage& told,
                          const std::function<bool(const PeerId&)>& spares);

 private:
  std::uint64_t renewals_ = 0;
  Hash256 key_{};
  std::set<InvitationId> invitations_;
  std::map<PeerId, std::string> bans_;
};

}  // namespace weft
