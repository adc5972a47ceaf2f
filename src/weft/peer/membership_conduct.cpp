// What peers did, who is put out for it, and which invitations are void.
#include <algorithm>

#include "weft/peer/membership_core.h"

namespace weft {
namespace {

// An accusation is told again after this, then after twice as long, up to the second.
constexpr Duration kRetellGap = std::chrono::seconds(2);
constexpr Duration kRetellGapMax = std::chrono::seconds(60);
// A verdict on a member is kept for so long, until the view that it comes from is installed.
constexpr Duration kSparedLife = std::chrono::seconds(60);

}  // namespace

// Its promises and acceptances count on: without them a small group may lack a quorum to put it
// out.
bool Membership::Core::ignores(const PeerId& from, std::uint8_t type) const {
  const auto found = watched.find(from);
  if (found == watched.end() || !found->second.gone) return false;
  if (found->second.gone->cause != DepartureCause::kExpelled) return false;
  switch (type) {
    case frame_type::kSuspicion:
    case frame_type::kPrepare:
    case frame_type::kAccept:
    case frame_type::kJoiner:
    case frame_type::kAccusation:
    case frame_type::kRevocation:
      return true;
    default:
      return false;
  }
}

// Banned peers get a link and an answer: the ban is told to them, once.
bool Membership::Core::shuns(const PeerId& stranger) const {
  return active() && role(stranger) == PeerRole::kStranger &&
         revocations.ban_reason(stranger) == nullptr && conduct.bad(stranger, now);
}

void Membership::Core::report(const PeerId& peer, const PeerId& by, Offence offence,
                              const std::string& evidence, bool accusation) {
  sink.on_misconduct({peer, by, offence, evidence, accusation, conduct.score(peer, now)});
}

void Membership::Core::blame(const PeerId& peer, Offence offence, const std::string& evidence) {
  if (peer == options.self || !conduct.note(peer, offence, evidence, now)) return;
  report(peer, options.self, offence, evidence, false);
  consider(peer);
}

// Whether what was seen here, with what others say, is enough to accuse a member.
void Membership::Core::consider(const PeerId& peer) {
  if (!active() || !is_other_member(peer)) return;
  const double score = conduct.score(peer, now);
  const bool doubted = score >= kConductDoubt && accusations.count(peer) > 0;
  if (score < kConductLimit && !doubted) return;
  if (const auto charge = conduct.charge(peer)) accuse(peer, charge->offence, charge->evidence);
}

void Membership::Core::accuse(const PeerId& peer, Offence offence, const std::string& evidence) {
  if (!accusations.add(peer, options.self, {offence, evidence})) return;
  report(peer, options.self, offence, evidence, true);
  const AccusationMessage message{peer, offence, evidence};
  for (const auto& [other, member] : watched) {
    if (member.linked && other != peer) send(other, frame_type::kAccusation, message);
  }
  retell_gap = kRetellGap;
  retell_at = now + retell_gap;
  judge(peer);
}

void Membership::Core::judge(const PeerId& peer) {
  const auto found = watched.find(peer);
  const Member* member = view.find(peer);
  if (found == watched.end() || member == nullptr || !accusations.convicts(view, peer)) return;
  std::optional<Departure>& gone = found->second.gone;
  if (gone && gone->cause == DepartureCause::kExpelled) return;
  gone = Departure{peer, member->incarnation, DepartureCause::kExpelled,
                   accusations.verdict(view, peer)};
  own_news = stirred = true;
}

// Somebody may have had no link when it was told, or have come in since. Also while the view
// changes: whoever votes on an expulsion must have heard the accusers.
void Membership::Core::retell_accusations() {
  if (now < retell_at) return;
  const std::vector<AccusationMessage> own = accusations.by(options.self);
  if (own.empty()) {
    retell_at = kNever;
    return;
  }
  retell_gap = std::min(2 * retell_gap, kRetellGapMax);
  retell_at = now + retell_gap;
  for (const auto& [other, member] : watched) {
    if (!member.linked) continue;
    for (const AccusationMessage& message : own) {
      if (message.accused != other) send(other, frame_type::kAccusation, message);
    }
  }
}

void Membership::Core::on_accusation(const PeerId& from, const AccusationMessage& message) {
  if (!active() || !is_other_member(from) || message.accused == from) return;
  if (!view.contains(message.accused)) return;
  if (!accusations.add(message.accused, from, {message.offence, message.evidence})) return;
  report(message.accused, from, message.offence, message.evidence, true);
  consider(message.accused);
  judge(message.accused);
}

Result<std::string> Membership::Core::expel(const PeerId& peer, const std::string& reason) {
  if (!active()) return unavailable("expel: this peer is no member at present");
  if (peer == options.self) {
    return invalid_argument("expel: that is this peer itself; stop it with Ctrl-C instead");
  }
  if (!is_other_member(peer)) {
    return invalid_argument("expel: no member is called " + peer.short_name());
  }
  conduct.note(peer, Offence::kByHand, reason, now);
  accuse(peer, Offence::kByHand, reason.substr(0, kReasonBytesMax));
  const int others = view.size() - 1;
  const int voices = accusations.count(peer);
  if (accusations.convicts(view, peer)) {
    return "peer " + peer.short_name() + " is put out: " + std::to_string(voices) + " of " +
           std::to_string(others) + " others say so";
  }
  return std::to_string(voices) + " of " + std::to_string(others) + " others accuse peer " +
         peer.short_name() + "; it is put out once " + std::to_string(others / 2 + 1) + " do";
}

// Joiners that came by it and are no members yet go.
void Membership::Core::void_invitation(const InvitationId& invitation, const PeerId& by) {
  std::vector<PeerId> lost;
  for (const auto& [peer, joiner] : joiners) {
    const bool by_it = invitation == kAllInvitations || joiner.invitation == invitation;
    if (joiner.sponsor == options.self && by_it) lost.push_back(peer);
  }
  for (const PeerId& peer : lost) drop_joiner(peer, unavailable("its ticket was revoked"));
  sink.on_revoked(invitation, by);
}

Status Membership::Core::revoke(const InvitationId& invitation) {
  if (!active()) return unavailable("revoke: this peer is no member at present");
  if (revocations.revoked(invitation)) return {};
  RevocationMessage news;
  if (invitation == kAllInvitations) {
    revocations.renew(sink.fresh_secret());
    options.invitation_key = revocations.key();
    forget_former_members();
    news.renewals = revocations.renewals();
    news.key = revocations.key();
  } else if (revocations.revoke(invitation)) {
    news.invitations = {invitation};
  } else {
    return unavailable("revoke: the run remembers at most " + std::to_string(kRevokedMax) +
                       " revoked tickets; revoke all of them instead");
  }
  void_invitation(invitation, options.self);
  for (const auto& [peer, member] : watched) {
    if (member.linked) send(peer, frame_type::kRevocation, news);
  }
  return {};
}

void Membership::Core::tell_revocations(const PeerId& to) {
  if (!active() || revocations.empty()) return;
  RevocationMessage all = revocations.message();
  // The key comes with the view that admits a newcomer.
  if (!is_other_member(to)) {
    all.renewals = 0;
    all.key = {};
  }
  bans_told[to] = all.bans.size();
  send(to, frame_type::kRevocation, all);
}

// To a proposer, unless it has been told.
void Membership::Core::tell_bans(const PeerId& to) {
  banned_at_promise.clear();
  const std::vector<Ban> bans = revocations.message().bans;
  for (const Ban& ban : bans) banned_at_promise.insert(ban.peer);
  const auto told = bans_told.find(to);
  const std::size_t known = told == bans_told.end() ? 0 : told->second;
  if (to != options.self && bans.size() > known) tell_revocations(to);
}

// News go on to a few others: with each member doing so they reach all, whoever lost its link.
void Membership::Core::on_revocation(const PeerId& from, const RevocationMessage& message) {
  const bool syncing =
      state == MembershipState::kSyncing && attempt && attempt->known.contains(from);
  if (!syncing && !(active() && is_other_member(from))) return;
  // Putting a member out takes more than one word.
  const auto spares = [this, syncing](const PeerId& peer) {
    return peer == options.self || (!syncing && view.contains(peer));
  };
  for (const Ban& ban : message.bans) {
    const bool waits = !syncing && view.contains(ban.peer) && ban.peer != options.self;
    if (waits && spared.size() < kBansMax)
      spared.insert_or_assign(ban.peer, SparedBan{ban.reason, now});
  }
  const RevocationMessage news = revocations.learn(message, spares);
  if (news.renewals == 0 && news.invitations.empty() && news.bans.empty()) return;
  if (news.renewals > 0) options.invitation_key = news.key;
  // To a newcomer they are history.
  if (syncing) return;
  if (news.renewals > 0) {
    forget_former_members();
    void_invitation(kAllInvitations, from);
  }
  for (const InvitationId& invitation : news.invitations) void_invitation(invitation, from);
  for (const Ban& ban : news.bans) shut_out(ban.peer, ban.reason);
  for (const PeerId& observer : observers_of_self) {
    if (observer != from && links.count(observer) != 0) {
      send(observer, frame_type::kRevocation, news);
    }
  }
}

void Membership::Core::take_verdicts(const ViewNoticeMessage& next, const ViewChange& change) {
  for (const Departure& departure : next.value.departures) {
    if (departure.cause != DepartureCause::kExpelled || view.contains(departure.id)) continue;
    revocations.ban({departure.id, departure.reason});
    shut_out(departure.id, departure.reason);
    if (links.count(departure.id) != 0) {
      sink.close(departure.id, unavailable("expelled: " + departure.reason));
    }
  }
  apply_spared_bans(change);
  accusations.keep(view);
  accuse_banned();
  for (const PeerId& peer : accusations.accused()) judge(peer);
  if (!change.joined.empty() && !accusations.by(options.self).empty()) {
    retell_gap = kRetellGap;
    retell_at = now + retell_gap;
  }
  for (const Member& member : change.joined) {
    const auto is_it = [&](const PeerId& peer) { return peer == member.id; };
    const bool near = std::any_of(observed.begin(), observed.end(), is_it) ||
                      std::any_of(observers_of_self.begin(), observers_of_self.end(), is_it);
    if (near && links.count(member.id) != 0) tell_revocations(member.id);
  }
}

// Whoever is out of the run is nobody's former member or newcomer any more.
void Membership::Core::shut_out(const PeerId& peer, const std::string& reason) {
  former.erase(peer);
  const auto gone = departed.find(peer);
  if (gone != departed.end()) gone->second.cause = DepartureCause::kExpelled;
  drop_joiner(peer, unavailable("expelled: " + reason));
}

// A view that was missed here put them out: now that they are members no more, the verdict holds.
void Membership::Core::apply_spared_bans(const ViewChange& change) {
  for (auto it = spared.begin(); it != spared.end();) {
    const PeerId peer = it->first;
    const bool out = change.caught_up && !view.contains(peer);
    if (out && revocations.ban({peer, it->second.reason})) {
      shut_out(peer, it->second.reason);
      if (links.count(peer) != 0) {
        sink.close(peer, unavailable("expelled: " + it->second.reason));
      }
    }
    const bool old = now - it->second.heard > kSparedLife;
    it = out || old ? spared.erase(it) : std::next(it);
  }
}

// A branch that did not know of a verdict may have kept its object as a member. One's word puts
// nobody out, so each that knows of it says so.
void Membership::Core::accuse_banned() {
  for (const Member& member : view.members) {
    const std::string* reason = revocations.ban_reason(member.id);
    if (reason == nullptr || member.id == options.self) continue;
    const std::string evidence = "it was put out before: " + *reason;
    accuse(member.id, Offence::kByHand, evidence.substr(0, kReasonBytesMax));
  }
}

// --- Membership.

Status Membership::revoke(const InvitationId& invitation, TimePoint now) {
  core_->now = now;
  Status status = core_->revoke(invitation);
  core_->settle();
  return status;
}

Result<std::string> Membership::expel(const PeerId& peer, const std::string& reason,
                                      TimePoint now) {
  core_->now = now;
  Result<std::string> outcome = core_->expel(peer, reason);
  core_->settle();
  return outcome;
}

void Membership::blame(const PeerId& peer, Offence offence, const std::string& evidence,
                       TimePoint now) {
  core_->now = now;
  core_->blame(peer, offence, evidence);
  core_->settle();
}

}  // namespace weft
