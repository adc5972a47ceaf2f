#include "weft/sim/machine/disruption.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace weft::sim {
namespace {

template <class T>
bool whole_number(std::string_view text, T& out) {
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, out);
  return fault == std::errc() && stop == end && out > 0;
}

}  // namespace

Result<Disruption> parse_disruption(const std::string& text) {
  const Status refused = invalid_argument(fmt::format(
      "--disrupt: expected leave or data, random or hubs, such as leave=hubs:10@20 for ten peers "
      "after round 20, got '{}'",
      text));
  const std::string_view all = text;
  const std::size_t equals = all.find('=');
  const std::size_t colon = all.find(':');
  const std::size_t at = all.find('@');
  if (at == std::string_view::npos || !(equals < colon && colon < at)) return refused;
  const std::string_view what = all.substr(0, equals);
  const std::string_view whom = all.substr(equals + 1, colon - equals - 1);
  Disruption disruption;
  disruption.leaves = what == "leave";
  disruption.hubs = whom == "hubs";
  if (!disruption.leaves && what != "data") return refused;
  if (!disruption.hubs && whom != "random") return refused;
  if (!whole_number(all.substr(colon + 1, at - colon - 1), disruption.count)) return refused;
  if (!whole_number(all.substr(at + 1), disruption.round)) return refused;
  return disruption;
}

std::vector<std::size_t> chosen_by(const Disruption& disruption,
                                   std::vector<DisruptionTarget> targets, Rng& draws) {
  for (std::size_t i = 0; i + 1 < targets.size() && !disruption.hubs; ++i) {
    std::swap(targets[i], targets[i + draws.below(targets.size() - i)]);
  }
  if (disruption.hubs) {
    std::ranges::stable_sort(targets, std::ranges::greater(), &DisruptionTarget::degree);
  }
  targets.resize(std::min(targets.size(), disruption.count));
  std::vector<std::size_t> chosen;
  chosen.reserve(targets.size());
  for (const DisruptionTarget& target : targets) chosen.push_back(target.peer);
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<std::vector<std::size_t>> connected_parts(
    const std::vector<std::vector<std::size_t>>& neighbours, const std::vector<bool>& there) {
  std::vector<std::vector<std::size_t>> parts;
  std::vector<bool> seen(neighbours.size());
  for (std::size_t first = 0; first < neighbours.size(); ++first) {
    if (seen[first] || !there[first]) continue;
    seen[first] = true;
    std::vector<std::size_t> part = {first};
    for (std::size_t i = 0; i < part.size(); ++i) {
      for (const std::size_t other : neighbours[part[i]]) {
        if (seen[other] || !there[other]) continue;
        seen[other] = true;
        part.push_back(other);
      }
    }
    std::ranges::sort(part);
    parts.push_back(std::move(part));
  }
  std::ranges::stable_sort(parts, std::ranges::greater(), &std::vector<std::size_t>::size);
  return parts;
}

}  // namespace weft::sim
