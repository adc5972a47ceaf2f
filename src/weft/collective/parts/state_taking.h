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
  // What is under way is of no use; nobody is told to end it.
  void forget() { state_.fetching = Fetching::kNothing; }
  // Also what is whole, and not with the training side yet.
  void drop_snapshot() { state_.snapshot.reset(); }
  // Somebody may not have known this peer when it asked.
  void ask_again();
  // Results since the state that the training side holds now may follow.
  void note_results_from_now();

  // --- The training side.
  // The turn that loads a state, once one is whole.
  std::optional<Turn> load_turn();
  // That state is in place.
  void on_loaded();
  // The next result, for a member that lags.
  std::optional<StateFetch::FetchedResult> take_result(Round round);

  // A state is whole here; the training side has yet to load it.
  bool holds_snapshot() const { return state_.snapshot.has_value(); }
  std::optional<Round> snapshot_round() const;
  // It is known how far the group is, or was asked for long enough.
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
  bool take_snapshot();
  // Whether a state is of the group's branch; takes its history off.
  bool take_history(StateFetch::Snapshot& fetched);

  struct State {
    Fetching fetching = Fetching::kNothing;
    TimePoint retry_at{};
    // A snapshot that is of another branch is not asked for again before.
    TimePoint refetch_at{};
    TimePoint results_since{};
    std::uint64_t seen_bytes = 0;
    std::vector<PeerId> sources;
    std::optional<StateFetch::Snapshot> snapshot;
    // What stood in front of it.
    StateHistory history;
    TimePoint began{};

    WEFT_FIELDS((fetching, sources, snapshot, history),
                (retry_at, refetch_at, results_since, seen_bytes, began))
  };

  State state_;
};

}  // namespace weft
