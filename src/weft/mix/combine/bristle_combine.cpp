// bristle: a neighbour's output layer counts class by class, by how well it does on the samples
// that this member has kept from training.
//
// 1. Neighbours are put in the order of the distance of their output layers to the own one and cut
//    into thirds; a drawn few of each third are looked at, most of the middle one: near models
//    teach little, far ones may be lies.
// 2. For each class that the own kept samples have, with the own F1 m and the neighbour's p:
//      score = (10 |m - p|)^(3 + m) where p > m, else -(10 |m - p|)^(4 + m), at least -100
//      weight = certainty * max(0, 10 sigmoid(score / 100) - 4)
//    where certainty is the mean of p minus its standard deviation over the `best` classes. The
//    class's row becomes (own + sum of weight * neighbour's) / (1 + sum of weights).
// 3. Rows of the other classes take one weight a neighbour, of the sum of its scores without a
//    bound.
//
// Any number of neighbours may lie; a lie has to be good on the own samples to count. The weights
// of the graph do not take part, and whatever is not of the output layer stays as it is here.
// IMPLEMENTATION: Verbraeken, de Vos and Pouwelse, "Bristle: decentralized federated learning in
// Byzantine, non-i.i.d. environments", 2021. Differs: the draws are by the member's number and the
// version, and neighbours do not say how many classes they have.
// Memory: none. Cost: a pass forward over the kept samples for each neighbour that is looked at.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/rng.h"
#include "weft/mix/combine/mix_combine_def.h"
#include "weft/mix/combine/mix_judge.h"
#include "weft/mix/combine/mix_probe.h"

namespace weft {

std::vector<double> class_f1(std::span<const std::size_t> truths,
                             std::span<const std::size_t> guesses,
                             std::span<const std::size_t> classes) {
  WEFT_CHECK(truths.size() == guesses.size());
  std::vector<double> scores;
  for (const std::size_t each : classes) {
    double right = 0;
    double named = 0;  // true positives twice
    for (std::size_t i = 0; i < truths.size(); ++i) {
      right += truths[i] == each && guesses[i] == each ? 2 : 0;
      named += (truths[i] == each ? 1 : 0) + (guesses[i] == each ? 1 : 0);
    }
    scores.push_back(named > 0 ? right / named : 0);
  }
  return scores;
}

namespace {

constexpr Option kBristleOptions[] = {
    {.name = "take",
     .fallback = 10,
     .min = 1,
     .max = 1000,
     .whole = true,
     .help = "Neighbours that are looked at in each round, about."},
    {.name = "explore",
     .fallback = 0.4,
     .min = 0,
     .max = 1,
     .help = "a: the thirds give (1 - a)^2, 2 a (1 - a) and a^2 of them, the nearest first."},
    {.name = "best",
     .fallback = 0,
     .min = 0,
     .max = 1000,
     .whole = true,
     .help = "Classes whose scores make a neighbour's certainty, the best ones; 0: all."},
};

struct BristleOptions {
  double take = 10;
  double explore = 0.4;
  std::size_t best = 0;
};

constexpr double kScoreMin = -100;

double bristle_score(double own, double other) {
  const double apart = 10 * std::abs(own - other);
  return other > own ? std::pow(apart, 3 + own) : -std::pow(apart, 4 + own);
}

double bristle_weight(double score, double certainty) {
  return certainty * std::max(0.0, 10 / (1 + std::exp(-score / 100)) - 4);
}

double certainty_of(std::vector<double> scores, std::size_t best) {
  if (best > 0 && best < scores.size()) {
    std::ranges::sort(scores, std::greater());
    scores.resize(best);
  }
  if (scores.empty()) return 0;
  const auto count = static_cast<double>(scores.size());
  const double mean = std::reduce(scores.begin(), scores.end()) / count;
  double squares = 0;
  for (const double score : scores) squares += (score - mean) * (score - mean);
  return std::max(0.0, mean - std::sqrt(squares / count));
}

class BristleCombine final : public MixCombineState {
 public:
  explicit BristleCombine(const BristleOptions& options) : options_(options) {}

