#include "weft/train/step/gossip_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/train/report/round_report.h"

namespace weft {
namespace {

// Members begin at places of the order that are far apart: so many steps for each.
constexpr std::int64_t kPlaces = 1 << 16;
constexpr std::int64_t kPlaceSteps = 1 << 20;

// The arena's buffers, which forward passes write: [begin, end) of the parameters.
std::vector<std::pair<std::size_t, std::size_t>> buffer_ranges(const Layout& layout) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const LayoutEntry& entry : layout.entries()) {
    if (entry.kind != ParameterKind::kBuffer) continue;
    const auto begin = static_cast<std::size_t>(entry.offset);
    ranges.emplace_back(begin, begin + static_cast<std::size_t>(entry.shape.num_elements()));
  }
  return ranges;
}

}  // namespace

Status adopt_parameters(ParameterArena& arena, const SharedBytes& state) {
  const std::span<float> parameters = arena.parameters();
  if (state.size() != parameters.size_bytes()) {
    return internal_error(fmt::format("state: expected {} bytes of parameters, got {}",
                                      parameters.size_bytes(), state.size()));
  }
  std::memcpy(parameters.data(), state.span().data(), state.size());
  return {};
}

std::int64_t gossip_first_step(const PeerId& self) {
  return static_cast<std::int64_t>(std::hash<PeerId>()(self) % kPlaces) * kPlaceSteps;
}

Result<RoundReport> gossip_gradient(const StepParts& parts, const PeerId& self, std::int64_t step) {
  const std::int64_t own_step = gossip_first_step(self) + step;
  const ShardRange shard = {0, parts.loader.batch_size()};
  WEFT_TRY_ASSIGN(const Batch batch, parts.loader.get(own_step, shard));
  const ShardWork work = {parts, static_cast<std::uint64_t>(own_step), shard,
                          1.0 / static_cast<double>(batch.labels.size())};
  parts.arena.zero_gradients();
  return compute_shard(work, batch, [](ParameterId) {});
}

bool apply_gossip(const StepParts& parts, std::int64_t step, std::span<const float> gradients,
                  std::span<const float> before, std::span<const float> mixed) {
  const std::span<float> values = parts.arena.parameters();
  std::vector<std::pair<std::size_t, float>> moved;  // of the buffers, by forward
  for (const auto& [first, end] : buffer_ranges(parts.arena.layout())) {
    for (std::size_t i = first; i < end; ++i) moved.emplace_back(i, values[i] - before[i]);
  }
  std::copy(mixed.begin(), mixed.end(), values.begin());
  for (const auto& [place, change] : moved) values[place] += change;
  parts.optimizer.set_steps(step);
  return update_parameters(parts, step, gradients);
}

double relative_distance(std::span<const float> from, std::span<const float> to) {
  double moved = 0;
  double norm = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double difference = static_cast<double>(from[i]) - static_cast<double>(to[i]);
    moved += difference * difference;
    norm += static_cast<double>(from[i]) * static_cast<double>(from[i]);
  }
  return norm > 0 ? std::sqrt(moved / norm) : 0.0;
}

Result<StepReport> GossipStep::run(const StepParts& parts, const Turn& turn,
                                   RoundExchange& exchange) {
  if (turn.peers.size() != 1) return internal_error("gossip: expected a turn of a group of one");
  const TimePoint begun = parts.clock.now();
  ParameterArena& arena = parts.arena;
  if (!turn.state.empty()) WEFT_TRY(adopt_parameters(arena, turn.state));
  const auto step = static_cast<std::int64_t>(turn.round.value()) - 1;

  const std::span<const float> parameters = std::as_const(arena).parameters();
  WEFT_TRY(exchange.begin(arena.layout().num_elements()));
  exchange.contribute(0, parameters);
  const std::vector<float> before(parameters.begin(), parameters.end());
  WEFT_TRY_ASSIGN(RoundReport own, gossip_gradient(parts, turn.peers.front(), step));
  if (parts.validation != nullptr) own.validation = *parts.validation;
  const TimePoint computed = parts.clock.now();
  own.compute_seconds = to_seconds(computed - begun);
  WEFT_TRY(exchange.report(own.encode()));
  WEFT_TRY_ASSIGN(const RoundResult result, exchange.finish());
  const TimePoint exchanged = parts.clock.now();

  StepReport report;
  report.mixing = result.mixing;
  if (report.mixing) report.mixing->distance = relative_distance(before, result.sums);
  report.skipped =
      !apply_gossip(parts, step, std::as_const(arena).gradients(), before, result.sums);
  report.metrics = fold_reports(result.reports);
  report.own_finite = std::isfinite(own.loss);
  report.learning_rate = parts.optimizer.learning_rate();
  report.share = parts.loader.batch_size();
  report.exchange_seconds = to_seconds(exchanged - computed);
  report.compute_seconds = to_seconds(parts.clock.now() - begun) - report.exchange_seconds;
  return report;
}

Result<StepReport> GossipStep::apply(const StepParts& /*parts*/, const Turn& /*turn*/,
                                     const RoundResult& /*result*/) {
  return internal_error("gossip: a round of others was given to apply");
}

}  // namespace weft
