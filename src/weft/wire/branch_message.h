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
  kPropose = 0,  // these members, without the others; from now on none of them votes in `view`
  kAgree = 1,    // and `committed` is how far the sender's rounds are
  kRefuse = 2,   // it has a quorum, or cannot reach all of them
  kHave = 3,     // to fellow members: the sender holds `snapshot`, which another branch has yielded
  kFormer = 4,   // to members and newcomers: these were lost, and are dialled in case they live
};

struct BranchMessage {
  // The view without a quorum.
  ViewId view;
  // Counts the proposer's attempts.
  std::uint64_t attempt = 0;
  BranchStep step = BranchStep::kPropose;
  // In kAgree.
  Round committed;
  // In kHave: the manifest's hash; zeros otherwise.
  Hash256 snapshot{};
  // In kPropose: in ring order, the proposer among them. In kFormer: those that were lost.
  std::vector<Member> members;
  Bytes encode() const;
  static Result<BranchMessage> decode(ByteSpan bytes);
};

// Where the sender's branch stands; to members of other branches, and on to those of its own.
struct StandingMessage {
  ViewNoticeMessage current;
  // The last committed round, and how many samples the state after it has learned from in all.
  Round round;
  std::uint64_t samples = 0;
  // Once the branch has yielded: the manifest of the state after its view's base round.
  std::optional<Hash256> snapshot;
  Bytes encode() const;
  static Result<StandingMessage> decode(ByteSpan bytes);
};

}  // namespace weft
