// MergeStates: states that other branches of the run have yielded, while they are fetched and until
// they are averaged with this one.
//
// Each is fetched by its name (SnapshotFetch), one after the other, from the members of the branch
// that offers it. The last two are kept: a branch meets few others, and a state is large. A fetch
// without progress is interrupted for the next one, and abandoned after a while: its branch will go
// on alone, and offer a newer state.
//
// Where it stands: SwarmCore owns one; see docs/membership.md, "Branches".
// Threads: one owner.
// Fails: on_frame returns kCorrupt: end that peer's link, then call on_link_down.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "weft/base/owner_thread.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/state/snapshot_fetch.h"
#include "weft/peer/membership.h"

namespace weft {

class MergeStates {
 public:
  // Borrows `sink`. Nothing is kept beyond the process, regardless of `options`.
  MergeStates(const StateFetchOptions& options, StateSink& sink);

  // Told again by every member of that branch: the same offer counts once.
  void offer(const MergeOffer& offer, TimePoint now);
  // The peers whose state is being fetched; empty: none is.
  std::vector<PeerId> wanted_sources() const;
  // Sets those of them that have a link.
  void set_sources(const std::vector<PeerId>& sources, TimePoint now);
  bool is_source(const PeerId& peer) const;
  void clear();

  // kStateOffer, kBlock, kBlockMissing of a source; others are ignored.
  Status on_frame(const PeerId& from, const FrameView& frame, TimePoint now);
  void on_link_down(const PeerId& peer, TimePoint now);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const;

  // The states that are here since the last call, by name.
  std::vector<Hash256> take_ready();
  // Gives it away.
  std::optional<SharedBytes> take(const Hash256& root);

 private:
  struct Offer {
    Hash256 branch{};
    Hash256 root{};
    std::vector<PeerId> members;
  };
  struct Held {
    Hash256 root{};
    SharedBytes state;
  };

  void begin(TimePoint now);
  void take_when_ready(TimePoint now);

  SnapshotFetch fetch_;
  // The first is being drawn.
  std::deque<Offer> offers_;
  std::deque<Held> held_;
  std::vector<Hash256> ready_;
  std::vector<PeerId> sources_;
  TimePoint begun_;
  TimePoint moved_;
  OwnerThread owner_;
};

}  // namespace weft
