#include "weft/graph/control_parts.h"

#include <algorithm>
#include <stdexcept>

#include "weft/autograd/backward.h"

namespace weft::internal {

void throw_control(const char* name, const std::string& expected, const std::string& got) {
  throw std::invalid_argument(std::string("[") + name + "] expected " + expected + ", got " + got);
}

std::vector<Array> arrays_of(std::span<const Tensor> tensors) {
  std::vector<Array> arrays;
  for (const Tensor& tensor : tensors) arrays.push_back(tensor.array());
  return arrays;
}

std::vector<Tensor> plain_tensors(std::span<const Array> arrays) {
  std::vector<Tensor> tensors;
  for (const Array& array : arrays) tensors.emplace_back(array);
  return tensors;
}

void check_results(const char* name, std::span<const Tensor> results,
                   std::span<const Array> model) {
  if (results.size() != model.size()) {
    throw_control(name, std::to_string(model.size()) + " results", std::to_string(results.size()));
  }
  const auto describe = [](const Array& array) {
    return array.defined() ? std::string(to_string(array.dtype())) + to_string(array.shape())
                           : std::string("an undefined one");
  };
  for (std::size_t i = 0; i < model.size(); ++i) {
    const Array& result = results[i].array();
    if (result.defined() && result.shape() == model[i].shape() &&
        result.dtype() == model[i].dtype()) {
      continue;
    }
    throw_control(name, "result " + std::to_string(i) + " of " + describe(model[i]),
                  describe(result));
  }
}

void refuse_foreign_gradients(const char* name, std::span<const Tensor> results) {
  for (const Tensor& result : results) {
    if (!result.requires_grad()) continue;
    throw_control(name, "a function of its arguments",
                  "one that uses another tensor which takes a gradient; pass that as an argument");
  }
}

void write_results(const std::vector<Array>& results, const std::vector<Array>& targets) {
  std::vector<Array> values = results;
  for (Array& value : values) {
    if (!value.defined()) continue;
    value = value.strided();
    const bool is_target = std::any_of(targets.begin(), targets.end(), [&](const Array& target) {
      return target.defined() && target.storage() == value.storage();
    });
    if (is_target) value = value.clone();
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Array target = targets[i];
    if (!target.defined()) continue;
    if (values[i].defined()) {
      target.copy_from(values[i]);
    } else {
      target.fill(0.0);
    }
  }
}

void write_flag(const char* name, const Tensor& value, Array flag) {
  if (!value.defined() || value.size() != 1) {
    throw_control(name, "a condition of one value",
                  value.defined() ? to_string(value.shape()) : "an undefined one");
  }
  flag.copy_from(value.array().strided().reshape({}));
}

bool read_flag(const Array& flag) { return *flag.data<bool>(); }

Array seed_of(const Array& gradient, const Array& value) {
  if (!is_floating(value.dtype())) return {};
  if (!gradient.defined()) return Array::zeros(value.shape(), value.dtype());
  return gradient.strided().clone();
}

std::vector<Array> GradientPiece::run(std::span<const Tensor> results,
                                      std::span<const Array> gradients) const {
  std::vector<Tensor> outputs;
  GradOptions options;
  options.allow_unused = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].requires_grad()) continue;
    outputs.push_back(results[i]);
    options.grad_outputs.emplace_back(gradients[i]);
  }
  std::vector<Tensor> wanted;
  for (const Tensor& leaf : leaves) {
    if (leaf.requires_grad()) wanted.push_back(leaf);
  }
  std::vector<Array> all(leaves.size());
  if (outputs.empty() || wanted.empty()) return all;
  const std::vector<Tensor> found = grad(outputs, wanted, options);
  std::size_t next = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].requires_grad()) all[i] = found[next++].array();
  }
  return all;
}

}  // namespace weft::internal
