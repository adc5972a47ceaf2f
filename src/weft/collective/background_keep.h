// BackgroundKeep: a StateKeep whose blocks another one writes in a thread of its own, so that a
// slow disk holds up nobody's heartbeats.
//
// What the disk cannot take in time is not kept: those blocks are fetched again after a restart.
// Threads: one owner; the other keep belongs to the thread inside while blocks are under way.
// Fails: as the other keep.
#pragma once

#include <cstddef>
#include <deque>

#include "weft/base/thread.h"
#include "weft/collective/state_keep.h"

namespace weft {

class BackgroundKeep final : public StateKeep {
 public:
  // Borrows `keep`, which must outlive this.
  explicit BackgroundKeep(StateKeep& keep);
  ~BackgroundKeep() override;

  // The first two and the last wait for the block that is being written.
  std::optional<SnapshotName> name() override;
  void begin(const SnapshotName& name) override;
  void keep(const BlockHead& head, ByteSpan body) override;
  std::optional<Block> next() override;
  void forget() override;

 private:
  struct Box {
    std::deque<Block> waiting;
    std::size_t bytes = 0;
    bool writing = false;
    bool ended = false;
  };

  void write_all_blocks();
  // Until nothing is under way; blocks that wait are written before, or dropped.
  void settle(bool drop);

  StateKeep& keep_;
  Guarded<Box> box_;
  Thread thread_;
};

}  // namespace weft
