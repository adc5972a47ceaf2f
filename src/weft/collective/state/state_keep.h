// StateKeep: stores the verified blocks of a snapshot until it is complete, so that a transfer
// resumes after its process was started again.
//
// Where it stands: StateFetch borrows one. Threads: one owner.
// Fails: never; after a failed write it stores nothing more. Blocks that it returns are checked
// again.
#pragma once

#include <optional>

#include "weft/base/bytes.h"
#include "weft/wire/state_message.h"

namespace weft {

class StateKeep {
 public:
  struct Block {
    BlockHead head;
    Bytes body;
  };

  virtual ~StateKeep() = default;
  // The snapshot of which blocks are kept, if any.
  virtual std::optional<SnapshotName> name() = 0;
  // Forgets the stored blocks, and stores blocks of this snapshot from now on.
  virtual void begin(const SnapshotName& name) = 0;
  virtual void keep(const BlockHead& head, ByteSpan body) = 0;
  // The kept blocks one after another, from the first after name(); nothing at their end.
  virtual std::optional<Block> next() = 0;
  virtual void forget() = 0;
};

}  // namespace weft
