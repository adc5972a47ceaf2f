#include "weft/aggregate/krum_scores.h"

#include <algorithm>
#include <numeric>

namespace weft {

std::vector<double> krum_scores(const Distances& distances, std::span<const int> members,
                                int neighbours) {
  std::vector<double> scores;
  for (const int member : members) {
    std::vector<double> others;
    for (const int other : members) {
      if (other != member) others.push_back(distances.between(member, other));
    }
    const auto end = others.begin() + std::min<std::ptrdiff_t>(neighbours, std::ssize(others));
    std::partial_sort(others.begin(), end, others.end());
    scores.push_back(std::accumulate(others.begin(), end, 0.0));
  }
  return scores;
}

std::vector<int> smallest(std::span<const double> values, int count) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return values[static_cast<std::size_t>(a)] < values[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(count));
  return order;
}

}  // namespace weft
