// What a peer keeps of its memberships over the end of its process.
#include <algorithm>
#include <utility>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
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
  if (core_.balloting.agreement() && core_.active() && !core_.branching.retired()) {
    out.vote = VoteOnRecord{core_.options.incarnation, core_.notice,
                            core_.balloting.agreement()->promised(),
                            core_.balloting.agreement()->accepted()};
  } else if (core_.past.life()) {
    out.vote = VoteOnRecord{core_.past.life()->incarnation, core_.past.life()->notice,
                            core_.past.life()->agreement.promised(),
                            core_.past.life()->agreement.accepted()};
  }
  return out;
}

// True if the stored record has all that was promised and accepted, or has no vote.
bool RecordKeeper::keep_record(bool durable) {
  if (!state_.record_begun || !core_.sink.keeps_records()) return true;
  Bytes encoded = record().encode();
  if (encoded == state_.kept_record && (state_.record_durable || !durable)) return true;
  if (!core_.sink.keep_record(encoded, durable)) return false;
  state_.kept_record = std::move(encoded);
  state_.record_durable = durable;
  return true;
}

// Before anything is sent, the new incarnation is on record, so that no later process uses it
// again.
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

void RecordKeeper::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
