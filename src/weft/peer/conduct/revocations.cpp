#include "weft/peer/revocations.h"

#include <tuple>

namespace weft {

bool Revocations::revoke(const InvitationId& invitation) {
  return !full() && invitations_.insert(invitation).second;
}

bool Revocations::ban(const Ban& entry) {
  return bans_.size() < kBansMax && bans_.emplace(entry.peer, entry.reason).second;
}

void Revocations::renew(const Hash256& key) {
  ++renewals_;
  key_ = key;
  // Whatever was made with the earlier key is void by that.
  invitations_.clear();
}

const std::string* Revocations::ban_reason(const PeerId& peer) const {
  const auto found = bans_.find(peer);
  return found == bans_.end() ? nullptr : &found->second;
}

RevocationMessage Revocations::message() const {
  RevocationMessage all;
  all.renewals = renewals_;
  all.key = key_;
  all.invitations.assign(invitations_.begin(), invitations_.end());
  for (const auto& [peer, reason] : bans_) all.bans.push_back({peer, reason});
  return all;
}

RevocationMessage Revocations::learn(const RevocationMessage& received,
                                     const std::function<bool(const PeerId&)>& spares) {
  RevocationMessage news;
  if (std::tie(received.renewals, received.key) > std::tie(renewals_, key_) &&
      received.renewals > 0) {
    news.renewals = renewals_ = received.renewals;
    news.key = key_ = received.key;
    invitations_.clear();
  }
  for (const InvitationId& invitation : received.invitations) {
    if (invitation != kAllInvitations && revoke(invitation)) news.invitations.push_back(invitation);
  }
  for (const Ban& entry : received.bans) {
    if (!spares(entry.peer) && ban(entry)) news.bans.push_back(entry);
  }
  return news;
}

}  // namespace weft
