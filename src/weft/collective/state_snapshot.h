// StateSnapshot: the state after one round as it is given to newcomers, with the hash tree by which
// they check each block.
//
// Threads: values. Making one hashes the whole state, about a second for each GB: not on the loop
// thread, nor where a round waits.
#pragma once

#include "weft/base/bytes.h"
#include "weft/wire/hash_tree.h"
#include "weft/wire/state_message.h"

namespace weft {

struct StateSnapshot {
  SnapshotName name;
  HashTree tree;
  SharedBytes state;
};

// REQUIRES: at most kStateBlocksMax blocks.
StateSnapshot make_state_snapshot(Round round, Bytes state);

}  // namespace weft
