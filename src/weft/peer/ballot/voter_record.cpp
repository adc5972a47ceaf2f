#include "weft/peer/voter_record.h"

#include <algorithm>
#include <string>

#include "weft/base/check.h"
#include "weft/base/hash.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

constexpr std::size_t kRevocationBytesMax = std::size_t{256} << 10;

void write_vote_ballot(Writer& out, const Ballot& ballot) {
  out.u64(ballot.counter).peer(ballot.proposer);
}

Ballot read_vote_ballot(Reader& in, std::string_view field) {
  Ballot ballot;
  ballot.counter = in.u64(field);
  ballot.proposer = in.peer(field);
  return ballot;
}

void write_vote(Writer& out, const VoteOnRecord& vote) {
  out.u64(vote.incarnation).view(vote.notice.previous).view(vote.notice.view);
  write_view_value(out, vote.notice.value);
  write_vote_ballot(out, vote.promised);
  out.u8(vote.accepted ? 1 : 0);
  if (!vote.accepted) return;
  write_vote_ballot(out, vote.accepted->ballot);
  write_view_value(out, vote.accepted->value);
}

VoteOnRecord read_vote(Reader& in, const PeerId& self) {
  VoteOnRecord vote;
  vote.incarnation = in.u64("vote.incarnation");
  vote.notice.previous = in.view("vote.previous");
  vote.notice.view = in.view("vote.view");
  vote.notice.value = read_view_value(in);
  vote.promised = read_vote_ballot(in, "vote.promised");
  if (in.boolean("vote.accepted")) {
    AcceptedValue& accepted = vote.accepted.emplace();
    accepted.ballot = read_vote_ballot(in, "vote.ballot");
    accepted.value = read_view_value(in);
  }
  const std::vector<Member>& members = vote.notice.value.members;
  const bool is_member = std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.id == self && member.incarnation == vote.incarnation;
  });
  if (!is_member) in.fail("vote.view", "expected this peer among its members");
  if (vote.accepted && vote.promised < vote.accepted->ballot) {
    in.fail("vote.promised", "expected at least the accepted ballot");
  }
  return vote;
}

}  // namespace

Bytes VoterRecord::encode() const {
  WEFT_CHECK(earlier.size() < kPastRunsMax && members.size() <= kViewMembersMax &&
             former.size() <= kMembersMax);
  Writer out;
  out.raw(run).peer(self).u64(incarnation).raw(key).u32(generation);
  out.u32(static_cast<std::uint32_t>(earlier.size()));
  for (const EarlierRun& one : earlier) {
    out.raw(one.run).raw(one.key).u32(one.generation).round(one.until);
  }
  out.bytes(revocations.encode()).raw(view_run).u64(view);
  out.u32(static_cast<std::uint32_t>(members.size()));
  for (const PeerId& member : members) out.peer(member);
  out.u32(static_cast<std::uint32_t>(former.size()));
  for (const Member& member : former) write_member(out, member);
  out.u8(vote ? 1 : 0);
  if (vote) write_vote(out, *vote);
  return out.take();
}

Result<VoterRecord> VoterRecord::decode(ByteSpan bytes) {
  Reader in("membership record", bytes);
  VoterRecord record;
  record.run = in.raw<32>("run");
  record.self = in.peer("self");
  record.incarnation = in.u64("incarnation");
  record.key = in.raw<32>("key");
  record.generation = in.u32("generation");
  const std::uint32_t runs = in.count("earlier", kPastRunsMax - 1);
  for (std::uint32_t i = 0; i < runs && !in.failed(); ++i) {
    EarlierRun& one = record.earlier.emplace_back();
    one.run = in.raw<32>("earlier.run");
    one.key = in.raw<32>("earlier.key");
    one.generation = in.u32("earlier.generation");
    one.until = in.round("earlier.until");
  }
  const ByteSpan revocations = in.bytes("revocations", kRevocationBytesMax);
  record.view_run = in.raw<32>("view_run");
  record.view = in.u64("view");
  const std::uint32_t members = in.count("members", kViewMembersMax);
  for (std::uint32_t i = 0; i < members && !in.failed(); ++i) {
    record.members.push_back(in.peer("member"));
  }
  const std::uint32_t former = in.count("former", kMembersMax);
  for (std::uint32_t i = 0; i < former && !in.failed(); ++i) {
    record.former.push_back(read_member(in));
  }
  if (in.boolean("votes")) record.vote = read_vote(in, record.self);
  if (record.vote && record.vote->incarnation > record.incarnation) {
    in.fail("incarnation", "expected at least that of the vote");
  }
  WEFT_TRY(in.finish());
  WEFT_TRY_ASSIGN(record.revocations, RevocationMessage::decode(revocations));
  return record;
}

std::vector<PastRun> history_of(const VoterRecord& record) {
  std::vector<PastRun> history = {{record.run, record.generation, kUntilUnknown, {}}};
  for (const EarlierRun& one : record.earlier) {
    history.push_back({one.run, one.generation, one.until, {}});
  }
  return history;
}

const Hash256* key_of(const VoterRecord& record, const RunId& run) {
  if (record.run == run) return record.key == Hash256{} ? nullptr : &record.key;
  for (const EarlierRun& one : record.earlier) {
    if (one.run == run) return one.key == Hash256{} ? nullptr : &one.key;
  }
  return nullptr;
}

Hash256 claim_proof(const Hash256& key, const HeldStateMessage& claim, const PeerId& who,
                    const RunId& said_in) {
  HeldStateMessage bare = claim;
  for (PastRun& past : bare.history) past.proof = {};
  Writer out;
  out.text("weft held state").peer(who).raw(said_in).bytes(bare.encode());
  return hmac_sha256(key, out.written());
}

Result<HeldClaim> check_claim(const VoterRecord& own, const HeldStateMessage& claim,
                              const PeerId& who, const RunId& said_in) {
  const bool proven =
      std::any_of(claim.history.begin(), claim.history.end(), [&](const PastRun& past) {
        const Hash256* key = key_of(own, past.run);
        return key != nullptr && past.proof == claim_proof(*key, claim, who, said_in);
      });
  const std::string name = "peer " + who.short_name();
  if (!proven) {
    return unavailable(name + " cannot prove that it was a member of this run before; what it " +
                       "holds is not taken. If that is the state to go on from, start weft run " +
                       "--resume there instead");
  }
  HeldClaim checked;
  bool known = claim.round == Round();
  for (const PastRun& past : claim.history) {
    if (past.run == claim.view_run) checked.view_generation = past.generation;
    if (past.run != claim.run || claim.round > past.until) continue;
    checked.generation = past.generation;
    known = true;
  }
  checked.round = claim.round;
  const bool passed_over =
      key_of(own, claim.run) != nullptr && !is_of_history(own, claim.run, claim.round);
  if (claim.round > Round() && (!known || passed_over)) {
    return unavailable(name + " holds the state after round " +
                       std::to_string(claim.round.value()) +
                       " of a history that the group did not go on with; it is not taken");
  }
  return checked;
}

bool is_of_history(const VoterRecord& record, const RunId& run, Round round) {
  if (record.run == run) return true;
  return std::any_of(record.earlier.begin(), record.earlier.end(),
                     [&](const EarlierRun& one) { return one.run == run && round <= one.until; });
}

}  // namespace weft
