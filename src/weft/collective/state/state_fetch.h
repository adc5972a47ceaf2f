// StateFetch: the asker's side of state transfer; a joiner uses all of it, a member that lags the
// results only.
//
// Asks every source which snapshot it has, takes the one that most offer (where each offers another
// one, the second newest, because one member can claim any round), and fetches its blocks from all
// of them at once; each block is checked against the root of the offer's hash tree before it
// counts. Blocks stay here when sources are lost, the view changes or a fetch begins anew, and with
// a StateKeep when the process ends; as long as any member has that snapshot, the transfer goes on
// with what is missing. Then it fetches the results of the rounds after it, a few ahead. A source
// that sends anything false is reported by on_frame; one that sends no block for `source_timeout`
// loses its requests to others.
//
// Where it stands: SwarmCore owns one while it joins or lags.
// Threads: one owner.
// Fails: on_frame gives kCorrupt: end that peer's link, then call on_link_down.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "weft/base/owner_thread.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/collective/state/state_keep.h"
#include "weft/collective/state/state_server.h"
#include "weft/wire/state_message.h"

namespace weft {

struct StateFetchOptions {
  // Larger offers are refused.
  std::uint64_t snapshot_bytes_max = std::uint64_t{8} << 30;
  std::uint64_t elements_max = swarm_defaults::kVectorElementsMax;
  // Blocks asked of one source at a time; how many of them are under way is the source's choice.
  int blocks_in_flight = 16;
  // Rounds asked for at a time.
  int rounds_ahead = 4;
  // After it the best offer so far is taken even if some sources are silent.
  Duration offer_wait = std::chrono::milliseconds(300);
  // Between queries while no member has a snapshot.
  Duration query_interval = std::chrono::milliseconds(200);
  Duration source_timeout = std::chrono::seconds(10);
  // Borrowed; null: nothing outlives the process.
  StateKeep* keep = nullptr;
};

class StateFetch {
 public:
  struct Snapshot {
    Round round;
    SharedBytes state;
    Hash256 root{};
  };
  struct FetchedResult {
    Round round;
    Hash128 hash{};
    std::shared_ptr<FloatBuffer> values;
    // As RoundReports encodes them, and found to decode; empty where rounds have none.
    SharedBytes reports;
  };

  StateFetch(StateFetchOptions options, StateSink& sink);
  ~StateFetch();
  StateFetch(const StateFetch&) = delete;
  StateFetch& operator=(const StateFetch&) = delete;

  // --- What to fetch.
  // The peers that may be asked, all linked; call again when that changes.
  void set_sources(const std::vector<PeerId>& sources, TimePoint now);
  // Begins with a snapshot; once it is taken, the rounds after it follow by themselves.
  void fetch_snapshot(TimePoint now);
  // Fetches the results of `first` and all after it, in order, until stop().
  void fetch_results(Round first, TimePoint now);
  void stop();

  // --- Events.
  Status on_frame(const PeerId& from, const FrameView& frame, TimePoint now);
  // Acknowledges a block or a result to its sender. It is called for each one that arrives, even if
  // nothing is fetched any more: the sender limits the bytes in flight.
  void acknowledge(const PeerId& from, const FrameView& frame);
  void on_link_down(const PeerId& peer, TimePoint now);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const;

  // --- Outcomes, to be taken after each event.
  std::optional<Snapshot> take_snapshot(TimePoint now);
  // The next result in order of rounds, if it is here.
  std::optional<FetchedResult> take_result(TimePoint now);
  // The highest round that any source has reported as committed.
  Round newest_known() const;
  // The rounds wanted are kept by no source any more: fetch_snapshot() anew.
  bool results_gone() const;
  std::uint64_t bytes_received() const;
  // Blocks of the snapshot that were here when its transfer last began or went on.
  std::uint32_t blocks_resumed() const;

 private:
  struct Impl;
  OnOwnerThread<Impl> impl_;
};

}  // namespace weft
