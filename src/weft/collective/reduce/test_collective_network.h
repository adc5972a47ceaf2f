// TestCollectiveNetwork: a CollectiveNetwork for GoogleTest, which knows what comes out of a sum.
//
// Threads: one owner.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/reduce/test_core_network.h"

namespace weft {

class TestCollectiveNetwork final : public CollectiveNetwork {
 public:
  using CollectiveNetwork::CollectiveNetwork;

  // Everyone has a whole result, the same bits where two have the same elements, within
  // `tolerance` of the sum in double precision (or of the input that was gathered).
  void expect_results(double tolerance) {
    for (int rank = 0; rank < size(); ++rank) {
      ASSERT_TRUE(core(rank).complete()) << "rank " << rank;
      EXPECT_TRUE(core(rank).contributed());
      EXPECT_TRUE(core(rank).sent_all()) << "rank " << rank;
      EXPECT_EQ(core(rank).waits_for(), Rank(rank));
    }
    if (elements() == 0) return;
    std::vector<float> first(index(elements()));
    std::vector<bool> known(first.size());
    for (int rank = 0; rank < size(); ++rank) {
      const std::shared_ptr<FloatBuffer> buffer = core(rank).result();
      const auto [begin, end] = result_range(rank);
      for (std::size_t i = index(begin); i < index(end); ++i) {
        const float got = buffer->span()[i];
        if (known[i]) {
          ASSERT_EQ(got, first[i]) << "rank " << rank << ", element " << i;
          continue;
        }
        known[i] = true;
        first[i] = got;
        ASSERT_NEAR(static_cast<double>(got), wanted(i), tolerance) << "element " << i;
      }
    }
  }

  // What the oracle says of element i.
  double wanted(std::size_t i) const {
    if (options().kind == CollectiveKind::kBroadcast) {
      return static_cast<double>(input(options().root.value())[i]);
    }
    if (options().kind == CollectiveKind::kAllGather) {
      return static_cast<double>(input(static_cast<int>(i / index(elements() / size())))[i]);
    }
    double sum = 0;
    for (int rank = 0; rank < options().size; ++rank) sum += static_cast<double>(input(rank)[i]);
    return sum;
  }

 private:
  void failed(const std::string& text) override { ADD_FAILURE() << text; }
};

}  // namespace weft
