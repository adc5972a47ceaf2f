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

VoterRecord RecordKeeper::record() const {
  VoterRecord out;
  out.run = core_.options.run;
  out.self = core_.options.self;
  out.incarnation = core_.options.incarnation;
  out.key = core_.options.invitation_key;
  out.generation = state_.generation;
  out.earlier = state_.earlier;
  out.revocations = core_.bans.revocations().message();
  out.view_run = state_.view_run;
  out.view = state_.last_view;
  if (state_.record_ended) return out;
  out.members = state_.last_members;
  for (const auto& [peer, member] : core_.former.all()) {
    if (out.former.size() < kMembersMax) out.former.push_back(member);
  }
  if (core_.agreement && core_.active() && !core_.branching.retired()) {
    out.vote = VoteOnRecord{core_.options.incarnation, core_.notice, core_.agreement->promised(),
                            core_.agreement->accepted()};
  } else if (core_.past.life()) {
    out.vote = VoteOnRecord{core_.past.life()->incarnation, core_.past.life()->notice,
                            core_.past.life()->agreement.promised(),
                            core_.past.life()->agreement.accepted()};
  }
  return out;
}

// True if what is kept tells of all that was promised and accepted, or of nothing.
bool RecordKeeper::keep_record(bool durable) {
  if (!state_.record_begun || !core_.sink.keeps_records()) return true;
  Bytes encoded = record().encode();
  if (encoded == state_.kept_record && (state_.record_durable || !durable)) return true;
  if (!core_.sink.keep_record(encoded, durable)) return false;
  state_.kept_record = std::move(encoded);
  state_.record_durable = durable;
  return true;
}

// Before anything is said: the new life's incarnation is on record, so that it is nobody's again.
void RecordKeeper::begin_record() {
  if (!std::exchange(state_.record_begun, true) && core_.options.past) {
    const VoterRecord& old = *core_.options.past;
    core_.options.incarnation = std::max(core_.options.incarnation, old.incarnation + 1);
    state_.earlier = old.earlier;
    state_.view_run = old.view_run;
    state_.last_view = old.view;
    state_.last_members = old.members;
    if (old.run == core_.options.run) {
      state_.generation = old.generation;
      core_.options.invitation_key = old.key;
      core_.bans.learn(old.revocations, [](const PeerId&) { return false; });
      if (old.vote) {
        core_.past.begin(*old.vote);
      }
    } else {
      state_.generation = old.generation + 1;
      state_.earlier.insert(state_.earlier.begin(),
                            {old.run, old.key, old.generation, kUntilUnknown});
      if (state_.earlier.size() >= kPastRunsMax) state_.earlier.resize(kPastRunsMax - 1);
    }
  }
  keep_record(true);
}

void RecordKeeper::on_view() {
  state_.view_run = core_.options.run;
  state_.last_view = core_.view.id.number.value();
  state_.last_members.clear();
  for (const Member& member : core_.view.members) state_.last_members.push_back(member.id);
}

void RecordKeeper::set_history(std::uint32_t generation, std::vector<EarlierRun> earlier) {
  state_.generation = generation;
  state_.earlier = std::move(earlier);
}

// --- The voter that a restarted process still is.

void PastVoter::begin(const VoteOnRecord& vote) {
  const View before = view_of(vote.notice);
  state_.past =
      PastLife{vote.incarnation, vote.notice, before, Agreement(before, core_.options.self), {}};
  state_.past->agreement.resume(vote.promised, vote.accepted);
}

// The members of the old view can let this peer in, too, whatever its ticket names.
void PastVoter::become_past() {
  if (!state_.past || !core_.joining.attempt()) return;
  for (const Member& member : state_.past->view.members) {
    if (member.id != core_.options.self) core_.joining.add_candidate({member.id, member.endpoints});
  }
}

// Whoever has a ticket of the run that this one goes on from gets one of this run.
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

void PastVoter::say_outside(const PeerId& to) {
  OutsideMessage message{core_.options.incarnation, std::nullopt};
  if (state_.past) message.votes_in = state_.past->view.id;
  core_.send(to, frame_type::kOutside, message);
}

