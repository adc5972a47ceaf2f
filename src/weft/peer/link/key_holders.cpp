// The run's key: which peers have it, to which ones this peer shows that it has it, and tickets of
// an earlier run.
#include <algorithm>
#include <array>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
void KeyHolders::on_link_down(const PeerId& peer) {
  state_.key_shown.erase(peer);
  state_.key_shown_to.erase(peer);
}

void KeyHolders::forget_shown() {
  state_.key_shown.clear();
  state_.key_shown_to.clear();
}

bool KeyHolders::has_key() const { return core_.options.invitation_key != Hash256{}; }

RunKey KeyHolders::run_key() const {
  return {core_.bans.revocations().renewals(), core_.options.invitation_key};
}

void KeyHolders::learn_key(const RunKey& key) {
  if (key.key == Hash256{}) return;
  RevocationMessage renewed;
  renewed.renewals = key.renewals;
  renewed.key = key.key;
  if (key.renewals == 0) {
    if (!has_key()) core_.options.invitation_key = key.key;
  } else if (core_.bans.learn(renewed, [](const PeerId&) { return true; }).renewals > 0) {
    core_.options.invitation_key = core_.bans.revocations().key();
  }
}

// A member without the key can check no proof.
bool KeyHolders::lacks_key(const PeerId& asker) {
  if (has_key()) return false;
  core_.newcomers.refuse(
      asker, {RefusalCode::kNotMember, 0, "the asked member has not received the run's key yet"});
  return true;
}

// Members of this view get the key with it.
ViewNoticeMessage KeyHolders::notice_for(const PeerId& to) const {
  ViewNoticeMessage notice = core_.notice;
  if (core_.view.contains(to) && has_key()) notice.key = run_key();
  return notice;
}

void KeyHolders::show_key(const PeerId& to) {
  const auto link = core_.links.all().find(to);
  if (link == core_.links.all().end() || core_.is_other_member(to) || !has_key() || !core_.active())
    return;
  if (!state_.key_shown_to.insert(to).second) return;
  const ProofLink proven{core_.options.self, to, link->second.exporter};
  core_.send(
      to, frame_type::kMemberProof,
      MemberProofMessage{member_proof(core_.options.invitation_key, core_.options.run, proven)});
}

void KeyHolders::on_member_proof(const PeerId& from, const MemberProofMessage& message) {
  const auto link = core_.links.all().find(from);
  if (link == core_.links.all().end() || !has_key() ||
      core_.bans.revocations().ban_reason(from) != nullptr)
    return;
  const ProofLink proven{from, core_.options.self, link->second.exporter};
  const Hash256 wanted = member_proof(core_.options.invitation_key, core_.options.run, proven);
  // A peer that was away when the key was renewed is not blamed for that.
  if (!equal_constant_time(wanted, message.hmac)) return;
  state_.key_shown.insert(from);
  core_.links.report_trust(from);
}

RunFacts KeyHolders::facts() const {
  return {core_.options.run,         core_.options.recipe_hash,
          core_.options.layout_hash, core_.options.invitation_key,
          core_.options.invite,      &core_.options.allowed,
          &core_.bans.revocations()};
}

// The holder of a ticket of the run that this one goes on from gets one of this run.
std::optional<SuccessorRun> KeyHolders::successor_for(const PeerId& from, const JoinProof& proof) {
  if (!core_.options.past || proof.run == core_.options.run ||
      proof.run != core_.options.past->run) {
    return std::nullopt;
  }
  Revocations revoked;
  revoked.learn(core_.options.past->revocations, [](const PeerId&) { return false; });
  RunFacts before = facts();
  before.run = core_.options.past->run;
  before.invitation_key = core_.options.past->key;
  before.revocations = &revoked;
  const ProofLink link{from, core_.options.self, core_.links.all().at(from).exporter};
  if (refuse_proof(before, proof, ProofPurpose::kRecipe, link, core_.sink.unix_time_s())) {
    return std::nullopt;
  }
  SuccessorRun next{core_.options.run, core_.options.recipe_hash, {}, proof.expiry_unix_s, {}};
  const Hash256 secret = core_.sink.fresh_secret();
  std::array<std::uint8_t, 8> drawn{};
  std::copy_n(secret.begin(), drawn.size(), drawn.begin());
  next.invitation = make_invitation_id(drawn);
  next.secret = invitation_secret(core_.options.invitation_key, next.run, next.invitation,
                                  next.expiry_unix_s);
  return next;
}

void KeyHolders::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
