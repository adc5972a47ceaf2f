#include "weft/data/partition.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/base/portable_math.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

using Parts = std::vector<std::vector<std::int64_t>>;

constexpr Option kDirichletOptions[] = {
    {.name = "alpha",
     .fallback = 0.5,
     .min = 1e-3,
     .max = 1e6,
     .help = "alpha of the distribution of the shares of each label."},
};
constexpr Option kLabelsOptions[] = {
    {.name = "count",
     .fallback = 2,
     .min = 1,
     .max = 1000,
     .whole = true,
     .help = "Pieces of a member; each holds one label or two."},
};
constexpr Option kQuantityOptions[] = {
    {.name = "alpha",
     .fallback = 0.5,
     .min = 1e-3,
     .max = 1e6,
     .help = "alpha of the distribution of the sizes of the parts."},
};

void shuffle(std::vector<std::int64_t>& values, Rng& rng) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

std::vector<std::int64_t> shuffled_samples(const PartitionInput& input, Rng& rng) {
  std::vector<std::int64_t> all(input.labels.size());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  shuffle(all, rng);
  return all;
}

// The logarithm of a number from the gamma distribution of shape `alpha`.
// IMPLEMENTATION: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000, with
// their device for shapes below 1. In logarithms, because a small shape gives numbers below what
// f64 holds.
double log_gamma_draw(double alpha, Rng& rng) {
  if (alpha < 1) {
    const double power = portable_log(1.0 - rng.uniform()) / alpha;
    return log_gamma_draw(alpha + 1, rng) + power;
  }
  const double d = alpha - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = rng.normal();
    const double v = 1 + c * x;
    if (v <= 0) continue;
    const double cubed = v * v * v;
    const double u = 1.0 - rng.uniform();
    if (portable_log(u) < 0.5 * x * x + d - d * cubed + d * portable_log(cubed)) {
      return portable_log(d * cubed);
    }
  }
}

