// Branches: which branch of the run the training side's state belongs to, and how branches merge.
//
// Threads: as SwarmCore. Fails: as each method says.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/state/merge_states.h"
#include "weft/net/transport.h"
#include "weft/peer/membership.h"
#include "weft/wire/membership_message.h"
#include "weft/wire/state_message.h"

namespace weft {

class Branches : public SwarmCorePart {
 public:
  Branches(SwarmParts& core, const StateFetchOptions& fetch, StateSink& sink)
      : SwarmCorePart(core), merge_states_(fetch, sink) {}

  // --- Views.
  // Follows what a view says about this member's state: its branch, and the state to be averaged
  // in.
  void follow_lineage(const View& view, const ViewChange& change);
  // This peer is out of its view.
  void leave();
  // This peer's state is none of its view's, so it drops out of it.
  bool foreign() const { return !state_.foreign.empty(); }
  void drop_out();

  // --- The state.
  // Whether the training side's state belongs to that lineage; true for any where branches never
  // merge.
  bool fits(const Lineage& lineage) const;
  // The prefix of a snapshot; empty where branches never merge.
  Bytes history() const;
  const Hash256& branch() const { return state_.history.branch; }
  // The training side has loaded a state with this history.
  void take_history(const StateHistory& history) { state_.history = history; }
  std::uint64_t samples_after(Round round) const;
  // The members wait for another branch to take this one's state, which is to be offered to it.
  bool must_offer() const;

  // --- Merging.
  // A state of another branch is to be averaged in, now or after some more rounds.
  bool merging() const { return !state_.merging.empty(); }
  bool merges_at(Round round) const { return merging() && state_.merging.front().round == round; }
  Turn merge_turn() const;
  void on_merged();
  void on_offer(const MergeOffer& offer);
  bool from_source(const PeerId& peer) const;
  // kCorrupt: as MergeStates. REQUIRES: from_source().
  Status on_frame(const PeerId& from, const FrameView& frame);
  void on_link_down(const PeerId& peer);
  void on_timer();
  TimePoint deadline() const { return merge_states_.next_deadline(); }
  void settle();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  void expect_merge(const View& view);
  void report_split(const View& view);
  void report_yielding(const View& view);
  void drop_foreign_state();
  void offer_own_state();
  std::vector<PeerId> linked_sources() const;

  // A merge that a view demands and that the training side has not done yet.
  struct Merging {
    Round round;
    MergeDirective directive;
    std::vector<AbsorbedBranch> absorbed;
    SharedBytes state;

    WEFT_FIELDS((round, directive, absorbed), (state))
  };
  struct State {
    // The prefix of the training side's state.
    StateHistory history;
    // The samples that the view adds to those of the rounds.
    std::uint64_t samples_added = 0;
    std::deque<Merging> merging;
    bool in_view = false;
    // The view for whose sake the latest snapshot was offered to another branch.
    std::optional<ViewId> offered_in;
    // The view yields, and the event about that was reported.
    bool yielding = false;
    // Why this peer's state is none of its view's.
    std::string foreign;

    WEFT_FIELDS((history, samples_added, merging, in_view, offered_in, yielding), (foreign))
  };

  MergeStates merge_states_;
  State state_;
};

}  // namespace weft
