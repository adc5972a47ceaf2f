#include "weft/io/continue_text.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "weft/base/rng.h"

namespace weft {
namespace {

// The index of the largest logit or, above temperature 0, one drawn by softmax(logits / T).
std::int64_t choose_token(std::span<const float> logits, double temperature, Rng& rng) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (temperature <= 0.0) return best - logits.begin();
  std::vector<double> sums;
  double total = 0.0;
  for (const float logit : logits) {
    total += std::exp((static_cast<double>(logit) - static_cast<double>(*best)) / temperature);
    sums.push_back(total);
  }
  const auto found = std::upper_bound(sums.begin(), sums.end(), rng.uniform() * total);
  return std::min<std::ptrdiff_t>(found - sums.begin(),
                                  static_cast<std::ptrdiff_t>(sums.size()) - 1);
}

}  // namespace

std::vector<std::int32_t> continue_tokens(CausalLanguageModel& model,
                                          std::vector<std::int32_t> text,
                                          const ContinueOptions& options) {
  const NoGrad no_grad;
  const std::int64_t context = model.context();
  Rng rng(options.seed);
  TextCache cache;
  std::size_t fed = 0;
  std::vector<std::int32_t> added;
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    auto fresh = static_cast<std::int64_t>(text.size() - fed);
    if (context > 0 && cache.tokens + fresh > context) {
      cache = TextCache();
      fresh = std::min<std::int64_t>(static_cast<std::int64_t>(text.size()),
                                     std::max<std::int64_t>(1, context / 2));
    }
    const std::vector<std::int64_t> next(text.end() - fresh, text.end());
    const Tensor logits = model.forward_cached(Tensor(Array::from(next, {1, fresh})), cache);
    fed = text.size();
    const std::vector<float> last =
        logits.array().select(0, 0).select(0, fresh - 1).to_vector<float>();
    added.push_back(static_cast<std::int32_t>(choose_token(last, options.temperature, rng)));
    text.push_back(added.back());
  }
  return added;
}

}  // namespace weft
