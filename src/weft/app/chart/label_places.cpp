#include "weft/app/chart/label_places.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace weft {

std::vector<double> label_places(std::span<const double> wanted, double pitch, LabelSide side) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  std::vector<double> places(wanted.begin(), wanted.end());
  // From the top each one makes room for the one before; from the bottom back, what that pushed
  // out of the side returns.
  double least = side.from;
  for (const std::size_t i : order) {
    places[i] = std::max(places[i], least);
    least = places[i] + pitch;
  }
  double most = side.to;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    places[*i] = std::min(places[*i], most);
    most = places[*i] - pitch;
  }
  // More than the side holds: they begin at its top.
  least = side.from;
  for (const std::size_t i : order) {
    places[i] = std::max(places[i], least);
    least = places[i] + pitch;
  }
  return places;
}

}  // namespace weft
