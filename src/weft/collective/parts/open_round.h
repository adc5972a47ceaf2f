// OpenRound: a round from its beginning by the training side, or in its place, to its outcome.
//
// Threads: as SwarmCore. Fails: as each method says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "weft/base/bytes.h"
#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/state/result_log.h"
#include "weft/collective/team/round_plan.h"
#include "weft/wire/collective_message.h"

namespace weft {

class OpenRound : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // --- The training side.
  // Errors, also in the arguments, are in the outcome; false where nothing else happens.
  bool begin(const ViewId& view, Round round, const RoundPlan& plan);
  void contribute(std::size_t exchange, std::int64_t offset, std::span<const float> values);
  void report(Bytes report);
  std::optional<RoundOutcome> take_outcome() { return std::exchange(state_.outcome, {}); }
  // RoundCore's, of a round that takes the training side's input.
  std::optional<std::span<const float>> early_sums(std::size_t exchange) const;
  // It asks for another turn: an outcome that it has not waited for is of no use to it.
  void on_request() { state_.early.reset(); }

  // --- For its input's stand-in (late_rounds.h). Whether the open round has one exchange of this
  // many elements, of all members, and none of the training side's input yet. REQUIRES: a round is
  // open.
  bool waits_for_input(std::int64_t elements) const;
  // From now on the training side's input is not used; opens the round unless it is open. False if
  // it cannot be opened.
  bool take_over(const CollectiveId& id, std::int64_t elements);

  // Takes the outcome of a round that has ended.
  void settle();
  // Keeps a result for members that catch up.
  void keep_result(ResultLog::Entry result);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  struct State {
    // The open round takes the training side's input, and has some of it.
    bool takes_input = false;
    bool has_input = false;
    // The open round was opened here in place of the training side, which has begun it since.
    std::optional<CollectiveId> opened;
    bool awaited = false;
    // How such a round ended, for a training side that holds its turn and has not begun it.
    std::optional<std::pair<CollectiveId, RoundOutcome>> early;
    std::optional<RoundOutcome> outcome;

    WEFT_FIELDS((takes_input, has_input, opened, awaited, early, outcome), ())
  };

  State state_;
};

}  // namespace weft
