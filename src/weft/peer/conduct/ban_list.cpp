// Banned peers and void invitations: how members learn of them.
#include <algorithm>
#include <chrono>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

// A ban of a member is kept for this long, until the view that it comes from is installed.
constexpr Duration kSparedLife = std::chrono::seconds(60);

}  // namespace

// Whether a newcomer in it was out of the run when this peer made its promise.
bool BanList::admits_banned(const ViewValue& value) const {
  return std::any_of(value.members.begin(), value.members.end(), [&](const Member& member) {
    return state_.banned_at_promise.count(member.id) != 0 && !core_.view.contains(member.id);
  });
}

RevocationMessage BanList::learn(const RevocationMessage& received,
                                 const std::function<bool(const PeerId&)>& spares) {
  return state_.revocations.learn(received, spares);
}

// Joiners that came by it and are no members yet go.
void BanList::void_invitation(const InvitationId& invitation, const PeerId& by) {
  std::vector<PeerId> lost;
  for (const auto& [peer, joiner] : core_.newcomers.joiners()) {
    const bool by_it = invitation == kAllInvitations || joiner.invitation == invitation;
    if (joiner.sponsor == core_.options.self && by_it) lost.push_back(peer);
  }
  for (const PeerId& peer : lost)
    core_.newcomers.drop_joiner(peer, unavailable("its ticket was revoked"));
  core_.sink.on_revoked(invitation, by);
}

Status BanList::revoke(const InvitationId& invitation) {
  if (!core_.active()) return unavailable("revoke: this peer is no member at present");
  if (state_.revocations.revoked(invitation)) return {};
  RevocationMessage news;
  if (invitation == kAllInvitations) {
    state_.revocations.renew(core_.sink.fresh_secret());
    core_.options.invitation_key = state_.revocations.key();
    core_.former.forget_former_members();
    news.renewals = state_.revocations.renewals();
    news.key = state_.revocations.key();
  } else if (state_.revocations.revoke(invitation)) {
    news.invitations = {invitation};
  } else {
    return unavailable("revoke: the run remembers at most " + std::to_string(kRevokedMax) +
                       " revoked tickets; revoke all of them instead");
  }
  void_invitation(invitation, core_.options.self);
  for (const auto& [peer, member] : core_.watch.all()) {
    if (member.linked) core_.send(peer, frame_type::kRevocation, news);
  }
  return {};
}

void BanList::send_revocations(const PeerId& to) {
  if (!core_.active() || state_.revocations.empty()) return;
  RevocationMessage all = state_.revocations.message();
  // The key comes with the view that admits a newcomer.
  if (!core_.is_other_member(to)) {
    all.renewals = 0;
    all.key = {};
  }
  state_.bans_sent[to] = all.bans.size();
  core_.send(to, frame_type::kRevocation, all);
}

Hash128 BanList::digest() const {
  Writer out;
  // In the order of their ids.
  for (const Ban& ban : state_.revocations.message().bans) out.peer(ban.peer);
  return out.written().empty() ? Hash128{} : xxh3_128(out.written());
}

// Sends the bans to a proposer, unless it has the same or was sent them.
void BanList::send_bans(const PeerId& to, const Hash128& theirs) {
  state_.banned_at_promise.clear();
  const std::vector<Ban> bans = state_.revocations.message().bans;
  for (const Ban& ban : bans) state_.banned_at_promise.insert(ban.peer);
  const auto sent = state_.bans_sent.find(to);
  const std::size_t known = sent == state_.bans_sent.end() ? 0 : sent->second;
  if (to == core_.options.self || bans.size() <= known) return;
  if (theirs != digest()) send_revocations(to);
}

// Each member passes news on to a few others, so that they reach all, even if some lost their
// links.
void BanList::on_revocation(const PeerId& from, const RevocationMessage& message) {
  const bool syncing = core_.state == MembershipState::kSyncing && core_.joining.attempt() &&
                       core_.joining.attempt()->known.contains(from);
  if (!syncing && !(core_.active() && core_.is_other_member(from))) return;
  // To expel a member takes more than one report.
  const auto spares = [this, syncing](const PeerId& peer) {
    return peer == core_.options.self || (!syncing && core_.view.contains(peer));
  };
  for (const Ban& ban : message.bans) {
    const bool waits = !syncing && core_.view.contains(ban.peer) && ban.peer != core_.options.self;
    if (waits && state_.spared.size() < kBansMax)
      state_.spared.insert_or_assign(ban.peer, SparedBan{ban.reason, core_.now});
  }
  const RevocationMessage news = state_.revocations.learn(message, spares);
  if (news.renewals == 0 && news.invitations.empty() && news.bans.empty()) return;
  if (news.renewals > 0) core_.options.invitation_key = news.key;
  // To a newcomer they are history.
  if (syncing) return;
  if (news.renewals > 0) {
    core_.former.forget_former_members();
    void_invitation(kAllInvitations, from);
  }
  for (const InvitationId& invitation : news.invitations) void_invitation(invitation, from);
  for (const Ban& ban : news.bans) shut_out(ban.peer, ban.reason);
  for (const PeerId& observer : core_.watch.observers()) {
    if (observer != from && core_.links.up(observer)) {
      core_.send(observer, frame_type::kRevocation, news);
    }
  }
}

// A banned peer is no former member or newcomer any more.
void BanList::shut_out(const PeerId& peer, const std::string& reason) {
  core_.former.shut_out(peer);
  core_.newcomers.drop_joiner(peer, unavailable("expelled: " + reason));
}

// A view that was missed here put them out: now that they are members no more, the verdict holds.
void BanList::apply_spared_bans(const ViewChange& change) {
  for (auto it = state_.spared.begin(); it != state_.spared.end();) {
    const PeerId peer = it->first;
    const bool out = change.caught_up && !core_.view.contains(peer);
    if (out && state_.revocations.ban({peer, it->second.reason})) {
      shut_out(peer, it->second.reason);
      if (core_.links.up(peer)) {
        core_.sink.close(peer, unavailable("expelled: " + it->second.reason));
      }
    }
    const bool old = core_.now - it->second.seen_at > kSparedLife;
    it = out || old ? state_.spared.erase(it) : std::next(it);
  }
}

void BanList::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
