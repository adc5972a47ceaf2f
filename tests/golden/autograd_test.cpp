// Functions that contain gradients (penalties, Hessians, an inner step of training) and their own
// gradients, against PyTorch: see README.md.
#include <gtest/gtest.h>

#include "golden_file.h"
#include "weft/op/ops.h"

namespace weft::autograd_test {
namespace {

using Inputs = GoldenInputs;

// The gradients of sum(y), with a graph.
std::vector<Tensor> slope(const Tensor& y, const std::vector<Tensor>& inputs) {
  return grad({sum(y)}, inputs, {.create_graph = true});
}

Tensor squared(const Tensor& x) { return x * x; }

Tensor batch_norm_curvature(const Inputs& in) {
  Array none_mean;
  Array none_variance;
  const Tensor y = batch_norm(in[0], in[1], in[2], none_mean, none_variance, {.training = true});
  const std::vector<Tensor> g = slope(pow(y, 3.0), {in[0], in[1]});
  return squared(g[0]) * reshape(g[1], {1, 3, 1});
}

constexpr GoldenCase kCases[] = {
    {"batch_norm_curvature", batch_norm_curvature},
    {"conv_curvature",
     [](const Inputs& in) {
       const Tensor y = sigmoid(conv2d(in[0], in[1], in[2], {.stride = {2, 1}, .padding = {1, 1}}));
       return slope(y * y, {in[1]})[0] * in[3];
     }},
    {"cross_entropy_curvature",
     [](const Inputs& in) {
       return squared(slope(cross_entropy(in[0], in[1].array()), {in[0]})[0]);
     }},
    {"gradient_penalty",
     [](const Inputs& in) {
       const Tensor score = linear(tanh(linear(in[0], in[1], in[2])), in[3]);
       const Tensor g = slope(score, {in[0]})[0];
       return mean(squared(sqrt(sum(g * g, {1})) - 1.0));
     }},
    {"inner_step",
     [](const Inputs& in) {
       const Tensor g = slope(squared(tanh(matmul(in[1], in[0])) - in[2]), {in[0]})[0];
       const Tensor adapted = in[0] - g * 0.1;
       return mean(squared(tanh(matmul(in[3], adapted)) - in[4]));
     }},
    {"layer_norm_curvature",
     [](const Inputs& in) {
       const std::vector<Tensor> g =
           slope(pow(layer_norm(in[0], 1, in[1], in[2]), 3.0), {in[0], in[1]});
       return concat({squared(g[0]), reshape(g[1], {1, 4})}, 0);
     }},
    {"pooled_curvature",
     [](const Inputs& in) {
       const Tensor y = avg_pool2d(
           conv2d(in[0], in[1], {}, {.groups = 2, .activation = Activation::kRelu}), {{2, 2}});
       const std::vector<Tensor> g = slope(pow(y, 3.0), {in[0], in[1]});
       return concat({sum(squared(g[0]), {1, 2, 3}), sum(squared(g[1]), {1, 2, 3})}, 0);
     }},
    {"softmax_curvature",
     [](const Inputs& in) {
       const Tensor y = squared(softmax(in[0], 1)) + pow(log_softmax(in[0], 0), 3.0);
       return slope(y, {in[0]})[0] * in[0];
     }},
    {"third",
     [](const Inputs& in) {
       Tensor y = tanh(in[0]) * exp(-in[0]);
       for (int order = 0; order < 3; ++order) y = slope(y, {in[0]})[0];
       return y;
     }},
};

class GoldenAutograd : public testing::TestWithParam<DType> {};

TEST_P(GoldenAutograd, Agrees) {
  const GoldenFile file("autograd.safetensors");
  std::set<std::string> names;
  for (const GoldenCase& each : kCases) {
    SCOPED_TRACE(each.name);
    names.insert(each.name);
    check_case(file, each, GetParam());
  }
  EXPECT_EQ(names, file.cases());
}

std::string type_name(const testing::TestParamInfo<DType>& entry) {
  return std::string(to_string(entry.param));
}

INSTANTIATE_TEST_SUITE_P(Types, GoldenAutograd, testing::Values(DType::kF32, DType::kF64),
                         type_name);

}  // namespace
}  // namespace weft::autograd_test
