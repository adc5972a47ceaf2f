// What tells two memberships apart, for those who explore every order of events.
//
// Clocks, deadlines, jitter and texts are left out: whether a timer is set counts, not for when.
#include "weft/peer/parts/membership_core.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

void write_ballot(Writer& out, const Ballot& ballot) {
  out.u64(ballot.counter).peer(ballot.proposer);
}

void write_value(Writer& out, const ViewValue& value) {
  Writer all;
  write_view_value(all, value);
  out.raw(xxh3_128(all.written()));
}

void write_flag(Writer& out, bool flag) { out.u8(flag ? 1 : 0); }

void write_watched(Writer& out, const PeerId& peer, const Watched& member) {
  out.peer(peer);
  write_flag(out, member.linked);
  write_flag(out, member.had_link);
  out.u8(member.own ? static_cast<std::uint8_t>(1 + static_cast<int>(member.own->kind)) : 0);
  write_flag(out, member.own && member.own->tellings > 0);
  out.u8(member.gone ? static_cast<std::uint8_t>(1 + static_cast<int>(member.gone->cause)) : 0);
  for (const auto& [reporter, report] : member.reports) out.peer(reporter);
}

void write_joiner(Writer& out, const PeerId& peer, const Joiner& joiner) {
  out.peer(peer).u64(joiner.member.incarnation).peer(joiner.sponsor);
  write_flag(out, joiner.linked);
  write_flag(out, joiner.ready);
}

void write_attempt(Writer& out, const JoinAttempt& attempt) {
  out.peer(attempt.asked.value_or(PeerId())).peer(attempt.sponsor.value_or(PeerId()));
  out.view(attempt.known.id).round(attempt.caught_up.value_or(Round()));
  out.u64(attempt.next);
  for (const PeerAddress& candidate : attempt.candidates) out.peer(candidate.id);
  write_flag(out, attempt.request_sent);
  write_flag(out, attempt.caught_up.has_value());
  write_flag(out, attempt.unreached_told);
}

}  // namespace

void Agreement::write_state(Writer& out) const {
  write_ballot(out, promised_);
  write_flag(out, accepted_.has_value());
  if (accepted_) {
    write_ballot(out, accepted_->ballot);
    write_value(out, accepted_->value);
  }
  out.u8(static_cast<std::uint8_t>(phase_)).u64(counter_seen_);
  if (phase_ == Phase::kNone) return;
  write_ballot(out, ballot_);
  out.u64(static_cast<std::uint64_t>(quorum_));
  for (const auto& [peer, promise] : promises_) {
    out.peer(peer).round(promise.status.done);
    if (promise.accepted) write_ballot(out, promise.accepted->ballot);
  }
  if (phase_ != Phase::kAccepting) return;
  write_value(out, proposed_);
  for (const PeerId& peer : acceptances_) out.peer(peer);
}

Hash128 Membership::fingerprint() const {
  const Core& core = *core_;
  Writer out;
  out.u8(static_cast<std::uint8_t>(core.state)).view(core.view.id).u64(core.options.incarnation);
  for (const bool flag :
       {core.frozen, core.own_news, core.must_change, core.leaving, core.propose_at != kNever,
        core.trouble_since.has_value(), core.quorum.lacks(), core.branching.retired(),
        core.branching.founding(), core.meetings.offers()}) {
    write_flag(out, flag);
  }
  for (const auto& [peer, link] : core.links.all()) out.peer(peer);
  out.u8(0xff);
  for (const auto& [peer, member] : core.watched) write_watched(out, peer, member);
  out.u8(0xff);
  for (const auto& [peer, joiner] : core.newcomers.joiners()) write_joiner(out, peer, joiner);
  out.u8(0xff);
  for (const auto& [peer, departure] : core.former.departed())
    out.peer(peer).u64(departure.incarnation);
  for (const auto& [peer, member] : core.former.all()) out.peer(peer);
  for (const auto& [peer, claim] : core.evidence.claims()) out.peer(peer).view(claim.view);
  write_flag(out, core.evidence.has_hint());
  for (const auto& [branch, meeting] : core.meetings.all()) {
    out.raw(branch).view(meeting.standing.current.view);
    write_flag(out, meeting.ready);
  }
  if (core.joining.attempt()) write_attempt(out, *core.joining.attempt());
  if (core.agreement) core.agreement->write_state(out);
  if (core.past.life()) {
    out.view(core.past.life()->view.id);
    core.past.life()->agreement.write_state(out);
  }
  return xxh3_128(out.written());
}

std::unique_ptr<Membership> Membership::copy() const {
  return std::unique_ptr<Membership>(new Membership(std::make_unique<Core>(*core_)));
}

}  // namespace weft
