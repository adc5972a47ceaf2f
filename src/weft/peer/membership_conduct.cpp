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
bool Judgement::ignores(const PeerId& from, std::uint8_t type) const {
  const auto found = core_.watched.find(from);
  if (found == core_.watched.end() || !found->second.gone) return false;
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
bool LinkTable::shuns(const PeerId& stranger) const {
  return core_.active() && core_.role(stranger) == PeerRole::kStranger &&
         core_.bans.revocations().ban_reason(stranger) == nullptr &&
         core_.judgement.conduct().bad(stranger, core_.now);
}

void Judgement::report(const PeerId& peer, const PeerId& by, Offence offence,
                       const std::string& evidence, bool accusation) {
  core_.sink.on_misconduct(
      {peer, by, offence, evidence, accusation, state_.conduct.score(peer, core_.now)});
}

void Judgement::blame(const PeerId& peer, Offence offence, const std::string& evidence) {
  if (peer == core_.options.self || !state_.conduct.note(peer, offence, evidence, core_.now))
    return;
  report(peer, core_.options.self, offence, evidence, false);
  consider(peer);
}

// Whether what was seen here, with what others say, is enough to accuse a member.
void Judgement::consider(const PeerId& peer) {
  if (!core_.active() || !core_.is_other_member(peer)) return;
  const double score = state_.conduct.score(peer, core_.now);
  const bool doubted = score >= kConductDoubt && state_.accusations.count(peer) > 0;
  if (score < kConductLimit && !doubted) return;
  if (const auto charge = state_.conduct.charge(peer))
    accuse(peer, charge->offence, charge->evidence);
}

void Judgement::accuse(const PeerId& peer, Offence offence, const std::string& evidence) {
  if (!state_.accusations.add(peer, core_.options.self, {offence, evidence})) return;
  report(peer, core_.options.self, offence, evidence, true);
  const AccusationMessage message{peer, offence, evidence};
  for (const auto& [other, member] : core_.watched) {
    if (member.linked && other != peer) core_.send(other, frame_type::kAccusation, message);
  }
  state_.retell_gap = kRetellGap;
  state_.retell_at = core_.now + state_.retell_gap;
  judge(peer);
}

void Judgement::judge(const PeerId& peer) {
  const auto found = core_.watched.find(peer);
  const Member* member = core_.view.find(peer);
  if (found == core_.watched.end() || member == nullptr ||
      !state_.accusations.convicts(core_.view, peer))
    return;
  std::optional<Departure>& gone = found->second.gone;
  if (gone && gone->cause == DepartureCause::kExpelled) return;
  gone = Departure{peer, member->incarnation, DepartureCause::kExpelled,
                   state_.accusations.verdict(core_.view, peer)};
  core_.own_news = core_.stirred = true;
}

void Judgement::hurry_retelling() {
  if (state_.retell_at != kNever) state_.retell_at = core_.now;
}

// Somebody may have had no link when it was told, or have come in since. Also while the view
// changes: whoever votes on an expulsion must have heard the accusers.
void Judgement::retell_accusations() {
  if (core_.now < state_.retell_at) return;
  const std::vector<AccusationMessage> own = state_.accusations.by(core_.options.self);
  if (own.empty()) {
    state_.retell_at = kNever;
    return;
  }
  state_.retell_gap = std::min(2 * state_.retell_gap, kRetellGapMax);
  state_.retell_at = core_.now + state_.retell_gap;
  for (const auto& [other, member] : core_.watched) {
    if (!member.linked) continue;
    for (const AccusationMessage& message : own) {
      if (message.accused != other) core_.send(other, frame_type::kAccusation, message);
    }
  }
}

void Judgement::on_accusation(const PeerId& from, const AccusationMessage& message) {
  if (!core_.active() || !core_.is_other_member(from) || message.accused == from) return;
  if (!core_.view.contains(message.accused)) return;
  if (!state_.accusations.add(message.accused, from, {message.offence, message.evidence})) return;
  report(message.accused, from, message.offence, message.evidence, true);
  consider(message.accused);
  judge(message.accused);
}

Result<std::string> Judgement::expel(const PeerId& peer, const std::string& reason) {
  if (!core_.active()) return unavailable("expel: this peer is no member at present");
  if (peer == core_.options.self) {
    return invalid_argument("expel: that is this peer itself; stop it with Ctrl-C instead");
  }
  if (!core_.is_other_member(peer)) {
    return invalid_argument("expel: no member is called " + peer.short_name());
  }
  state_.conduct.note(peer, Offence::kByHand, reason, core_.now);
  accuse(peer, Offence::kByHand, reason.substr(0, kReasonBytesMax));
  const int others = core_.view.size() - 1;
  const int voices = state_.accusations.count(peer);
  if (state_.accusations.convicts(core_.view, peer)) {
    return "peer " + peer.short_name() + " is put out: " + std::to_string(voices) + " of " +
           std::to_string(others) + " others say so";
  }
  return std::to_string(voices) + " of " + std::to_string(others) + " others accuse peer " +
         peer.short_name() + "; it is put out once " + std::to_string(others / 2 + 1) + " do";
}

RevocationMessage BanList::learn(const RevocationMessage& told,
                                 const std::function<bool(const PeerId&)>& spares) {
  return state_.revocations.learn(told, spares);
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
  for (const auto& [peer, member] : core_.watched) {
    if (member.linked) core_.send(peer, frame_type::kRevocation, news);
  }
  return {};
}

void BanList::tell_revocations(const PeerId& to) {
  if (!core_.active() || state_.revocations.empty()) return;
  RevocationMessage all = state_.revocations.message();
  // The key comes with the view that admits a newcomer.
  if (!core_.is_other_member(to)) {
    all.renewals = 0;
    all.key = {};
  }
  state_.bans_told[to] = all.bans.size();
  core_.send(to, frame_type::kRevocation, all);
}

// To a proposer, unless it has been told.
void BanList::tell_bans(const PeerId& to) {
  state_.banned_at_promise.clear();
  const std::vector<Ban> bans = state_.revocations.message().bans;
  for (const Ban& ban : bans) state_.banned_at_promise.insert(ban.peer);
  const auto told = state_.bans_told.find(to);
  const std::size_t known = told == state_.bans_told.end() ? 0 : told->second;
  if (to != core_.options.self && bans.size() > known) tell_revocations(to);
}

// News go on to a few others: with each member doing so they reach all, whoever lost its link.
void BanList::on_revocation(const PeerId& from, const RevocationMessage& message) {
  const bool syncing = core_.state == MembershipState::kSyncing && core_.joining.attempt() &&
                       core_.joining.attempt()->known.contains(from);
  if (!syncing && !(core_.active() && core_.is_other_member(from))) return;
  // Putting a member out takes more than one word.
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
  for (const PeerId& observer : core_.observers_of_self) {
    if (observer != from && core_.links.up(observer)) {
      core_.send(observer, frame_type::kRevocation, news);
    }
  }
}

void Judgement::take_verdicts(const ViewNoticeMessage& next, const ViewChange& change) {
  for (const Departure& departure : next.value.departures) {
    if (departure.cause != DepartureCause::kExpelled || core_.view.contains(departure.id)) continue;
    core_.bans.ban({departure.id, departure.reason});
    core_.bans.shut_out(departure.id, departure.reason);
    if (core_.links.up(departure.id)) {
      core_.sink.close(departure.id, unavailable("expelled: " + departure.reason));
    }
  }
  core_.bans.apply_spared_bans(change);
  state_.accusations.keep(core_.view);
  accuse_banned();
  for (const PeerId& peer : state_.accusations.accused()) judge(peer);
  if (!change.joined.empty() && !state_.accusations.by(core_.options.self).empty()) {
    state_.retell_gap = kRetellGap;
    state_.retell_at = core_.now + state_.retell_gap;
  }
  for (const Member& member : change.joined) {
    const auto is_it = [&](const PeerId& peer) { return peer == member.id; };
    const bool near =
        std::any_of(core_.observed.begin(), core_.observed.end(), is_it) ||
        std::any_of(core_.observers_of_self.begin(), core_.observers_of_self.end(), is_it);
    if (near && core_.links.up(member.id)) core_.bans.tell_revocations(member.id);
  }
}

// Whoever is out of the run is nobody's former member or newcomer any more.
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
    const bool old = core_.now - it->second.heard > kSparedLife;
    it = out || old ? state_.spared.erase(it) : std::next(it);
  }
}

// A branch that did not know of a verdict may have kept its object as a member. One's word puts
// nobody out, so each that knows of it says so.
void Judgement::accuse_banned() {
  for (const Member& member : core_.view.members) {
    const std::string* reason = core_.bans.revocations().ban_reason(member.id);
    if (reason == nullptr || member.id == core_.options.self) continue;
    const std::string evidence = "it was put out before: " + *reason;
    accuse(member.id, Offence::kByHand, evidence.substr(0, kReasonBytesMax));
  }
}

// --- Membership.

Status Membership::revoke(const InvitationId& invitation, TimePoint now) {
  core_->now = now;
  Status status = core_->bans.revoke(invitation);
  core_->settle();
  return status;
}

Result<std::string> Membership::expel(const PeerId& peer, const std::string& reason,
                                      TimePoint now) {
  core_->now = now;
  Result<std::string> outcome = core_->judgement.expel(peer, reason);
  core_->settle();
  return outcome;
}

void Membership::blame(const PeerId& peer, Offence offence, const std::string& evidence,
                       TimePoint now) {
  core_->now = now;
  core_->judgement.blame(peer, offence, evidence);
  core_->settle();
}

}  // namespace weft
