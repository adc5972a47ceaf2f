// Offences of peers, accusations among members, and expulsions that follow from them.
#include <algorithm>
#include <chrono>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// An accusation is repeated after this, then after twice as long, up to the second.
constexpr Duration kRepeatGap = std::chrono::seconds(2);
constexpr Duration kRepeatGapMax = std::chrono::seconds(60);

}  // namespace

// Its promises and acceptances count on: without them a small group may lack a quorum to put it
// out.
bool Judgement::ignores(const PeerId& from, std::uint8_t type) const {
  const auto found = core_.watch.all().find(from);
  if (found == core_.watch.all().end() || !found->second.gone) return false;
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

// Whether this peer's observations, with the accusations of others, are enough to accuse a member.
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
  for (const auto& [other, member] : core_.watch.all()) {
    if (member.linked && other != peer) core_.send(other, frame_type::kAccusation, message);
  }
  state_.repeat_gap = kRepeatGap;
  state_.repeat_at = core_.now + state_.repeat_gap;
  judge(peer);
}

void Judgement::judge(const PeerId& peer) {
  const auto found = core_.watch.all().find(peer);
  const Member* member = core_.view.find(peer);
  if (found == core_.watch.all().end() || member == nullptr ||
      !state_.accusations.convicts(core_.view, peer))
    return;
  const std::optional<Departure>& gone = found->second.gone;
  if (gone && gone->cause == DepartureCause::kExpelled) return;
  core_.watch.put_out(peer, Departure{peer, member->incarnation, DepartureCause::kExpelled,
                                      state_.accusations.verdict(core_.view, peer)});
}

void Judgement::hurry_repetition() {
  if (state_.repeat_at != kNever) state_.repeat_at = core_.now;
}

// A member may have had no link when it was sent, or have joined since. This goes on while the view
// changes: a member that votes on an expulsion must have received the accusations.
void Judgement::repeat_accusations() {
  if (core_.now < state_.repeat_at) return;
  const std::vector<AccusationMessage> own = state_.accusations.by(core_.options.self);
  if (own.empty()) {
    state_.repeat_at = kNever;
    return;
  }
  state_.repeat_gap = std::min(2 * state_.repeat_gap, kRepeatGapMax);
  state_.repeat_at = core_.now + state_.repeat_gap;
  for (const auto& [other, member] : core_.watch.all()) {
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
  const int votes = state_.accusations.count(peer);
  if (state_.accusations.convicts(core_.view, peer)) {
    return "peer " + peer.short_name() + " is expelled: " + std::to_string(votes) + " of " +
           std::to_string(others) + " others have voted for it";
  }
  return std::to_string(votes) + " of " + std::to_string(others) + " others accuse peer " +
         peer.short_name() + "; it is expelled once " + std::to_string(others / 2 + 1) + " do";
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
    state_.repeat_gap = kRepeatGap;
    state_.repeat_at = core_.now + state_.repeat_gap;
  }
  for (const Member& member : change.joined) {
    const auto is_it = [&](const PeerId& peer) { return peer == member.id; };
    const bool near =
        std::any_of(core_.watch.observed().begin(), core_.watch.observed().end(), is_it) ||
        std::any_of(core_.watch.observers().begin(), core_.watch.observers().end(), is_it);
    if (near && core_.links.up(member.id)) core_.bans.send_revocations(member.id);
  }
}

// A branch that did not know of a ban may have kept that peer as a member. One report expels no
// member, so each member that knows of the ban accuses the peer.
void Judgement::accuse_banned() {
  for (const Member& member : core_.view.members) {
    const std::string* reason = core_.bans.revocations().ban_reason(member.id);
    if (reason == nullptr || member.id == core_.options.self) continue;
    const std::string evidence = "it was expelled before: " + *reason;
    accuse(member.id, Offence::kByHand, evidence.substr(0, kReasonBytesMax));
  }
}

void Judgement::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
