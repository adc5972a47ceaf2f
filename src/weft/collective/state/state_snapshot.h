// StateSnapshot: the state after one round in the form for newcomers, with the hash tree with which
// they check each block.
//
// Threads: values. Construction hashes the whole state (about 1 s per GB): do not construct one on
// the loop thread, or while a round waits.
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
