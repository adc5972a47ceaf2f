#include "weft/base/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::size_t kBegunLettersMin = 3;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table distance[i][j] between the first i letters of a and j letters of b.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = name.size() / 3 + 2;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view meant = nearest_name(name, candidates);
  if (edit_distance(name, meant) > std::max<std::size_t>(1, name.size() / 3)) meant = {};
  for (const std::string_view candidate : candidates) {
    const bool begun = name.size() >= kBegunLettersMin && candidate.starts_with(name);
    if (meant.empty() && begun) meant = candidate;
  }
  return meant.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", meant);
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  return did_you_mean(name, std::vector<std::string_view>(candidates.begin(), candidates.end()));
}

}  // namespace weft