bool PastVoter::is_past_matter(const PeerId& from, const ViewId& asked) const {
  return state_.past && !core_.active() && state_.past->view.id == asked &&
         state_.past->view.contains(from);
}

void PastVoter::vote_as_past(const PeerId& from, const PrepareMessage& message) {
  const RoundStatus nothing{Round(kHoldsNothing), {}};
  const auto answer = state_.past->agreement.on_prepare(message, nothing);
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    core_.send(from, frame_type::kRejected, *rejected);
  } else if (core_.records.keep_record(true)) {
    core_.send(from, frame_type::kPromise, std::get<PromiseMessage>(answer));
  }
}

void PastVoter::vote_as_past(const PeerId& from, const AcceptMessage& message) {
  if (refuses_as_past(message.value)) return;
  const auto answer = state_.past->agreement.on_accept(message);
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    core_.send(from, frame_type::kRejected, *rejected);
  } else if (core_.records.keep_record(true)) {
    core_.send(from, frame_type::kAccepted, std::get<AcceptedMessage>(answer));
  }
}

// A value that was proposed before the restart was known may have the old life in it: that one is
// a voter of the next view, too. It has promised nothing there, or the record would be of it.
void PastVoter::follow_as_past(const PeerId& from, const ViewNoticeMessage& message) {
  // Those that its ticket names count as well: perhaps they came later than its record.
  const bool named =
      core_.joining.attempt() && std::any_of(core_.joining.attempt()->candidates.begin(),
                                             core_.joining.attempt()->candidates.end(),
                                             [&](const PeerAddress& a) { return a.id == from; });
  if (core_.active() || message.view <= state_.past->view.id) return;
  if (!named && !state_.past->view.contains(from)) return;
  if (next_view_id(core_.options.run, message.previous, message.value) != message.view) return;
  if (message.value.lineage.branch() != state_.past->view.lineage.branch()) return;
  const View next = view_of(message);
  const Member* self = next.find(core_.options.self);
  if (self == nullptr || self->incarnation != state_.past->incarnation) return;
  state_.past =
      PastLife{state_.past->incarnation, message, next, Agreement(next, core_.options.self)};
  become_past();
  core_.records.keep_record(false);
  for (const Member& member : next.members) {
    if (member.id != core_.options.self && core_.links.up(member.id)) say_outside(member.id);
  }
}

// Each proposer must reach this voter, and only few of them are asked to let it in.
void PastVoter::past_beat() {
  if (!state_.past || core_.state != MembershipState::kJoining ||
      core_.beats % kBeatsPerOldDial != 1)
    return;
  for (const Member& member : state_.past->view.members) {
    if (member.id == core_.options.self || core_.links.up(member.id)) continue;
    core_.sink.connect({member.id, member.endpoints});
  }
}

// Their answers are all that a restarted member says in the old view.
void Membership::Core::greet_restarted() {
  for (const auto& [peer, member] : watched) {
    if (member.linked && member.restarted()) send_heartbeat(peer);
  }
}

// --- Membership.

VoterRecord Membership::record() const { return core_->records.record(); }

void Membership::end_record() {
  core_->records.end();
  core_->records.keep_record(false);
}

void Membership::set_history(const std::vector<PastRun>& history, TimePoint now) {
  core_->now = now;
  if (history.empty() || history.front().run != core_->options.run) return;
  std::vector<EarlierRun> told;
  for (std::size_t i = 1; i < history.size() && told.size() + 1 < kPastRunsMax; ++i) {
    const PastRun& past = history[i];
    EarlierRun& run = told.emplace_back();
    run = {past.run, {}, past.generation, past.until};
    for (const EarlierRun& known : core_->records.earlier()) {
      if (known.run == past.run) run.key = known.key;
    }
  }
  core_->records.set_history(history.front().generation, std::move(told));
  core_->records.keep_record(false);
}

}  // namespace weft
