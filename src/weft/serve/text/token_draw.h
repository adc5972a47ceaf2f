// Drawing the next token of a text from a model's logits, and how likely tokens are.
//
// Threads: pure functions; an Rng belongs to one text. Fails: kInternal unless each logit is a
// finite number.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"

namespace weft {

struct Sampling {
  double temperature = 1.0;  // 0: the likeliest token each time, the first of equals
  double top_p = 1.0;        // the likeliest tokens that have this probability together
};

// A token drawn from softmax(logits / temperature). If top_p < 1 it draws only from the smallest
// set of likeliest tokens with the total probability top_p, at least one; among equally likely
// tokens the lower number comes first.
Result<std::int32_t> draw_token(std::span<const float> logits, const Sampling& sampling, Rng& rng);

// A token of a text, with log_softmax(logits) of it and of the likeliest tokens at its position.
struct DrawnToken {
  std::int32_t token = 0;
  double logprob = 0;
  std::vector<std::pair<std::int32_t, double>> likeliest = {};  // in falling order
};
// Independent of the temperature and top_p with which the token was drawn. REQUIRES: finite logits,
// count >= 0.
DrawnToken with_logprobs(std::int32_t token, std::span<const float> logits, std::size_t count);

}  // namespace weft
