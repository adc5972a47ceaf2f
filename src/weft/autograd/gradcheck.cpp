#include "weft/autograd/gradcheck.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "weft/autograd/backward.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

// The same weights for the same size.
std::vector<double> output_weights(std::int64_t size) {
  Rng rng(20'011, 0);
  std::vector<double> weights(static_cast<std::size_t>(size));
  for (double& weight : weights) weight = rng.uniform() + 0.5;
  return weights;
}

// sum(weights * function(inputs)).
double weighted_output(const TensorFunction& function, const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  const std::vector<double> values = function(inputs).array().to_vector<double>();
  const std::vector<double> weights = output_weights(static_cast<std::int64_t>(values.size()));
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) total += weights[i] * values[i];
  return total;
}

struct Check {
  const TensorFunction& function;
  const GradcheckOptions& options;
  std::vector<Tensor> plain;  // contiguous copies, which the differences move

  double difference(std::size_t input, std::size_t element) {
    Array values = plain[input].array();
    double& value = values.flat<double>()[element];
    const double before = value;
    value = before + options.eps;
    const double above = weighted_output(function, plain);
    value = before - options.eps;
    const double below = weighted_output(function, plain);
    value = before;
    return (above - below) / (2 * options.eps);
  }

  std::string compare(std::size_t input, const Tensor& leaf) {
    if (!leaf.grad().defined()) {
      return leaf.size() == 0 ? "" : fmt::format("input {}: no gradient", input);
    }
    const std::vector<double> gradient = leaf.grad().to_vector<double>();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double want = difference(input, i);
      const double tolerance =
          options.absolute_tolerance + options.relative_tolerance * std::abs(want);
      // Written so that NaN fails.
      if (!(std::abs(gradient[i] - want) <= tolerance)) {
        return fmt::format("input {} element {}: gradient {}, finite difference {}", input, i,
                           gradient[i], want);
      }
    }
    return "";
  }
};

}  // namespace

std::string gradcheck(const TensorFunction& function, std::span<const Array> inputs,
                      const GradcheckOptions& options) {
  std::vector<Tensor> leaves;
  Check check{function, options, {}};
  for (const Array& input : inputs) {
    const bool moves = input.dtype() == DType::kF64;
    leaves.emplace_back(input, moves);
    check.plain.emplace_back(moves ? input.clone() : input);
  }
  const Tensor output = function(leaves);
  if (!output.requires_grad()) return "the output takes no gradient";
  BackwardOptions backward_options;
  const std::vector<double> weights = output_weights(output.size());
  backward_options.gradient = Array::from(weights, output.shape());
  backward(output, GradientSink(), backward_options);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].requires_grad()) continue;
    std::string problem = check.compare(i, leaves[i]);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace weft
