#include "weft/peer/lineage.h"

#include <algorithm>
#include <cstddef>

namespace weft {
namespace {

// How many points, from the beginning of the run, the two have in common.
std::size_t common_points(const Lineage& a, const Lineage& b) {
  std::size_t count = 0;
  while (count < a.points.size() && count < b.points.size() &&
         a.points[count].branch == b.points[count].branch) {
    ++count;
  }
  return count;
}

// Stretch `i` is that of the branch that i points lead to.
Hash256 stretch_branch(const Lineage& lineage, std::size_t i) {
  return i == 0 ? Hash256{} : lineage.points[i - 1].branch;
}

std::uint64_t stretch_end(const BranchTotal& total, std::size_t i) {
  const auto& points = total.lineage.points;
  return i < points.size() ? std::min(points[i].samples, total.samples) : total.samples;
}

// Where the two parted.
std::uint64_t parted_at(const BranchTotal& a, const BranchTotal& b) {
  const std::size_t common = common_points(a.lineage, b.lineage);
  return std::min(stretch_end(a, common), stretch_end(b, common));
}

// How much of what `of` has learned since the two parted `by` has absorbed.
std::uint64_t covered(const BranchTotal& of, const BranchTotal& by) {
  std::uint64_t sum = 0;
  std::uint64_t begin = parted_at(of, by);
  for (std::size_t i = common_points(of.lineage, by.lineage); i <= of.lineage.points.size(); ++i) {
    const std::uint64_t end = std::max(begin, stretch_end(of, i));
    for (const AbsorbedBranch& absorbed : by.lineage.absorbed) {
      if (absorbed.branch != stretch_branch(of.lineage, i)) continue;
      sum += std::clamp(absorbed.until, begin, end) - begin;
    }
    begin = end;
  }
  return sum;
}

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

void remember(Lineage& lineage, const AbsorbedBranch& news) {
  for (AbsorbedBranch& known : lineage.absorbed) {
    if (known.branch != news.branch) continue;
    known.until = std::max(known.until, news.until);
    return;
  }
  lineage.absorbed.push_back(news);
}

}  // namespace

Divergence divergence(const BranchTotal& first, const BranchTotal& second) {
  const std::uint64_t shared =
      parted_at(first, second) + covered(first, second) + covered(second, first);
  return {minus(first.samples, shared), minus(second.samples, shared)};
}

Lineage absorb(const BranchTotal& absorber, const BranchTotal& other) {
  Lineage lineage = absorber.lineage;
  for (const AbsorbedBranch& known : other.lineage.absorbed) remember(lineage, known);
  std::uint64_t begin = parted_at(absorber, other);
  const std::size_t common = common_points(absorber.lineage, other.lineage);
  for (std::size_t i = common; i <= other.lineage.points.size(); ++i) {
    const std::uint64_t end = stretch_end(other, i);
    if (end > begin || i == other.lineage.points.size()) {
      remember(lineage, {stretch_branch(other.lineage, i), end});
    }
    begin = std::max(begin, end);
  }
  const auto& all = lineage.absorbed;
  if (all.size() > kAbsorbedMax) {
    // The oldest are forgotten; if they return, they count as new.
    const auto extra = static_cast<std::ptrdiff_t>(all.size() - kAbsorbedMax);
    lineage.absorbed.erase(lineage.absorbed.begin(), lineage.absorbed.begin() + extra);
  }
  return lineage;
}

bool has_absorbed(const Lineage& absorber, const Hash256& branch, std::uint64_t samples) {
  return std::any_of(absorber.absorbed.begin(), absorber.absorbed.end(),
                     [&](const AbsorbedBranch& known) {
                       return known.branch == branch && known.until >= samples;
                     });
}

}  // namespace weft
