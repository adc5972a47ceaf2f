#include "weft/wire/hash_tree.h"

#include <utility>

#include "weft/base/check.h"

namespace weft {

static Hash256 node_of(const Hash256& left, const Hash256& right) {
  constexpr std::array<std::uint8_t, 1> kNode = {1};
  return Sha256().update(kNode).update(left).update(right).finish();
}

HashTree::HashTree(std::vector<Hash256> leaves) {
  levels_.push_back(std::move(leaves));
  while (levels_.back().size() > 1) {
    const std::vector<Hash256>& below = levels_.back();
    std::vector<Hash256> above;
    above.reserve((below.size() + 1) / 2);
    for (std::size_t i = 0; i + 1 < below.size(); i += 2) {
      above.push_back(node_of(below[i], below[i + 1]));
    }
    if (below.size() % 2 == 1) above.push_back(below.back());
    levels_.push_back(std::move(above));
  }
}

Hash256 HashTree::root() const {
  if (levels_.empty() || levels_.back().empty()) return {};
  return levels_.back().front();
}

std::uint32_t HashTree::leaves() const {
  return levels_.empty() ? 0 : static_cast<std::uint32_t>(levels_.front().size());
}

std::vector<Hash256> HashTree::path(std::uint32_t leaf) const {
  WEFT_CHECK(leaf < leaves());
  std::vector<Hash256> path;
  std::size_t at = leaf;
  for (const std::vector<Hash256>& level : levels_) {
    const std::size_t partner = at ^ 1U;
    if (partner < level.size()) path.push_back(level[partner]);
    at /= 2;
  }
  return path;
}

std::optional<Hash256> root_of_path(const Hash256& hash, std::uint32_t leaf, std::uint32_t leaves,
                                    std::span<const Hash256> path) {
  if (leaf >= leaves) return std::nullopt;
  Hash256 node = hash;
  std::size_t used = 0;
  std::uint32_t at = leaf;
  for (std::uint32_t size = leaves; size > 1; size = size / 2 + size % 2) {
    if ((at ^ 1U) < size) {
      if (used == path.size()) return std::nullopt;
      const Hash256& partner = path[used++];
      node = at % 2 == 0 ? node_of(node, partner) : node_of(partner, node);
    }
    at /= 2;
  }
  if (used != path.size()) return std::nullopt;
  return node;
}

}  // namespace weft
