// match: neighbours' hidden units are put in the order of the own ones that behave alike, and then
// comes the mean.
//
// For each layer the correlation of every own unit with every unit of the neighbour over the
// probe's inputs is a gain, and the assignment with the largest sum is the order. Units that never
// move correlate with none. The parameters of a layer and what follows from it in the next one
// change places together, so that a neighbour's model computes what it did. IMPLEMENTATION:
// Saadati, Rouhani, Hegde, Sarkar et al., "DIMAT: decentralized iterative merging-and-training for
// deep learning models", CVPR 2024, activation matching; the correlation and the assignment are
// those of Ainsworth, Hayase and Srinivasa, "Git re-basin", ICLR 2023, 3.1. Differs: every member
// probes with the same inputs in every round; no statistics are measured anew, as models with such
// are refused. Cost a neighbour and layer of h units: the passes forward, h^2 multiplications for
// each value and h^3 steps of the assignment.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "weft/base/check.h"
#include "weft/mix/combine/assignment.h"
#include "weft/mix/combine/mix_combine_def.h"
#include "weft/mix/combine/mix_probe.h"

namespace weft {

void permute_units(std::span<float> model, const MixUnits& layer,
                   std::span<const std::size_t> order) {
  WEFT_CHECK(order.size() == layer.units);
  std::vector<float> block;
  for (const MixUnitSlice& slice : layer.slices) {
    const std::size_t size = layer.units * slice.inner;
    for (std::size_t o = 0; o < slice.outer; ++o) {
      const std::span<float> at = model.subspan(slice.begin + o * size, size);
      block.assign(at.begin(), at.end());
      for (std::size_t u = 0; u < layer.units; ++u) {
        for (std::size_t i = 0; i < slice.inner; ++i) {
          at[u * slice.inner + i] = block[order[u] * slice.inner + i];
        }
      }
    }
  }
}

namespace {

// Each unit's values around their mean, over their norm: unit by unit. Zeros where it never moves.
std::vector<double> standardised(std::span<const float> values, std::size_t units) {
  const std::size_t rows = values.size() / units;
  std::vector<double> out(values.size());
  for (std::size_t u = 0; u < units; ++u) {
    const std::span<double> own = std::span(out).subspan(u * rows, rows);
    double mean = 0;
    for (std::size_t r = 0; r < rows; ++r) mean += static_cast<double>(values[r * units + u]);
    mean /= static_cast<double>(rows);
    double squares = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      own[r] = static_cast<double>(values[r * units + u]) - mean;
      squares += own[r] * own[r];
    }
    // A model of a liar may have values that are no numbers.
    const double scale = squares > 1e-20 && std::isfinite(squares) ? 1 / std::sqrt(squares) : 0;
    for (double& value : own) value = scale == 0 ? 0 : value * scale;
  }
  return out;
}

// The unit of the other for each own one.
std::vector<std::size_t> matched(const std::vector<double>& own, std::span<const float> other,
                                 std::size_t units) {
  const std::vector<double> theirs = standardised(other, units);
  const std::size_t rows = theirs.size() / units;
  std::vector<double> gain(units * units);
  for (std::size_t a = 0; a < units; ++a) {
    for (std::size_t b = 0; b < units; ++b) {
      double sum = 0;
      for (std::size_t r = 0; r < rows; ++r) sum += own[a * rows + r] * theirs[b * rows + r];
      gain[a * units + b] = sum;
    }
  }
  return best_assignment(gain, units);
}

class MatchCombine final : public MixCombineState {
 public:
  void combine(const MixInput& input, std::span<float> out) override {
    WEFT_CHECK(input.probe != nullptr);
    MixProbe& probe = *input.probe;
    const std::vector<float> own = model_of(input, own_index(input));
    const std::vector<std::vector<float>> values = probe.values(own);
    std::vector<std::vector<double>> standard;
    for (std::size_t l = 0; l < values.size(); ++l) {
      standard.push_back(standardised(values[l], probe.layers()[l].units));
    }
    std::vector<std::vector<float>> moved;
    for (std::size_t i = 0; i < input.deltas.size(); ++i) {
      std::vector<float> model = model_of(input, i);
      if (input.from[i] != input.self) put_in_order(model, standard, probe);
      for (std::size_t j = 0; j < model.size(); ++j) model[j] = input.reference[j] - model[j];
      moved.push_back(std::move(model));
    }
    const std::vector<std::span<const float>> deltas(moved.begin(), moved.end());
    weighted_sum(deltas, input.weights, out);
  }

 private:
  static std::size_t own_index(const MixInput& input) {
    const auto own = std::ranges::find(input.from, input.self);
    WEFT_CHECK(own != input.from.end());  // neighbours never combine without their own model
    return static_cast<std::size_t>(own - input.from.begin());
  }
  static std::vector<float> model_of(const MixInput& input, std::size_t index) {
    std::vector<float> model(input.reference.begin(), input.reference.end());
    for (std::size_t j = 0; j < model.size(); ++j) model[j] -= input.deltas[index][j];
    return model;
  }
  static void put_in_order(std::vector<float>& model,
                           const std::vector<std::vector<double>>& standard, MixProbe& probe) {
    const std::vector<std::vector<float>> values = probe.values(model);
    for (std::size_t l = 0; l < values.size(); ++l) {
      const MixUnits& layer = probe.layers()[l];
      permute_units(model, layer, matched(standard[l], values[l], layer.units));
    }
  }
};

}  // namespace

extern const MixCombineDef match_combine = {
    .name = "match",
    .summary =
        "The mean, once neighbours' hidden units are in the order of the own ones (Saadati et "
        "al. 2024, DIMAT).",
    .make = [](std::span<const double> /*options*/, int /*liars*/)
        -> std::unique_ptr<MixCombineState> { return std::make_unique<MatchCombine>(); },
    .needs_probe = true,
};

}  // namespace weft
