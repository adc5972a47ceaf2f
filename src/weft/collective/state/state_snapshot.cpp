#include "weft/collective/state/state_snapshot.h"

#include <utility>

#include "weft/base/check.h"

namespace weft {

StateSnapshot make_state_snapshot(Round round, Bytes state) {
  StateSnapshot snapshot;
  snapshot.name = {round, state.size(), {}};
  WEFT_CHECK(state.size() / kStateBlockBytes < kStateBlocksMax);
  std::vector<Hash256> leaves(snapshot.name.blocks());
  const ByteSpan bytes = state;
  for (std::uint32_t i = 0; i < leaves.size(); ++i) {
    leaves[i] =
        sha256(bytes.subspan(std::size_t{i} * kStateBlockBytes, snapshot.name.block_bytes(i)));
  }
  snapshot.tree = HashTree(std::move(leaves));
  snapshot.name = name_snapshot(round, state.size(), snapshot.tree.root());
  snapshot.state = SharedBytes(std::move(state));
  return snapshot;
}

}  // namespace weft
