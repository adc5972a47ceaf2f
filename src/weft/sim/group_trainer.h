// GroupTrainer: one Trainer that plays all members of a virtual group, one after the other.
//
// The model, its data and its recorded steps are here once. What members hold alike after a round
// is kept once for all of them and never changed (SharedState); what is a member's own, an inner
// optimizer's state for example, is put into the Trainer before it is the member's turn and taken
// out behind it. Applying a round's sums to a state gives the same state at every member, so it is
// computed once and looked up by the hashes of both.
//
// Where it stands: SwarmMember -> here -> Trainer. Threads: one owner.
// Fails: make() as Trainer::make(), and with kInvalidArgument for what cannot be simulated yet.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/train/run/trainer.h"

namespace weft::sim {

// After one round, equal at all members that hold it.
struct SharedState {
  std::vector<float> parameters;
  std::vector<std::vector<float>> states;  // of the arena, in the order of Trainer::shared_states()
  std::int64_t steps = 0;
  Validation validation;
  StateHash hash;
};

struct MemberState {
  std::shared_ptr<const SharedState> shared;
  // The arena's other states, by the order of their names there.
  std::vector<std::vector<float>> own;
  LocalSteps::Own local;
};

// What one member gives to a round.
struct RoundPart {
  std::vector<float> values;
  RoundReport report;
  double samples_computed = 0;  // 0: it was computed for an earlier try of the round
};

class GroupTrainer {
 public:
  // Borrows `clock`, which must outlive this.
  static Result<std::unique_ptr<GroupTrainer>> make(const Recipe& recipe, const DataPlaces& places,
                                                    const Clock& clock,
                                                    const Trainer::Review& review = {});

  // What every member begins with.
  const MemberState& first_state() const { return first_; }

  // For a kTrain turn. The shared state does not change.
  Result<RoundPart> compute(MemberState& member, const Turn& turn);
  // turn.reduced and turn.reports are what the round came to.
  Result<StepReport> apply(MemberState& member, const Turn& turn);
  Bytes encode(const MemberState& member, const std::string& run_id);
  Status adopt(MemberState& member, ByteSpan state);
  Status merge(MemberState& member, ByteSpan state, double weight);
  // The whole test set, with that state.
  Result<RoundReport> evaluate(const MemberState& member);
  // SHA-256, hexadecimal: what summary.json of a run calls state_hash.
  std::string digest(const MemberState& member);

  Round rounds_done(const MemberState& member) const;
  const Trainer& trainer() const { return *trainer_; }

 private:
  struct Applied {
    Hash128 before{};
    Hash128 result{};
    std::shared_ptr<const SharedState> after;
    StepReport report;
  };

  explicit GroupTrainer(std::unique_ptr<Trainer> trainer);
  void put_in(const MemberState& member);
  void put_in_own(MemberState& member);
  void take_out_own(MemberState& member);
  std::shared_ptr<const SharedState> take_out();

  std::unique_ptr<Trainer> trainer_;
  std::vector<std::string> shared_names_;
  std::vector<std::string> own_names_;
  MemberState first_;
  // The latest few rounds.
  std::deque<Applied> applied_;
};

}  // namespace weft::sim
