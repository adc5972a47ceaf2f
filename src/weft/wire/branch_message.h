// The messages by which members that are cut off from a quorum found a branch, and by which
// branches that meet again learn of each other. They are sent only where group.on_split is "merge".
//
//   branch   = view, attempt u64, step u8, committed round u64, snapshot 32, count u32 x member
//   standing = notice, round u64, samples u64, offers u8 [, snapshot 32]
//
// A branch's view follows the old one as any view does (its notice names the old view as the
// previous one); what makes it a branch is the last point of its lineage.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"
#include "weft/wire/membership_message.h"

namespace weft {

enum class BranchStep : std::uint8_t {
  kPropose = 0,  // found a branch of these members; none of them votes in `view` any more
  kAgree = 1,    // agreement; `committed` is the sender's last committed round
  kRefuse = 2,   // refusal: the sender has a quorum, or cannot reach all of the named members
  kHave = 3,     // to fellow members: the sender holds `snapshot`, which another branch has yielded
  kFormer = 4,  // to members and newcomers: these were lost, and are dialled in case they are alive
};

struct BranchMessage {
  // The view without a quorum.
  ViewId view;
  // Number of the proposer's attempt.
  std::uint64_t attempt = 0;
  BranchStep step = BranchStep::kPropose;
  // Set in kAgree.
  Round committed;
  // The manifest's hash in kHave, zeros in all other steps.
  Hash256 snapshot{};
  // In kPropose the branch's members in ring order, with the proposer; in kFormer those that were
  // lost.
  std::vector<Member> members;
  Bytes encode() const;
  static Result<BranchMessage> decode(ByteSpan bytes);
};

// The position of the sender's branch: sent to members of other branches, and passed on within
// them.
struct StandingMessage {
  ViewNoticeMessage current;
  // The last committed round, and the number of samples that the state after it has learned from.
  Round round;
  std::uint64_t samples = 0;
  // Set once the branch has yielded: the manifest of the state after its view's base round.
  std::optional<Hash256> snapshot;
  Bytes encode() const;
  static Result<StandingMessage> decode(ByteSpan bytes);
};

}  // namespace weft
