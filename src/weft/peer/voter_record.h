// VoterRecord: what a peer keeps of its memberships beyond the end of its process.
//
// With it a restarted process keeps the promises of its predecessor (agreement.h), no two processes
// have one incarnation, bans stay valid, and a peer can prove that an old state belongs to the
// run's history after all members have died. The sink stores it (MembershipSink::keep_record)
// before any promise or acceptance in it is sent. A peer that has lost it is a newcomer like any
// other.
//
//   record  := run 32, self 32, incarnation u64, key 32, generation u32, count u32 x earlier,
//              revocation bytes, view run 32, view u64, count u32 x peer 32, count u32 x member,
//              votes u8 [, incarnation u64, previous view, view, value, promised ballot,
//              accepted u8 [, ballot, value]]
//   earlier := run 32, key 32, generation u32, until u64
//
// It must not be copied: two processes with one record would be two acceptors with one name.
// Threads: values.
// Fails: kCorrupt for bytes that are not a record; all sizes are bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/admission_message.h"
#include "weft/wire/membership_message.h"
#include "weft/wire/state_message.h"

namespace weft {

// Four messages of at most 256 KiB, at most.
inline constexpr std::size_t kRecordBytesMax = std::size_t{1} << 20;
inline constexpr Round kUntilUnknown{~std::uint64_t{0}};

// A run from whose state the present one went on.
struct EarlierRun {
  RunId run{};
  // Its invitation key, which members alone have; zeros: not known.
  Hash256 key{};
  std::uint32_t generation = 0;
  // The states after later rounds belong to a history that was not continued.
  Round until = kUntilUnknown;
  friend bool operator==(const EarlierRun&, const EarlierRun&) = default;
};

// A member's promise and vote about the view after its own.
struct VoteOnRecord {
  // The incarnation that sent it.
  std::uint64_t incarnation = 0;
  ViewNoticeMessage notice;
  Ballot promised;
  std::optional<AcceptedValue> accepted;
};

struct VoterRecord {
  RunId run{};
  PeerId self;
  // The highest that this identity has used.
  std::uint64_t incarnation = 0;
  // The run's invitation key.
  Hash256 key{};
  // How often the run was resumed after all had died.
  std::uint32_t generation = 0;
  // Newest first, at most kPastRunsMax - 1.
  std::vector<EarlierRun> earlier;
  RevocationMessage revocations;
  // The last view that this peer was in, and of which run.
  RunId view_run{};
  std::uint64_t view = 0;
  std::vector<PeerId> members;
  // Members of earlier views that the run has lost, with their addresses; at most kMembersMax.
  std::vector<Member> former;
  // Empty where the peer votes in no view, because it has left or agreed to a branch.
  std::optional<VoteOnRecord> vote;

  Bytes encode() const;
  static Result<VoterRecord> decode(ByteSpan bytes);
};

// The store of records: see MembershipSink::keep_record.
class RecordKeep {
 public:
  virtual ~RecordKeep() = default;
  virtual bool keep(ByteSpan record, bool durable) = 0;
};

// The runs that the peer was a member of, newest first, without proofs.
std::vector<PastRun> history_of(const VoterRecord& record);
// Null if it was not a member of `run`, or does not know its key.
const Hash256* key_of(const VoterRecord& record, const RunId& run);

// The proof of `claim`: an HMAC with the key of a run in its history, over all of it except the
// proofs, the sender `who`, and the run in which it is sent.
Hash256 claim_proof(const Hash256& key, const HeldStateMessage& claim, const PeerId& who,
                    const RunId& said_in);

// A claim that was checked.
struct HeldClaim {
  // The generation of the run that the state is of; 0 with round 0.
  std::uint32_t generation = 0;
  Round round;
  // The generation of the run that `view` is of.
  std::uint32_t view_generation = 0;
};
// `own`: the record of the peer that checks. Fails: kUnavailable, with the reason for people.
Result<HeldClaim> check_claim(const VoterRecord& own, const HeldStateMessage& claim,
                              const PeerId& who, const RunId& said_in);

// Whether the state after `round` of `run` belongs to the history in `record`.
bool is_of_history(const VoterRecord& record, const RunId& run, Round round);

}  // namespace weft
