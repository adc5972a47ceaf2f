// What a peer keeps of its memberships over the end of its process, and the voter that a restarted
// one still is.
#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/check.h"
#include "weft/peer/membership_core.h"

namespace weft {
namespace {

// A restarted peer dials the members of its old view once in so many heartbeats.
constexpr int kBeatsPerOldDial = 4;

}  // namespace

VoterRecord Membership::Core::record() const {
  VoterRecord out;
  out.run = options.run;
  out.self = options.self;
  out.incarnation = options.incarnation;
  out.key = options.invitation_key;
  out.generation = generation;
  out.earlier = earlier;
  out.revocations = revocations.message();
  out.view_run = view_run;
  out.view = last_view;
  if (record_ended) return out;
  out.members = last_members;
  for (const auto& [peer, member] : former) {
    if (out.former.size() < kMembersMax) out.former.push_back(member);
  }
  if (agreement && active() && !retired) {
    out.vote =
        VoteOnRecord{options.incarnation, notice, agreement->promised(), agreement->accepted()};
  } else if (past) {
    out.vote = VoteOnRecord{past->incarnation, past->notice, past->agreement.promised(),
                            past->agreement.accepted()};
  }
  return out;
}

// True if what is kept tells of all that was promised and accepted, or of nothing.
bool Membership::Core::keep_record(bool durable) {
  if (!record_begun || !sink.keeps_records()) return true;
  Bytes encoded = record().encode();
  if (encoded == kept_record && (record_durable || !durable)) return true;
  if (!sink.keep_record(encoded, durable)) return false;
  kept_record = std::move(encoded);
  record_durable = durable;
  return true;
}

// Before anything is said: the new life's incarnation is on record, so that it is nobody's again.
void Membership::Core::begin_record() {
  if (!std::exchange(record_begun, true) && options.past) {
    const VoterRecord& old = *options.past;
    options.incarnation = std::max(options.incarnation, old.incarnation + 1);
    earlier = old.earlier;
    view_run = old.view_run;
    last_view = old.view;
    last_members = old.members;
    if (old.run == options.run) {
      generation = old.generation;
      options.invitation_key = old.key;
      revocations.learn(old.revocations, [](const PeerId&) { return false; });
      if (old.vote) {
        const View before = view_of(old.vote->notice);
        past = PastLife{old.vote->incarnation, old.vote->notice, before,
                        Agreement(before, options.self)};
        past->agreement.resume(old.vote->promised, old.vote->accepted);
      }
    } else {
      generation = old.generation + 1;
      earlier.insert(earlier.begin(), {old.run, old.key, old.generation, kUntilUnknown});
      if (earlier.size() >= kPastRunsMax) earlier.resize(kPastRunsMax - 1);
    }
  }
  keep_record(true);
}

// The members of the old view can let this peer in, too, whatever its ticket names.
void Membership::Core::become_past() {
  if (!past || !attempt) return;
  std::vector<PeerAddress>& known = attempt->candidates;
  for (const Member& member : past->view.members) {
    const bool listed = std::any_of(known.begin(), known.end(), [&](const PeerAddress& address) {
      return address.id == member.id;
    });
    if (member.id != options.self && !listed) known.push_back({member.id, member.endpoints});
  }
}

// Whoever has a ticket of the run that this one goes on from gets one of this run.
std::optional<SuccessorRun> Membership::Core::successor_for(const PeerId& from,
                                                            const JoinProof& proof) {
  if (!options.past || proof.run == options.run || proof.run != options.past->run) {
    return std::nullopt;
  }
  Revocations revoked;
  revoked.learn(options.past->revocations, [](const PeerId&) { return false; });
  RunFacts before = facts();
  before.run = options.past->run;
  before.invitation_key = options.past->key;
  before.revocations = &revoked;
  const ProofLink link{from, options.self, links.at(from).exporter};
  if (refuse_proof(before, proof, ProofPurpose::kRecipe, link, sink.unix_time_s())) {
    return std::nullopt;
  }
  SuccessorRun next{options.run, options.recipe_hash, {}, proof.expiry_unix_s, {}};
  const Hash256 secret = sink.fresh_secret();
  std::array<std::uint8_t, 8> drawn{};
  std::copy_n(secret.begin(), drawn.size(), drawn.begin());
  next.invitation = make_invitation_id(drawn);
  next.secret =
      invitation_secret(options.invitation_key, next.run, next.invitation, next.expiry_unix_s);
  return next;
}

void Membership::Core::say_outside(const PeerId& to) {
  OutsideMessage message{options.incarnation, std::nullopt};
  if (past) message.votes_in = past->view.id;
  send(to, frame_type::kOutside, message);
}

bool Membership::Core::is_past_matter(const PeerId& from, const ViewId& asked) const {
  return past && !active() && past->view.id == asked && past->view.contains(from);
}

void Membership::Core::vote_as_past(const PeerId& from, const PrepareMessage& message) {
  const RoundStatus nothing{Round(kHoldsNothing), {}};
  const auto answer = past->agreement.on_prepare(message, nothing);
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    send(from, frame_type::kRejected, *rejected);
  } else if (keep_record(true)) {
    send(from, frame_type::kPromise, std::get<PromiseMessage>(answer));
  }
}