std::vector<double> dirichlet_draw(double alpha, std::size_t count, Rng& rng) {
  std::vector<double> shares(count);
  for (double& share : shares) share = log_gamma_draw(alpha, rng);
  const double largest = *std::ranges::max_element(shares);
  double sum = 0;
  for (double& share : shares) {
    share = portable_exp(share - largest);
    sum += share;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// Cuts `samples` by the shares and gives the pieces to the members.
void deal(std::span<const std::int64_t> samples, std::span<const double> shares, Parts& parts) {
  double before = 0;
  std::size_t begin = 0;
  for (std::size_t member = 0; member < shares.size(); ++member) {
    before += shares[member];
    const double cut = std::round(before * static_cast<double>(samples.size()));
    const bool last = member + 1 == shares.size();
    const std::size_t end =
        last ? samples.size() : std::clamp(static_cast<std::size_t>(cut), begin, samples.size());
    parts[member].insert(parts[member].end(), samples.begin() + static_cast<std::ptrdiff_t>(begin),
                         samples.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
}

Parts split_equal(const PartitionInput& input) {
  Rng rng(input.seed, 1);
  Parts parts(input.members);
  const std::vector<double> shares(input.members, 1.0 / static_cast<double>(input.members));
  deal(shuffled_samples(input, rng), shares, parts);
  return parts;
}

Parts split_quantity(const PartitionInput& input) {
  Rng rng(input.seed, 2);
  Parts parts(input.members);
  const std::vector<double> shares = dirichlet_draw(input.options[0], input.members, rng);
  deal(shuffled_samples(input, rng), shares, parts);
  return parts;
}

Parts split_dirichlet(const PartitionInput& input) {
  Rng rng(input.seed, 3);
  std::map<std::int64_t, std::vector<std::int64_t>> by_label;
  for (const std::int64_t sample : shuffled_samples(input, rng)) {
    by_label[input.labels[static_cast<std::size_t>(sample)]].push_back(sample);
  }
  Parts parts(input.members);
  for (const auto& [label, samples] : by_label) {
    deal(samples, dirichlet_draw(input.options[0], input.members, rng), parts);
  }
  return parts;
}

Parts split_labels(const PartitionInput& input) {
  Rng rng(input.seed, 4);
  std::vector<std::int64_t> samples = shuffled_samples(input, rng);
  std::ranges::stable_sort(samples, {}, [&](std::int64_t sample) {
    return input.labels[static_cast<std::size_t>(sample)];
  });
  const std::size_t pieces = input.members * static_cast<std::size_t>(input.options[0]);
  std::vector<std::int64_t> order(pieces);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  shuffle(order, rng);
  Parts parts(input.members);
  for (std::size_t i = 0; i < pieces; ++i) {
    const auto piece = static_cast<std::size_t>(order[i]);
    const std::size_t begin = piece * samples.size() / pieces;
    const std::size_t end = (piece + 1) * samples.size() / pieces;
    std::vector<std::int64_t>& part = parts[i % input.members];
    part.insert(part.end(), samples.begin() + static_cast<std::ptrdiff_t>(begin),
                samples.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return parts;
}

std::size_t pieces_needed(const PartitionInput& input) {
  return input.members * static_cast<std::size_t>(input.options[0]);
}

// A member without samples takes one of a member that has most.
void give_each_one(Parts& parts) {
  for (std::vector<std::int64_t>& part : parts) {
    if (!part.empty()) continue;
    auto& richest = *std::ranges::max_element(parts, {}, &std::vector<std::int64_t>::size);
    part.push_back(richest.back());
    richest.pop_back();
  }
}

constexpr PartitionDef kDirichlet = {
    .name = "dirichlet",
    .summary = "The members' shares of each label are drawn (Hsu et al. 2019).",
    .options = kDirichletOptions,
    .needs_labels = true,
    .split = split_dirichlet,
};
constexpr PartitionDef kEqual = {
    .name = "equal",
    .summary = "Drawn parts of equal size.",
    .split = split_equal,
};
constexpr PartitionDef kLabels = {
    .name = "labels",
    .summary = "A few pieces of the samples sorted by label (McMahan et al. 2017).",
    .options = kLabelsOptions,
    .needs_labels = true,
    .least = pieces_needed,
    .split = split_labels,
};
constexpr PartitionDef kQuantity = {
    .name = "quantity",
    .summary = "Parts of drawn sizes (Li et al. 2022).",
    .options = kQuantityOptions,
    .split = split_quantity,
};
constexpr PartitionDef kShared = {
    .name = "shared",
    .summary = "Every member draws from all samples.",
};
constexpr const PartitionDef* kPartitions[] = {&kDirichlet, &kEqual, &kLabels, &kQuantity,
                                               &kShared};

}  // namespace

std::span<const PartitionDef* const> partitions() { return kPartitions; }

Result<Partition> Partition::parse(std::string_view text) {
  Partition partition;
  WEFT_TRY_ASSIGN(partition.plugin_, parse_plugin<PartitionDef>(text, kPartitions));
  return partition;
}

std::string Partition::text() const { return plugin_.text(); }
bool Partition::is_shared() const { return plugin_.def->split == nullptr; }
bool Partition::needs_labels() const { return plugin_.def->needs_labels; }

Result<Parts> Partition::parts(std::span<const std::int64_t> labels, std::size_t members,
                               std::uint64_t seed) const {
  WEFT_CHECK(!is_shared() && members >= 1);
  const PartitionInput input = {labels, members, seed, plugin_.options};
  const std::size_t least = plugin_.def->least == nullptr ? members : plugin_.def->least(input);
  if (labels.size() < least) {
    return invalid_argument(fmt::format(
        "data.partition: expected at least {} samples for {} members with \"{}\", got {}", least,
        members, text(), labels.size()));
  }
  Parts parts = plugin_.def->split(input);
  give_each_one(parts);
  for (std::vector<std::int64_t>& part : parts) std::ranges::sort(part);
  return parts;
}

}  // namespace weft
