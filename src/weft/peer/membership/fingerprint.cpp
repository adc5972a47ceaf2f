// What distinguishes two memberships, for exploring every order of events.
#include "weft/peer/parts/fingerprint.h"

#include <memory>
#include <tuple>
#include <utility>

#include "weft/peer/parts/membership_core.h"

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

void write_fingerprint(Fingerprint& out, const Member& value) {
  out.add(value.id);
  out.add(value.incarnation);
}

void write_fingerprint(Fingerprint& out, const PeerAddress& value) { out.add(value.id); }

void write_fingerprint(Fingerprint& out, const Departure& value) {
  out.add(value.id);
  out.add(value.incarnation);
  out.out().u8(static_cast<std::uint8_t>(value.cause));
}

void write_fingerprint(Fingerprint& out, const View& value) { out.add(value.id); }

void write_fingerprint(Fingerprint& out, const StandingMessage& value) {
  out.add(xxh3_128(value.encode()));
}

void write_fingerprint(Fingerprint& out, const EarlierRun& value) {
  out.add(value.run);
  out.add(std::uint64_t{value.generation});
}

void write_fingerprint(Fingerprint& out, const Revocations& value) {
  const RevocationMessage all = value.message();
  out.add(all.renewals);
  out.add(all.key);
  out.add(all.invitations);
  out.add(all.bans.size());
  for (const Ban& ban : all.bans) out.add(ban.peer);
}

void write_fingerprint(Fingerprint& out, const Accusations& value) { out.add(value.pairs()); }

void write_fingerprint(Fingerprint& out, const Agreement& value) { value.write_state(out.out()); }

void write_fingerprint(Fingerprint& /*out*/, const LinkInfo& /*value*/) {}

// Among its options only the incarnation and the key may change.
void Membership::Core::fingerprint(Fingerprint& out) const {
  out.add(static_cast<const MembershipCoreState&>(*this));
  out.add(options.incarnation);
  out.add(options.invitation_key);
  std::apply([&out](const auto&... part) { (part.fingerprint(out), ...); }, parts());
}

Hash128 Membership::fingerprint() const {
  Fingerprint out;
  core_->fingerprint(out);
  return out.finish();
}

std::unique_ptr<Membership> Membership::copy() const {
  return std::unique_ptr<Membership>(new Membership(std::make_unique<Core>(*core_)));
}

}  // namespace weft