void Membership::Core::vote_as_past(const PeerId& from, const AcceptMessage& message) {
  if (refuses_as_past(message.value)) return;
  const auto answer = past->agreement.on_accept(message);
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    send(from, frame_type::kRejected, *rejected);
  } else if (keep_record(true)) {
    send(from, frame_type::kAccepted, std::get<AcceptedMessage>(answer));
  }
}

// A value that was proposed before the restart was known may have the old life in it: that one is
// a voter of the next view, too. It has promised nothing there, or the record would be of it.
void Membership::Core::follow_as_past(const PeerId& from, const ViewNoticeMessage& message) {
  // Those that its ticket names count as well: perhaps they came later than its record.
  const bool named = attempt && std::any_of(attempt->candidates.begin(), attempt->candidates.end(),
                                            [&](const PeerAddress& a) { return a.id == from; });
  if (active() || message.view <= past->view.id) return;
  if (!named && !past->view.contains(from)) return;
  if (next_view_id(options.run, message.previous, message.value) != message.view) return;
  if (message.value.lineage.branch() != past->view.lineage.branch()) return;
  const View next = view_of(message);
  const Member* self = next.find(options.self);
  if (self == nullptr || self->incarnation != past->incarnation) return;
  past = PastLife{past->incarnation, message, next, Agreement(next, options.self)};
  become_past();
  keep_record(false);
  for (const Member& member : next.members) {
    if (member.id != options.self && links.count(member.id) != 0) say_outside(member.id);
  }
}

// Each proposer must reach this voter, and only few of them are asked to let it in.
void Membership::Core::past_beat() {
  if (!past || state != MembershipState::kJoining || beats % kBeatsPerOldDial != 1) return;
  for (const Member& member : past->view.members) {
    if (member.id == options.self || links.count(member.id) != 0) continue;
    sink.connect({member.id, member.endpoints});
  }
}

// Their answers are all that a restarted member says in the old view.
void Membership::Core::greet_restarted() {
  for (const auto& [peer, member] : watched) {
    if (member.linked && member.restarted()) send_heartbeat(peer);
  }
}

// --- Membership.

VoterRecord Membership::record() const { return core_->record(); }

void Membership::end_record() {
  core_->record_ended = true;
  core_->keep_record(false);
}

void Membership::set_history(const std::vector<PastRun>& history, TimePoint now) {
  core_->now = now;
  if (history.empty() || history.front().run != core_->options.run) return;
  std::vector<EarlierRun> told;
  for (std::size_t i = 1; i < history.size() && told.size() + 1 < kPastRunsMax; ++i) {
    const PastRun& past = history[i];
    EarlierRun& run = told.emplace_back();
    run = {past.run, {}, past.generation, past.until};
    for (const EarlierRun& known : core_->earlier) {
      if (known.run == past.run) run.key = known.key;
    }
  }
  core_->generation = history.front().generation;
  core_->earlier = std::move(told);
  core_->keep_record(false);
}

}  // namespace weft
