// TrainerSide: the progress of the training side, the turn that it has, and its next one.
//
// It applies committed rounds only, one after the other, so its state is always a prefix of the
// run's history. The reason why this peer's part ends is the Status of its next turn.
//
// Threads: as SwarmCore. Fails: as each method says.
#pragma once

#include <memory>
#include <optional>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/reduce/collective.h"
#include "weft/wire/collective_message.h"

namespace weft {

class TrainerSide : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // --- The training side.
  void request_turn();
  // Empty unless a turn was requested and there is something to do.
  std::optional<Result<Turn>> take_turn();
  // A snapshot for the thread that reads the lent state; empty where none is wanted or the state is
  // not lent.
  std::optional<Turn> take_snapshot_order();
  void applied(Round round, StateHash hash);
  void lend(bool lent) { state_.lent = lent; }

  // --- Where it stands.
  bool has_state() const { return state_.has_state; }
  // The last round that it has applied.
  Round round() const { return state_.round; }
  bool requested() const { return state_.requested; }
  // The kTrain turn that it has in hand.
  const std::optional<CollectiveId>& training() const { return state_.training; }
  const Status& failure() const { return state_.failure; }

  // The training side holds the state after `round`.
  void take_state(Round round);
  // The training side's state is not the group's.
  void drop_state() { state_.has_state = false; }
  // This peer's part ends with `why`, if it has not ended yet.
  void fail(Status why);

  Turn make_turn(TurnKind kind, Round round) const;
  void add_to(SwarmStatus& status) const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  std::optional<Result<Turn>> decide();
  std::optional<Turn> apply_turn();
  // Whether the training side has the group's state and may take part in the next round.
  bool may_train() const;

  struct State {
    bool has_state = false;
    Round round{};
    Hash128 hash{};
    bool requested = false;
    TurnKind given = TurnKind::kWait;
    std::optional<CollectiveId> training{};
    // The training side has lent its state.
    bool lent = false;
    // The vector that a kApply turn has lent.
    std::shared_ptr<FloatBuffer> applying{};
    Status failure{};

    WEFT_FIELDS((has_state, round, hash, requested, given, training, lent, failure), (applying))
  };

  State state_;
};

}  // namespace weft
