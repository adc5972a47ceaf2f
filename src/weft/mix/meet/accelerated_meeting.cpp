#include "weft/mix/meet/accelerated_meeting.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "weft/base/portable_math.h"

namespace weft {
namespace {

enum Vector : std::size_t { kX, kXTilde, kY, kYTilde, kZ, kZTilde };

// A model that is so many times larger than the first one, or than one, has diverged.
constexpr double kGrowthMax = 1e6;
// Exchanges that one end may owe the other an answer for; more ticks are skipped.
constexpr std::size_t kUnansweredMax = 64;

SmallMatrix<6> drift_of(double nu, double smoothness) {
  const double eighth = std::sqrt(nu / smoothness) / 8;
  const double quarter = 2 * eighth;
  const double theta = std::sqrt(smoothness / nu) / 2;
  SmallMatrix<6> a;
  a.rows[kX][kX] = a.rows[kXTilde][kXTilde] = -eighth;
  a.rows[kX][kXTilde] = a.rows[kXTilde][kX] = eighth;
  a.rows[kY][kY] = -quarter;
  a.rows[kY][kYTilde] = quarter;
  a.rows[kYTilde][kXTilde] = -theta * nu;
  a.rows[kYTilde][kY] = a.rows[kYTilde][kZ] = -theta;
  a.rows[kZ][kZ] = -quarter;
  a.rows[kZ][kZTilde] = quarter;
  a.rows[kZTilde][kZ] = eighth;
  a.rows[kZTilde][kZTilde] = -eighth;
  return a;
}

}  // namespace

AcceleratedMeeting::AcceleratedMeeting(const MixMeetingOptions& options, MixVector first,
                                       const AcceleratedSettings& settings)
    : MixMeeting(options, std::move(first)),
      settings_(settings),
      graph_(options.members, settings.reach),
      nu_(settings.mu / 2),
      ratio_(std::sqrt(nu_ / settings.smoothness)),
      all_edges_(settings.rate * std::sqrt(2 * graph_.chi1() * graph_.chi2())),
      drift_(drift_of(nu_, settings.smoothness)),
      ticks_(options.seed ^ 0x9ad1'e475ULL, options.self) {
  state_.fill(std::vector<double>(model()->size(), 0.0));
  std::ranges::copy(*model(), state_[kX].begin());
  for (const double value : state_[kX]) first_square_ += value * value;
  for (const std::uint32_t other : graph_.owned(options.self)) {
    const std::uint64_t stream = std::uint64_t{options.self} << 32U | other;
    edges_.push_back({other, Rng(options.seed ^ 0xed9eULL, stream), {}, {}});
  }
}

Duration AcceleratedMeeting::wait(Rng& ticks, double a_unit) const {
  return from_seconds(-portable_log(1 - ticks.uniform()) / a_unit * settings_.unit_seconds);
}

void AcceleratedMeeting::begin(TimePoint now) {
  begun_ = at_ = now;
  next_gradient_ = now + wait(ticks_, 1);
  for (Edge& edge : edges_) {
    edge.next = now + wait(edge.ticks, all_edges_ / static_cast<double>(graph_.edges()));
  }
}

std::optional<TimePoint> AcceleratedMeeting::next_deadline() const {
  std::optional<TimePoint> next;
  if (over() || !failure().ok()) return next;
  if (!works_) next = next_gradient_;
  for (const Edge& edge : edges_) {
    if (alive(edge.other)) next = std::min(next.value_or(edge.next), edge.next);
  }
  return next;
}

void AcceleratedMeeting::settle(TimePoint now) {
  if (over() || !failure().ok()) return;
  for (Edge& edge : edges_) {
    while (alive(edge.other) && edge.next <= now) tick(edge, now);
  }
  if (works_ || next_gradient_ > now) return;
  flow(now);
  const std::vector<double>& x = state_[kX];
  set_model({x.begin(), x.end()});
  next_gradient_ += wait(ticks_, 1);
  works_ = true;
  work_on(model(), 1);
}

void AcceleratedMeeting::tick(Edge& edge, TimePoint now) {
  edge.next += wait(edge.ticks, all_edges_ / static_cast<double>(graph_.edges()));
  if (edge.sent.size() >= kUnansweredMax) return;
  flow(now);
  edge.sent.push_back(shown());
  ask(edge.other, edge.sent.back());
}

void AcceleratedMeeting::flow(TimePoint now) {
  const double elapsed = to_seconds(now - at_) / settings_.unit_seconds;
  at_ = now;
  if (elapsed <= 0) return;
  const SmallMatrix<kVectors> by = exponential(drift_.scaled(elapsed));
  std::array<double, kVectors> was{};
  for (std::size_t i = 0; i < state_[kX].size(); ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) was[v] = state_[v][i];
    for (std::size_t v = 0; v < kVectors; ++v) {
      double sum = 0;
      for (std::size_t w = 0; w < kVectors; ++w) sum += by.rows[v][w] * was[w];
      state_[v][i] = sum;
    }
  }
}

