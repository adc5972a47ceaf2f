#include "weft/code/blocks/coded_blocks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/code/blocks/liar_search.h"

namespace weft {
namespace {

// Nodes that are nearer to each other than this are one: both are cosines of the same angle, apart
// by rounding. Different ones are more than 1e-8 apart for up to 512 workers and 64 blocks.
constexpr double kSameNode = 1e-12;

// Berrut's weights at `x` of values at `nodes`, which are sorted; they sum to 1.
std::vector<double> berrut_weights(double x, std::span<const double> nodes) {
  std::vector<double> weights(nodes.size());
  double sum = 0;
  double sign = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double distance = x - nodes[i];
    if (std::abs(distance) < kSameNode) {
      std::fill(weights.begin(), weights.end(), 0.0);
      weights[i] = 1;
      return weights;
    }
    weights[i] = sign / distance;
    sum += weights[i];
    sign = -sign;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

CodedBlocks::CodedBlocks(CodedBlocksInfo info) : info_(std::move(info)) {
  WEFT_CHECK(!info_.block_nodes.empty() && !info_.worker_nodes.empty());
}

std::vector<double> CodedBlocks::encode(std::size_t worker) const {
  WEFT_CHECK(worker < workers());
  return berrut_weights(info_.worker_nodes[worker], info_.block_nodes);
}

Result<std::vector<std::vector<double>>> CodedBlocks::decode(
    const std::vector<bool>& answered) const {
  WEFT_CHECK(answered.size() == workers());
  std::vector<std::size_t> used;
  std::vector<double> nodes;
  for (std::size_t worker = 0; worker < workers(); ++worker) {
    if (!answered[worker]) continue;
    used.push_back(worker);
    nodes.push_back(info_.worker_nodes[worker]);
  }
  if (workers() - used.size() > missing_max()) {
    return unavailable(fmt::format("not decodable: {} of {} workers are missing, at most {} may be",
                                   workers() - used.size(), workers(), missing_max()));
  }
  std::vector<std::vector<double>> decoded;
  for (const double node : info_.block_nodes) {
    const std::vector<double> weights = berrut_weights(node, nodes);
    std::vector<double>& row = decoded.emplace_back(workers());
    for (std::size_t k = 0; k < used.size(); ++k) row[used[k]] = weights[k];
  }
  return decoded;
}

Result<std::vector<std::size_t>> CodedBlocks::liars(std::span<const double> answers,
                                                    std::size_t values,
                                                    const std::vector<bool>& answered) const {
  WEFT_CHECK(answered.size() == workers());
  if (!info_.locates) {
    return unavailable("liars cannot be located with these nodes; use sbacc");
  }
  if (values == 0 || answers.size() / values != workers() || answers.size() % values != 0) {
    return invalid_argument(fmt::format("answers: expected {} times {} values, got {}", workers(),
                                        values, answers.size()));
  }
  return locate_liars({answers, values, info_.threshold, liars_max(), answered});
}

}  // namespace weft
