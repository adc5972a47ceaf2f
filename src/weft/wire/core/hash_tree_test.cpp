#include "weft/wire/hash_tree.h"

#include <gtest/gtest.h>

namespace weft::hash_tree_test {
namespace {

std::vector<Hash256> leaves_of(std::uint32_t count) {
  std::vector<Hash256> leaves;
  for (std::uint32_t i = 0; i < count; ++i) {
    leaves.push_back(sha256(as_bytes(std::string_view("leaf " + std::to_string(i)))));
  }
  return leaves;
}

Hash256 joined(const Hash256& left, const Hash256& right) {
  Bytes bytes = {1};
  bytes.insert(bytes.end(), left.begin(), left.end());
  bytes.insert(bytes.end(), right.begin(), right.end());
  return sha256(bytes);
}

TEST(HashTree, RootsOfSmallTreesAreThoseDoneByHand) {
  const std::vector<Hash256> leaf = leaves_of(5);
  EXPECT_EQ(HashTree().root(), Hash256{});
  EXPECT_EQ(HashTree(std::vector<Hash256>()).root(), Hash256{});
  EXPECT_EQ(HashTree(std::vector{leaf[0]}).root(), leaf[0]);
  EXPECT_EQ(HashTree(std::vector{leaf[0], leaf[1], leaf[2]}).root(),
            joined(joined(leaf[0], leaf[1]), leaf[2]));
  EXPECT_EQ(HashTree(leaf).root(),
            joined(joined(joined(leaf[0], leaf[1]), joined(leaf[2], leaf[3])), leaf[4]));
}

TEST(HashTree, EveryLeafIsCheckedByItsPathAndNothingElseIs) {
  for (std::uint32_t count = 1; count <= 33; ++count) {
    const std::vector<Hash256> leaves = leaves_of(count);
    const HashTree tree(leaves);
    ASSERT_EQ(tree.leaves(), count);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::vector<Hash256> path = tree.path(i);
      ASSERT_EQ(root_of_path(leaves[i], i, count, path), tree.root()) << count << " " << i;
      for (std::uint32_t other = 0; other < count; ++other) {
        if (other == i) continue;
        EXPECT_NE(root_of_path(leaves[i], other, count, path), tree.root());
      }
      EXPECT_FALSE(root_of_path(leaves[i], count, count, path).has_value());
      if (!path.empty()) {
        path.front()[7] ^= 1U;
        EXPECT_NE(root_of_path(leaves[i], i, count, path), tree.root());
        path.pop_back();
        EXPECT_FALSE(root_of_path(leaves[i], i, count, path).has_value());
      }
      path = tree.path(i);
      path.emplace_back();
      EXPECT_FALSE(root_of_path(leaves[i], i, count, path).has_value());
    }
  }
}

TEST(HashTree, ANodeIsNoLeaf) {
  const std::vector<Hash256> leaves = leaves_of(4);
  const HashTree tree(leaves);
  const Hash256 left = joined(leaves[0], leaves[1]);
  const std::vector<Hash256> path = {joined(leaves[2], leaves[3])};
  EXPECT_FALSE(root_of_path(left, 0, 4, path).has_value());
}

}  // namespace
}  // namespace weft::hash_tree_test
