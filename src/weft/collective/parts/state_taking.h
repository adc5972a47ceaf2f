// StateTaking: the state and the results that this peer takes from others, as a newcomer or as a
// member that lags.
//
// Threads: as SwarmCore. Fails: as each method says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/state/state_fetch.h"
#include "weft/net/transport.h"
#include "weft/wire/state_message.h"

namespace weft {

class StateTaking : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // The wait for a state begins, as events count it.
  void begin_wait();
  // The whole state of `peer`, from it alone.
  void take_from(const PeerId& peer);
  void settle();
  void stop();
  // The running fetch is of no use; no peer is notified of its end.
  void forget() { state_.fetching = Fetching::kNothing; }
  // Drops the complete snapshot, too, unless the training side has it already.
  void drop_snapshot() { state_.snapshot.reset(); }
  // Asks again, since a peer may not have known this one when it asked.
  void ask_again();
  // Results since the state that the training side holds now may follow.
  void note_results_from_now();

  // --- The training side.
  // The turn that loads a state, once one is whole.
  std::optional<Turn> load_turn();
  // The training side has loaded the state.
  void on_loaded();
  // The next result, for a member that lags.
  std::optional<StateFetch::FetchedResult> take_result(Round round);

  // Whether a complete state is here that the training side has not loaded yet.
  bool holds_snapshot() const { return state_.snapshot.has_value(); }
  std::optional<Round> snapshot_round() const;
  // Whether it is known how far the group is, or it was asked for long enough.
  bool knows_newest() const;
  Round newest() const;

  // A block, a result or an offer. kCorrupt: as StateFetch.
  Status on_frame(const PeerId& from, const FrameView& frame);
  TimePoint deadline() const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  enum class Fetching : std::uint8_t { kNothing, kSnapshot, kResults };

  std::vector<PeerId> linked_sources() const;
  void start();
  bool stalled();
  // Whether a newer state is a shorter way to the present than the results.
  bool falls_behind();
  bool take_snapshot();
  // Whether a state is from the group's branch; removes its prefix, the history.
  bool take_history(StateFetch::Snapshot& fetched);

  struct State {
    Fetching fetching = Fetching::kNothing;
    TimePoint retry_at{};
    // When a snapshot that was from another branch may be asked for again.
    TimePoint refetch_at{};
    TimePoint results_since{};
    // How many results were missing soon after that.
    std::uint64_t first_lag = 0;
    std::uint64_t seen_bytes = 0;
    std::vector<PeerId> sources;
    std::optional<StateFetch::Snapshot> snapshot;
    // The prefix of that snapshot.
    StateHistory history;
    TimePoint began{};

    WEFT_FIELDS((fetching, sources, snapshot, history),
                (retry_at, refetch_at, results_since, first_lag, seen_bytes, began))
  };

  State state_;
};

}  // namespace weft
