#include "weft/serve/text/token_draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {
namespace {

// The first `count` tokens by falling logit; of equal ones the lower number first.
std::vector<std::int32_t> likeliest_tokens(std::span<const float> logits, std::size_t count) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const float first = logits[static_cast<std::size_t>(a)];
                      const float second = logits[static_cast<std::size_t>(b)];
                      return first != second ? first > second : a < b;
                    });
  order.resize(count);
  return order;
}

// Sets the weights of tokens outside of the nucleus to 0 and returns the sum of the others.
double keep_nucleus(std::span<const float> logits, double top_p, double sum,
                    std::vector<double>& weights) {
  // Most nuclei are small, so the order of all tokens is rarely needed.
  for (std::size_t count = 64;; count *= 8) {
    const std::vector<std::int32_t> order = likeliest_tokens(logits, count);
    double kept = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      kept += weights[static_cast<std::size_t>(order[i])];
      const bool enough = kept >= top_p * sum;
      if (!enough && i + 1 < logits.size()) continue;
      std::vector<double> nucleus(weights.size());
      for (std::size_t k = 0; k <= i; ++k) {
        const auto token = static_cast<std::size_t>(order[k]);
        nucleus[token] = weights[token];
      }
      weights = std::move(nucleus);
      return kept;
    }
  }
}

}  // namespace

Result<std::int32_t> draw_token(std::span<const float> logits, const Sampling& sampling, Rng& rng) {
  if (!std::all_of(logits.begin(), logits.end(),
                   [](float value) { return std::isfinite(value); })) {
    return internal_error("model: a logit is no finite number");
  }
  const auto best = std::max_element(logits.begin(), logits.end());
  const auto likeliest = static_cast<std::int32_t>(best - logits.begin());
  if (sampling.temperature == 0) return likeliest;
  std::vector<double> weights;
  weights.reserve(logits.size());
  double sum = 0;
  for (const float value : logits) {
    weights.push_back(std::exp((static_cast<double>(value) - *best) / sampling.temperature));
    sum += weights.back();
  }
  if (sampling.top_p < 1) sum = keep_nucleus(logits, sampling.top_p, sum, weights);
  double left = rng.uniform() * sum;
  for (std::size_t token = 0; token < weights.size(); ++token) {
    left -= weights[token];
    if (left < 0) return static_cast<std::int32_t>(token);
  }
  return likeliest;  // by rounding alone
}

DrawnToken with_logprobs(std::int32_t token, std::span<const float> logits, std::size_t count) {
  const double best = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float value : logits) sum += std::exp(value - best);
  const double log_sum = best + std::log(sum);
  const auto logprob = [&](std::int32_t of) {
    return static_cast<double>(logits[static_cast<std::size_t>(of)]) - log_sum;
  };
  DrawnToken drawn{token, logprob(token), {}};
  for (const std::int32_t other : likeliest_tokens(logits, count)) {
    drawn.likeliest.emplace_back(other, logprob(other));
  }
  return drawn;
}

}  // namespace weft
