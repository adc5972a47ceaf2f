// BackgroundKeep: a StateKeep whose blocks another one writes in a thread of its own, so that a
// slow disk delays no heartbeats.
//
// Blocks that the disk cannot take in time are not kept, and are fetched again after a restart.
// Threads: one owner; the other keep belongs to the thread inside while blocks are under way.
// Fails: as the other keep.
#pragma once

#include <cstddef>
#include <deque>

#include "weft/base/thread.h"
#include "weft/base/thread_role.h"
#include "weft/collective/state/state_keep.h"

namespace weft {

class BackgroundKeep final : public StateKeep {
 public:
  // Borrows `keep`, which must outlive this.
  explicit BackgroundKeep(StateKeep& keep);
  ~BackgroundKeep() override;

  // All but keep() wait for the blocks that are under way; begin() and forget() drop those that
  // wait.
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
  // Waits until nothing is being written; blocks that wait are written before, or dropped. Then
  // keep_ is the owner's until it gives the thread another block.
  void settle(bool drop) WEFT_ASSERT_CAPABILITY(keeping_);

  // Held by the thread inside while it writes a block, and else by the owner.
  ThreadRole keeping_;
  StateKeep& keep_ WEFT_GUARDED_BY(keeping_);
  Guarded<Box> box_;
  Thread thread_;
};

}  // namespace weft
