// HashTree: one hash for many blocks, such that each block can be checked alone, as it comes.
//
// The leaves are the blocks' SHA-256; a node is SHA-256(0x01, left, right); a last node without a
// partner goes up as it is. Whoever knows the root and the number of leaves checks a leaf by the
// partners on its way up, its path: 32 bytes for each level. The number of levels follows from the
// number of leaves, so no node can be given for a leaf.
//
// IMPLEMENTATION: R. Merkle, "A digital signature based on a conventional encryption function",
// 1987. 2 n hashes of memory for n leaves.
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
  // From the leaves up to the root.
  std::vector<std::vector<Hash256>> levels_;
};

// What the root must be if `hash` is leaf number `leaf` of `leaves`; nothing if the path does not
// have the length that it must have.
std::optional<Hash256> root_of_path(const Hash256& hash, std::uint32_t leaf, std::uint32_t leaves,
                                    std::span<const Hash256> path);

}  // namespace weft
