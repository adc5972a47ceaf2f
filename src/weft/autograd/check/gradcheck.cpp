#include "weft/autograd/check/gradcheck.h"

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
  double noise = 0;           // of the difference, from the rounding of long sums

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
    // No gradient at all means zeros.
    const std::vector<double> gradient =
        leaf.grad().defined() ? leaf.grad().to_vector<double>()
                              : std::vector<double>(static_cast<std::size_t>(leaf.size()), 0.0);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double want = difference(input, i);
      const double tolerance =
          noise + options.absolute_tolerance + options.relative_tolerance * std::abs(want);
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
  Check check{function, options, {}, 0};
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
  const std::vector<double> values = output.array().to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    check.noise += 1e-15 / options.eps * std::abs(weights[i] * values[i]);
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].requires_grad()) continue;
    std::string problem = check.compare(i, leaves[i]);
    if (!problem.empty()) return problem;
  }
  return "";
}

namespace {

struct SecondCheck {
  const TensorFunction& function;
  const GradcheckOptions& options;
  // The inputs, then the gradient that the first backward starts from; contiguous.
  std::vector<Array> values;
  std::vector<bool> moves;

  // Leaves of all values; the last is the starting gradient.
  std::vector<Tensor> leaves() const {
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < values.size(); ++i) {
      result.emplace_back(values[i], static_cast<bool>(moves[i]));
    }
    return result;
  }
  std::vector<Tensor> moved(const std::vector<Tensor>& leaves, std::size_t count) const {
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < count; ++i) {
      if (moves[i]) result.push_back(leaves[i]);
    }
    return result;
  }
  std::vector<Tensor> first(const std::vector<Tensor>& all, bool create_graph) const {
    const std::size_t count = all.size() - 1;
    const Tensor y = function(std::span(all).first(count));
    return grad({y}, moved(all, count),
                {.grad_outputs = {all.back()}, .create_graph = create_graph, .allow_unused = true});
  }
  // sum over i of weights * first gradient i.
  double weighted() const {
    double total = 0;
    for (const Tensor& gradient : first(leaves(), false)) {
      if (!gradient.defined()) continue;
      const std::vector<double> all = gradient.array().to_vector<double>();
      const std::vector<double> weights = output_weights(gradient.size());
      for (std::size_t i = 0; i < all.size(); ++i) total += weights[i] * all[i];
    }
    return total;
  }
  double difference(std::size_t input, std::size_t element) {
    double& value = values[input].flat<double>()[element];
    const double before = value;
    value = before + options.eps;
    const double above = weighted();
    value = before - options.eps;
    const double below = weighted();
    value = before;
    return (above - below) / (2 * options.eps);
  }
  bool close(double got, double want) const {
    return std::abs(got - want) <=
           options.absolute_tolerance + options.relative_tolerance * std::abs(want);
  }
  std::string compare_first(const std::vector<Tensor>& with_graph) const {
    const std::vector<Tensor> plain = first(leaves(), false);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (plain[i].defined() != with_graph[i].defined()) {
        return fmt::format("gradient {}: with create_graph {}", i,
                           plain[i].defined() ? "missing" : "there, else not");
      }
      if (!plain[i].defined()) continue;
      const std::vector<double> a = with_graph[i].array().to_vector<double>();
      const std::vector<double> b = plain[i].array().to_vector<double>();
      for (std::size_t j = 0; j < a.size(); ++j) {
        if (!close(a[j], b[j])) {
          return fmt::format("gradient {} element {}: {} with create_graph, else {}", i, j, a[j],
                             b[j]);
        }
      }
    }
    return "";
  }
};

}  // namespace

std::string gradgradcheck(const TensorFunction& function, std::span<const Array> inputs,
                          const GradcheckOptions& options) {
  SecondCheck check{function, options, {}, {}};
  for (const Array& input : inputs) {
    check.moves.push_back(input.dtype() == DType::kF64);
    check.values.push_back(check.moves.back() ? input.clone() : input);
  }
  {
    const NoGrad no_grad;
    std::vector<Tensor> plain;
    for (const Array& value : check.values) plain.emplace_back(value);
    const Shape shape = function(plain).shape();
    check.values.push_back(Array::from(output_weights(shape.num_elements()), shape));
    check.moves.push_back(true);
  }
  const std::vector<Tensor> leaves = check.leaves();
  std::vector<Tensor> firsts = check.first(leaves, true);
  std::string problem = check.compare_first(firsts);
  if (!problem.empty()) return problem;
  GradOptions second{.allow_unused = true};
  std::erase_if(firsts, [](const Tensor& gradient) {
    return !gradient.defined() || !gradient.requires_grad();
  });
  for (const Tensor& gradient : firsts) {
    second.grad_outputs.emplace_back(
        Array::from(output_weights(gradient.size()), gradient.shape()));
  }
  if (firsts.empty()) return "the gradient takes no gradient";
  const std::vector<Tensor> seconds = grad(firsts, check.moved(leaves, leaves.size()), second);
  std::size_t at = 0;
  for (std::size_t input = 0; input < check.values.size(); ++input) {
    if (!check.moves[input]) continue;
    const Tensor& got = seconds[at++];
    const std::vector<double> all =
        got.defined() ? got.array().to_vector<double>()
                      : std::vector<double>(static_cast<std::size_t>(check.values[input].size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double want = check.difference(input, i);
      if (check.close(all[i], want)) continue;
      return fmt::format("input {} element {}: second gradient {}, finite difference {}", input, i,
                         all[i], want);
    }
  }
  return "";
}

}  // namespace weft
