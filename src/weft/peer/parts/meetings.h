// Meetings: how this branch merges with other branches of the run.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "weft/base/fields.h"
#include "weft/peer/lineage.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/wire/branch_message.h"

namespace weft {

class Meetings : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const std::map<Hash256, Meeting>& all() const { return state_.meetings; }
  bool offers() const { return state_.offered_snapshot.has_value(); }
  // `holder` has the state that another branch offers as `snapshot`.
  void note_holder(const PeerId& holder, const Hash256& snapshot);
  // The current view was installed just now.
  void on_view();
  void clear() { state_.meetings.clear(); }

  void send_standing(const PeerId& to);
  void send_standings();
  void on_standing(const PeerId& from, const StandingMessage& message);
  bool in_meeting(const PeerId& peer) const;
  bool wants_merge() const;
  void add_merge(ViewValue& value) const;
  void branch_beat();
  void offer_state(const Hash256& snapshot);
  void merge_ready(const Hash256& snapshot);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  StandingMessage standing() const;
  BranchTotal total() const;
  void meet(const PeerId& from, const StandingMessage& message);
  void be_absorbed(const StandingMessage& by);
  bool yields_to_us(const Meeting& other) const;
  bool absorbs_us(const Hash256& branch, const Meeting& other) const;
  std::optional<Hash256> absorber() const;
  const Meeting* mergeable() const;
  bool resumes() const;
  void announce_have();

  struct State {
    // By branch.
    std::map<Hash256, Meeting> meetings;
    std::optional<Hash256> offered_snapshot;
    std::optional<Hash256> yielding_to;
    TimePoint yielding_since{};
    // After a yield that led to nothing: when to yield again.
    TimePoint yield_again_at{};

    WEFT_FIELDS((meetings, offered_snapshot, yielding_to), (yielding_since, yield_again_at))
  };

  State state_;
};

}  // namespace weft
