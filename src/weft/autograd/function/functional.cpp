#include "weft/autograd/function/functional.h"

#include <stdexcept>
#include <string>

#include "weft/autograd/backward.h"

namespace weft {
namespace {

std::vector<Tensor> leaves_of(std::span<const Array> inputs) {
  std::vector<Tensor> leaves;
  for (const Array& input : inputs) leaves.emplace_back(input, true);
  return leaves;
}

std::vector<Tensor> constants_of(std::span<const Array> arrays) {
  std::vector<Tensor> constants;
  for (const Array& array : arrays) constants.emplace_back(array);
  return constants;
}

// Zeros of the input's shape where there is no gradient.
std::vector<Array> arrays_of(std::span<const Tensor> gradients, std::span<const Tensor> leaves) {
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    arrays.push_back(gradients[i].defined()
                         ? gradients[i].array().strided()
                         : Array::zeros(leaves[i].shape(), leaves[i].dtype(), leaves[i].device()));
  }
  return arrays;
}

Shape joined(const Shape& a, const Shape& b) {
  Shape shape = a;
  for (const std::int64_t size : b) shape.push_back(size);
  return shape;
}

// The rows of the Jacobian of `output`, which may be undefined: no dependence.
std::vector<Array> rows_of(const Tensor& output, const Shape& output_shape,
                           std::span<const Tensor> leaves) {
  std::vector<Array> results;
  std::vector<Array> flat;  // [output elements, input...]
  const std::int64_t count = output_shape.num_elements();
  for (const Tensor& leaf : leaves) {
    results.push_back(
        Array::zeros(joined(output_shape, leaf.shape()), leaf.dtype(), leaf.device()));
    flat.push_back(results.back().reshape(joined({count}, leaf.shape())));
  }
  if (!output.defined() || !output.requires_grad()) return results;
  for (std::int64_t row = 0; row < count; ++row) {
    Array unit = Array::zeros({count}, output.dtype(), output.device());
    unit.slice(0, row, row + 1).fill(1.0);
    const std::vector<Tensor> gradients =
        grad(std::span(&output, 1), leaves,
             {.grad_outputs = {Tensor(unit.reshape(output_shape))},
              .keep_graph = true,
              .allow_unused = true});
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (gradients[i].defined()) flat[i].select(0, row).copy_from(gradients[i].array().strided());
    }
  }
  return results;
}

// The gradients of a scalar function with a graph.
std::vector<Tensor> first_gradients(const char* call, const Tensor& y,
                                    std::span<const Tensor> leaves) {
  if (y.size() != 1) {
    throw std::invalid_argument(std::string("[") + call +
                                "] expected a function with one element, got shape " +
                                to_string(y.shape()));
  }
  if (!y.requires_grad()) return std::vector<Tensor>(leaves.size());
  return grad(std::span(&y, 1), leaves, {.create_graph = true, .allow_unused = true});
}

void check_vectors(const char* call, std::span<const Array> inputs, std::span<const Array> v) {
  bool fits = inputs.size() == v.size();
  for (std::size_t i = 0; fits && i < v.size(); ++i) {
    fits = v[i].shape() == inputs[i].shape() && v[i].dtype() == inputs[i].dtype();
  }
  if (!fits) {
    throw std::invalid_argument(std::string("[") + call +
                                "] expected a vector of the shape and type of each input");
  }
}

// The sum over i of v[i] * outputs[i], differentiated for `leaves`; outputs without history add
// nothing.
std::vector<Tensor> weighted_gradients(std::span<const Tensor> outputs, std::span<const Tensor> v,
                                       std::span<const Tensor> leaves) {
  std::vector<Tensor> dependent;
  GradOptions options{.allow_unused = true};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !outputs[i].requires_grad()) continue;
    dependent.push_back(outputs[i]);
    options.grad_outputs.push_back(v[i]);
  }
  if (dependent.empty()) return std::vector<Tensor>(leaves.size());
  return grad(dependent, leaves, options);
}

}  // namespace

std::vector<Array> jacobian(const TensorFunction& function, std::span<const Array> inputs) {
  const EnableGrad enable_grad;
  const std::vector<Tensor> leaves = leaves_of(inputs);
  const Tensor y = function(leaves);
  return rows_of(y, y.shape(), leaves);
}

std::vector<std::vector<Array>> hessian(const TensorFunction& function,
                                        std::span<const Array> inputs) {
  const EnableGrad enable_grad;
  const std::vector<Tensor> leaves = leaves_of(inputs);
  const std::vector<Tensor> gradients = first_gradients("hessian", function(leaves), leaves);
  std::vector<std::vector<Array>> blocks;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    blocks.push_back(rows_of(gradients[i], leaves[i].shape(), leaves));
  }
  return blocks;
}

Product vjp(const TensorFunction& function, std::span<const Array> inputs, const Array& v) {
  const EnableGrad enable_grad;
  const std::vector<Tensor> leaves = leaves_of(inputs);
  const Tensor y = function(leaves);
  check_vectors("vjp", std::span(&y.array(), 1), std::span(&v, 1));
  const Tensor weight(v);
  return {y.array(), arrays_of(weighted_gradients({&y, 1}, {&weight, 1}, leaves), leaves)};
}

Product jvp(const TensorFunction& function, std::span<const Array> inputs,
            std::span<const Array> v) {
  const EnableGrad enable_grad;
  check_vectors("jvp", inputs, v);
  const std::vector<Tensor> leaves = leaves_of(inputs);
  const Tensor y = function(leaves);
  if (!y.requires_grad()) return {y.array(), {Array::zeros(y.shape(), y.dtype(), y.device())}};
  // The gradient for a cotangent u is J^T u; its gradient for u along v is J v.
  const Tensor u(Array::zeros(y.shape(), y.dtype(), y.device()), true);
  const std::vector<Tensor> gradients = grad(
      std::span(&y, 1), leaves, {.grad_outputs = {u}, .create_graph = true, .allow_unused = true});
  return {y.array(), arrays_of(weighted_gradients(gradients, constants_of(v), {&u, 1}), {&u, 1})};
}

Product hvp(const TensorFunction& function, std::span<const Array> inputs,
            std::span<const Array> v) {
  const EnableGrad enable_grad;
  check_vectors("hvp", inputs, v);
  const std::vector<Tensor> leaves = leaves_of(inputs);
  const Tensor y = function(leaves);
  const std::vector<Tensor> gradients = first_gradients("hvp", y, leaves);
  return {y.array(), arrays_of(weighted_gradients(gradients, constants_of(v), leaves), leaves)};
}

}  // namespace weft
