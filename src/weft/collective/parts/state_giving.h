// StateGiving: the state that this member serves to newcomers and other branches: when a snapshot
// of it is made, which one it serves, and which peers take it.
//
// Threads: as SwarmCore. Fails: as each method says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/state/catch_up_hold.h"
#include "weft/collective/state/state_snapshot.h"
#include "weft/net/transport.h"
#include "weft/peer/membership.h"

namespace weft {

class StateGiving : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // --- The training side. The second hashes the whole state, and prefixes the history.
  void publish(StateSnapshot snapshot);
  void publish(Round round, Bytes state);
  // The ordered snapshot is not made, because the state is not lent any more.
  void miss();

  // --- Snapshots.
  // Whether a peer asks for a snapshot, and none is being made.
  bool wanted() const;
  // Whether a snapshot of the present state is to be made.
  bool wants_own() const;
  Turn order(Round round);
  // The round of the latest that was made or ordered.
  const std::optional<Round>& published() const { return state_.published; }
  // Its name, once it is here.
  const std::optional<Hash256>& root() const { return state_.root; }
  // The first round whose result a newcomer needs that takes what is here or being made; `latest`
  // where there is nothing.
  Round first_needed(Round latest) const;
  // Forgets the snapshots: they are from another branch, or from before a merge.
  void forget();
  // Drops the snapshots that no peer takes any more.
  void drop_unused();

  // --- Takers.
  const std::set<PeerId>& joiners() const { return state_.joiners; }
  void on_joiner(const Member& joiner);
  void on_joiner_gone(const PeerId& joiner, const Status& why);
  void on_admitted(const PeerId& joiner);
  // A request for state. kCorrupt: as StateServer.
  Status on_request(const PeerId& from, const FrameView& frame);

  // Whether the next round is held back until a newcomer has caught up.
  bool holds_rounds() const { return state_.hold.holds(); }

  // --- The rate of this member's links that is left for them.
  void note_sent(std::uint8_t type, std::size_t bytes);
  void note_received(std::uint8_t type, std::size_t bytes);
  void settle();
  TimePoint deadline() const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  // False for a snapshot that was being made when a merge or another branch replaced the state.
  bool keep(const StateSnapshot& snapshot);
  void note_request(const PeerId& joiner, const FrameView& frame);
  bool decides_holds() const;
  void settle_hold();
  void report_hold();

  struct State {
    std::set<PeerId> joiners;
    std::optional<Round> published;
    // The name of the snapshot after round `published`.
    std::optional<Hash256> root;
    // The snapshot after round `published` is being made.
    bool publishing = false;
    CatchUpHold hold;
    // The newcomers for which rounds are held back, as they were reported, and since when.
    std::vector<PeerId> held_for;
    TimePoint held_since{};
    // The latest round when a newcomer first asked to be admitted.
    std::optional<Round> ready_after;

    WEFT_FIELDS((joiners, published, root, publishing, held_for, ready_after), (hold, held_since))
  };

  State state_;
};

}  // namespace weft
