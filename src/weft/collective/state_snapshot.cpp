#include "weft/collective/state_snapshot.h"

#include <algorithm>
#include <utility>

#include "weft/base/check.h"
#include "weft/base/parallel.h"

namespace weft {

StateSnapshot make_state_snapshot(Round round, Bytes state) {
  StateSnapshot snapshot;
  snapshot.name = {round, state.size(), {}};
  WEFT_CHECK(state.size() / kStateBlockBytes < kStateBlocksMax);
  std::vector<Hash256> leaves(snapshot.name.blocks());
  const ByteSpan bytes = state;
  parallel_for(static_cast<std::int64_t>(leaves.size()), 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const auto index = static_cast<std::uint32_t>(i);
                   leaves[index] = sha256(bytes.subspan(std::size_t{index} * kStateBlockBytes,
                                                        snapshot.name.block_bytes(index)));
                 }
               });
  snapshot.tree = HashTree(std::move(leaves));
  snapshot.name = name_snapshot(round, state.size(), snapshot.tree.root());
  snapshot.state = SharedBytes(std::move(state));
  return snapshot;
}

}  // namespace weft