MixVector AcceleratedMeeting::shown() const {
  std::vector<float> sum(state_[kY].size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = static_cast<float>(state_[kY][i] + state_[kZ][i]);
  }
  return std::make_shared<const std::vector<float>>(std::move(sum));
}

void AcceleratedMeeting::exchange(std::span<const float> own, std::span<const float> other) {
  ++exchanges_;
  constexpr double kBeta = 0.5;
  const double chi1_a_unit = graph_.chi1() / all_edges_;
  const double beta_tilde = 2 * chi1_a_unit / ratio_;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double difference = static_cast<double>(own[i]) - static_cast<double>(other[i]);
    state_[kZ][i] -= kBeta * difference;
    state_[kZTilde][i] -= beta_tilde * difference;
  }
}

void AcceleratedMeeting::worked(const MixWork& done, const MixReturned& result, TimePoint now) {
  works_ = false;
  flow(now);
  const double gamma = 1 / (4 * settings_.smoothness);
  const double gamma_tilde = 1 / (4 * std::sqrt(settings_.smoothness * nu_));
  const double deltas = ratio_ / 4 + 1;
  for (std::size_t i = 0; i < state_[kX].size(); ++i) {
    const double gradient = static_cast<double>((*result.values)[i]);
    const double at = static_cast<double>((*done.model)[i]);
    const double residual = gradient - nu_ * at - state_[kYTilde][i];
    state_[kX][i] -= gamma * residual;
    state_[kXTilde][i] -= gamma_tilde * residual;
    state_[kYTilde][i] += deltas * residual;
  }
  const std::vector<double>& x = state_[kX];
  set_model({x.begin(), x.end()});
  count_work(result.loss);
  check_size(now);
}

void AcceleratedMeeting::check_size(TimePoint now) {
  double square = 0;
  for (const double value : state_[kX]) square += value * value;
  if (square <= kGrowthMax * kGrowthMax * std::max(1.0, first_square_)) return;  // not for NaN
  const double units = to_seconds(now - begun_) / settings_.unit_seconds;
  fail(invalid_argument(fmt::format(
      "mix.plan: member {} has diverged: its model has the norm {:.3g}, and had {:.3g}, after {} "
      "gradients; expected accelerated:rate of 1 or more, got {:g}, and mu and smoothness that "
      "bound the loss's curvature, got {:g} and {:g}. In {:.3g} units of time it took part in {} "
      "exchanges; the graph asks for {:.3g} on average",
      options().self, std::sqrt(square), std::sqrt(first_square_), version(), settings_.rate,
      settings_.mu, settings_.smoothness, units, exchanges_,
      2 * units * all_edges_ / settings_.rate / options().members)));
}

void AcceleratedMeeting::asked(std::uint32_t from, const MixReturned& message, TimePoint now) {
  if (!graph_.has(options().self, from)) return;
  flow(now);
  const MixVector own = shown();
  answer(from, message.base, own);
  exchange(*own, *message.values);
}

void AcceleratedMeeting::answered(std::uint32_t from, const MixGiven& message, TimePoint now) {
  const auto edge = std::ranges::find(edges_, from, &Edge::other);
  if (edge == edges_.end() || edge->sent.empty()) return;
  flow(now);
  exchange(*edge->sent.front(), *message.model);
  edge->sent.pop_front();
}

void AcceleratedMeeting::lost(std::uint32_t member) {
  MixMeeting::lost(member);
  for (Edge& edge : edges_) {
    if (edge.other == member) edge.sent.clear();
  }
}

}  // namespace weft