  void combine(const MixInput& input, std::span<float> out) override {
    WEFT_CHECK(input.judge != nullptr && input.outputs != nullptr);
    const auto self = std::ranges::find(input.from, input.self);
    WEFT_CHECK(self != input.from.end());  // neighbours never combine without their own model
    const std::span<const float> own =
        input.deltas[static_cast<std::size_t>(self - input.from.begin())];
    std::ranges::copy(own, out.begin());

    const std::vector<double> mine = input.judge->scores(model_of(input, own));
    // By class: the sum of weights, and that of weighted deltas in the rows of `sums`.
    std::vector<double> weights(input.outputs->units, 1.0);
    std::vector<double> sums(own.begin(), own.end());
    for (const std::size_t i : looked_at(input, own)) {
      const std::vector<double> theirs = input.judge->scores(model_of(input, input.deltas[i]));
      const std::vector<double> shares = class_weights(input, mine, theirs);
      for (std::size_t c = 0; c < shares.size(); ++c) {
        weights[c] += shares[c];
        for_row(*input.outputs, c,
                [&](std::size_t at) { sums[at] += shares[c] * double{input.deltas[i][at]}; });
      }
    }
    for (std::size_t c = 0; c < weights.size(); ++c) {
      for_row(*input.outputs, c,
              [&](std::size_t at) { out[at] = static_cast<float>(sums[at] / weights[c]); });
    }
  }

 private:
  // What belongs to class `c`.
  template <class Body>
  static void for_row(const MixUnits& outputs, std::size_t c, const Body& body) {
    for (const MixUnitSlice& slice : outputs.slices) {
      for (std::size_t i = 0; i < slice.inner; ++i) body(slice.begin + c * slice.inner + i);
    }
  }

  // Own layers, and on top of them an output layer.
  static std::vector<float> model_of(const MixInput& input, std::span<const float> delta) {
    std::vector<float> model(input.reference.begin(), input.reference.end());
    for (std::size_t i = 0; i < model.size(); ++i) model[i] -= delta[i];
    return model;
  }

  static double distance_of(const MixUnits& outputs, std::span<const float> a,
                            std::span<const float> b) {
    double squares = 0;
    for (std::size_t c = 0; c < outputs.units; ++c) {
      for_row(outputs, c, [&](std::size_t at) {
        const double apart = double{a[at]} - double{b[at]};
        squares += apart * apart;
      });
    }
    return squares;
  }

  // Places in the input, in the order of the members.
  std::vector<std::size_t> looked_at(const MixInput& input, std::span<const float> own) const {
    std::vector<std::pair<double, std::size_t>> near;
    for (std::size_t i = 0; i < input.deltas.size(); ++i) {
      if (input.from[i] == input.self) continue;
      const double distance = distance_of(*input.outputs, own, input.deltas[i]);
      if (std::isfinite(distance)) near.emplace_back(distance, i);
    }
    std::ranges::sort(near);
    const double a = options_.explore;
    const double parts[] = {(1 - a) * (1 - a), 2 * a * (1 - a), a * a};
    Rng draws(input.self, input.version);
    std::vector<std::size_t> chosen;
    for (std::size_t third = 0; third < 3; ++third) {
      std::vector<std::size_t> all;
      for (std::size_t i = near.size() * third / 3; i < near.size() * (third + 1) / 3; ++i) {
        all.push_back(near[i].second);
      }
      const auto asked = static_cast<std::size_t>(std::lround(parts[third] * options_.take));
      for (std::size_t i = 0; i < std::min(asked, all.size()); ++i) {
        std::swap(all[i], all[i + draws.below(all.size() - i)]);
        chosen.push_back(all[i]);
      }
    }
    std::ranges::sort(chosen);
    return chosen;
  }

  // The weight of one neighbour's row of each class.
  std::vector<double> class_weights(const MixInput& input, const std::vector<double>& mine,
                                    const std::vector<double>& theirs) const {
    const double certainty = certainty_of(theirs, options_.best);
    double all = 0;
    for (std::size_t k = 0; k < mine.size(); ++k) all += bristle_score(mine[k], theirs[k]);
    std::vector<double> weights(input.outputs->units, bristle_weight(all, certainty));
    for (std::size_t k = 0; k < mine.size(); ++k) {
      const double score = std::max(kScoreMin, bristle_score(mine[k], theirs[k]));
      const std::size_t familiar = input.judge->familiar()[k];
      if (familiar < weights.size()) weights[familiar] = bristle_weight(score, certainty);
    }
    return weights;
  }

  const BristleOptions options_;
};

}  // namespace

extern const MixCombineDef bristle_combine = {
    .name = "bristle",
    .summary =
        "Neighbours' output layers by how well they do, class by class, on the member's own "
        "samples (Verbraeken et al. 2021, Bristle).",
    .options = kBristleOptions,
    .make = [](std::span<const double> options, int /*liars*/) -> std::unique_ptr<MixCombineState> {
      return std::make_unique<BristleCombine>(
          BristleOptions{options[0], options[1], static_cast<std::size_t>(options[2])});
    },
    .needs_judge = true,
};

}  // namespace weft
