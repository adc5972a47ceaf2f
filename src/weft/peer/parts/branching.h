// Branching: how members without a quorum go on, by founding a branch of the run.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "weft/base/fields.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/wire/branch_message.h"

namespace weft {

class Branching : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  // This peer has agreed to a branch, so it votes in the present view no more.
  bool retired() const { return state_.retired; }
  void retire() { state_.retired = true; }
  bool founding() const { return state_.branching.has_value(); }
  // This peer is out of its view.
  void end();

  bool of_other_branch(const ViewId& theirs) const;
  bool holds_base() const;
  void branch_when_due();
  void on_branch(const PeerId& from, const BranchMessage& message);
  void follow_branch(const ViewChange& change);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  bool may_branch() const;
  void propose_branch();
  void found_branch();
  void miss(const PeerId& peer);
  bool fits_branch(const PeerId& from, const BranchMessage& message) const;
  void answer_branch(const PeerId& from, const BranchMessage& message);

  struct State {
    // This branch, and its views that were installed here, the latest 256.
    Hash256 own_branch{};
    std::set<ViewId> own_views;
    // This peer has agreed to a branch, so it votes in the present view no more.
    bool retired = false;
    // The peer whose branch this one agreed to last, and until when it waits for the outcome.
    std::optional<PeerId> agreed_with;
    TimePoint agreed_until{};
    std::uint64_t branch_attempts = 0;
    std::optional<BranchAttempt> branching;
    TimePoint branch_again_at{};
    // How often each peer refused this peer's last attempts, or did not answer.
    std::map<PeerId, int> misses;

    WEFT_FIELDS((own_branch, own_views, retired, agreed_with, branch_attempts, branching, misses),
                (agreed_until, branch_again_at))
  };

  State state_;
};

}  // namespace weft
