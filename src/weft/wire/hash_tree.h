// HashTree: one hash for many blocks, so that each block can be checked alone when it arrives.
//
// The leaves are the blocks' SHA-256; a node is SHA-256(0x01, left, right); a last node without a
// partner moves up unchanged. With the root and the number of leaves, a receiver checks a leaf by
// its path, which is the partners on the way up: 32 bytes for each level. The number of levels
// follows from the number of leaves, so that no inner node passes for a leaf.
//
// IMPLEMENTATION: R. Merkle, "A digital signature based on a conventional encryption function",
// 1987. The tree takes 2 n hashes of memory for n leaves.
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/hash.h"

namespace weft {

class HashTree {
 public:
  HashTree() = default;
  // Without leaves the root is all zeros.
  explicit HashTree(std::vector<Hash256> leaves);

  Hash256 root() const;
  std::uint32_t leaves() const;
  // REQUIRES: `leaf` < leaves().
  std::vector<Hash256> path(std::uint32_t leaf) const;

 private:
  // The levels from the leaves up to the root.
  std::vector<std::vector<Hash256>> levels_;
};

// The root that follows from `hash` as leaf number `leaf` of `leaves`; nothing if the path has the
// wrong length.
std::optional<Hash256> root_of_path(const Hash256& hash, std::uint32_t leaf, std::uint32_t leaves,
                                    std::span<const Hash256> path);

}  // namespace weft
