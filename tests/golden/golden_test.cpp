// Ops, a small network and optimizers against the values that PyTorch computed: see README.md.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "golden_file.h"
#include "weft/array/arena/parameter_arena.h"
#include "weft/autograd/backward.h"
#include "weft/op/ops.h"
#include "weft/optim/optimizer.h"

namespace weft::golden_test {
namespace {

using Inputs = GoldenInputs;

Tensor batch_norm_case(const Inputs& in, bool training) {
  Array mean = Array::full({in[0].dim(1)}, 0.25, in[0].dtype());
  Array variance = Array::full({in[0].dim(1)}, 2.0, in[0].dtype());
  return batch_norm(in[0], in[1], in[2], mean, variance, {training, 0.1, 1e-5});
}

// Every case of make_golden.py.
constexpr GoldenCase kOpCases[] = {
    {"abs", [](const Inputs& in) { return abs(in[0]); }},
    {"add", [](const Inputs& in) { return in[0] + in[1]; }},
    {"add_row", [](const Inputs& in) { return in[0] + in[1]; }},
    {"avg_pool2d",
     [](const Inputs& in) {
       return avg_pool2d(in[0], {{3, 2}, {2, 1}, {1, 0}});
     }},
    {"batch_norm_evaluation", [](const Inputs& in) { return batch_norm_case(in, false); }},
    {"batch_norm_training", [](const Inputs& in) { return batch_norm_case(in, true); }},
    {"concat",
     [](const Inputs& in) {
       return concat({in[0], in[1], in[0]}, 1);
     }},
    {"conv2d", [](const Inputs& in) { return conv2d(in[0], in[1], in[2]); }},
    {"conv2d_groups",
     [](const Inputs& in) {
       return conv2d(in[0], in[1], {}, {.padding = {1, 1}, .groups = 2});
     }},
    {"conv2d_strided",
     [](const Inputs& in) {
       return conv2d(in[0], in[1], in[2],
                     {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}});
     }},
    {"cross_entropy_mean", [](const Inputs& in) { return cross_entropy(in[0], in[1].array()); }},
    {"cross_entropy_sum",
     [](const Inputs& in) { return cross_entropy(in[0], in[1].array(), Reduction::kSum); }},
    {"div", [](const Inputs& in) { return in[0] / in[1]; }},
    {"exp", [](const Inputs& in) { return exp(in[0]); }},
    {"expand",
     [](const Inputs& in) {
       return expand(in[0], {2, 3, 4});
     }},
    {"flatten", [](const Inputs& in) { return flatten(in[0]); }},
    {"layer_norm", [](const Inputs& in) { return layer_norm(in[0], 1, in[1], in[2]); }},
    {"layer_norm_two_axes", [](const Inputs& in) { return layer_norm(in[0], 2, {}, {}); }},
    {"linear", [](const Inputs& in) { return linear(in[0], in[1], in[2]); }},
    {"log", [](const Inputs& in) { return log(in[0]); }},
    {"log_softmax", [](const Inputs& in) { return log_softmax(in[0], 1); }},
    {"matmul", [](const Inputs& in) { return matmul(in[0], in[1]); }},
    {"matmul_batched", [](const Inputs& in) { return matmul(in[0], in[1]); }},
    {"max", [](const Inputs& in) { return max(in[0], {2}); }},
    {"max_pool2d", [](const Inputs& in) { return max_pool2d(in[0], {}); }},
    {"max_pool2d_padded",
     [](const Inputs& in) {
       return max_pool2d(in[0], {{3, 2}, {2, 1}, {1, 0}});
     }},
    {"maximum", [](const Inputs& in) { return maximum(in[0], in[1]); }},
    {"mean",
     [](const Inputs& in) {
       return mean(in[0], {1, 3});
     }},
    {"mul", [](const Inputs& in) { return in[0] * in[1]; }},
    {"mul_row", [](const Inputs& in) { return in[0] * in[1]; }},
    {"neg", [](const Inputs& in) { return -in[0]; }},
    {"permute",
     [](const Inputs& in) {
       return permute(in[0], {2, 0, 3, 1});
     }},
    {"pow_3", [](const Inputs& in) { return pow(in[0], 3.0); }},
    {"pow_half", [](const Inputs& in) { return pow(in[0], 0.5); }},
    {"relu", [](const Inputs& in) { return relu(in[0]); }},
    {"reshape",
     [](const Inputs& in) {
       return reshape(in[0], {8, -1});
     }},
    {"sigmoid", [](const Inputs& in) { return sigmoid(in[0]); }},
    {"slice", [](const Inputs& in) { return slice(in[0], 2, 1, 6, 2); }},
    {"softmax", [](const Inputs& in) { return softmax(in[0], 1); }},
    {"softmax_first", [](const Inputs& in) { return softmax(in[0], 0); }},
    {"sqrt", [](const Inputs& in) { return sqrt(in[0]); }},
    {"sub_column", [](const Inputs& in) { return in[0] - in[1]; }},
    {"sum", [](const Inputs& in) { return sum(in[0]); }},
    {"sum_axes",
     [](const Inputs& in) {
       return sum(in[0], {0, 2}, true);
     }},
    {"tanh", [](const Inputs& in) { return tanh(in[0]); }},
    {"transpose", [](const Inputs& in) { return transpose(in[0], 1, 3); }},
};

class GoldenType : public testing::TestWithParam<DType> {};

TEST_P(GoldenType, OpsAgree) {
  const GoldenFile file("ops.safetensors");
  std::set<std::string> names;
  for (const GoldenCase& op : kOpCases) {
    SCOPED_TRACE(op.name);
    names.insert(op.name);
    check_case(file, op, GetParam());
  }
  EXPECT_EQ(names, file.cases());
}

// The network of make_golden.py.
struct Cnn {
  std::map<std::string, Tensor> parameters;
  Array running_mean;
  Array running_var;

  const Tensor& at(const std::string& name) const { return parameters.at(name); }
  Tensor affine(const std::string& name, const Tensor& x) const {
    return linear(x, at(name + ".weight"), at(name + ".bias"));
  }

  Tensor forward(const Tensor& images) {
    Tensor x = relu(conv2d(images, at("conv1.weight"), at("conv1.bias")));
    x = conv2d(x, at("conv2.weight"), at("conv2.bias"), {.padding = {1, 1}});
    x = batch_norm(x, at("norm.weight"), at("norm.bias"), running_mean, running_var, {true});
    x = flatten(max_pool2d(relu(x), {}));
    x = relu(affine("fc1", x));
    return affine("fc2", layer_norm(x, 1, at("layer_norm.weight"), at("layer_norm.bias")));
  }
};

Cnn load_cnn(const GoldenFile& file, DType dtype) {
  Cnn cnn;
  for (const auto& [name, array] : file.arrays()) {
    if (name.rfind("parameter/", 0) != 0) continue;
    cnn.parameters.emplace(name.substr(10), Tensor(array.to(dtype).clone(), true));
  }
  cnn.running_mean = Array::zeros({6}, dtype);
  cnn.running_var = Array::full({6}, 1.0, dtype);
  return cnn;
}

TEST_P(GoldenType, CnnAgreesOverFiveSteps) {
  const DType dtype = GetParam();
  const GoldenFile file("cnn.safetensors");
  Cnn cnn = load_cnn(file, dtype);
  const Tensor x(file.get("x").to(dtype));
  const Array losses = file.get("losses");
  for (int step = 0; step < 5; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const Tensor logits = cnn.forward(x);
    const Tensor loss = cross_entropy(logits, file.get("targets"));
    EXPECT_NEAR(loss.item(), losses.select(0, step).item(), tolerance_of(dtype));
    backward(loss);
    if (step == 0) {
      expect_close(logits.array(), file.get("logits"), tolerance_of(dtype));
      expect_close(cnn.running_mean, file.get("running_mean"), tolerance_of(dtype));
      expect_close(cnn.running_var, file.get("running_var"), tolerance_of(dtype));
    }
    for (auto& [name, parameter] : cnn.parameters) {
      SCOPED_TRACE(name);
      if (step == 0) {
        expect_close(parameter.grad(), file.get("gradient/" + name), tolerance_of(dtype));
      }
      const NoGrad no_grad;
      const Tensor next = parameter.detach() - Tensor(parameter.grad()) * 0.1;
      parameter = Tensor(next.array(), true);
    }
  }
}

std::string type_name(const testing::TestParamInfo<DType>& entry) {
  return std::string(to_string(entry.param));
}

INSTANTIATE_TEST_SUITE_P(Types, GoldenType, testing::Values(DType::kF32, DType::kF64), type_name);

OptimizerOptions sgd(double momentum) {
  OptimizerOptions options;
  options.name = "sgd";
  options.learning_rate = 0.1;
  options.momentum = momentum;
  return options;
}

OptimizerOptions adam(const char* name) {
  OptimizerOptions options;
  options.name = name;
  options.learning_rate = 0.01;
  return options;
}

std::map<std::string, OptimizerOptions> optimizer_cases() {
  std::map<std::string, OptimizerOptions> cases = {{"sgd", sgd(0)},
                                                   {"sgd_momentum", sgd(0.9)},
                                                   {"sgd_dampening", sgd(0.9)},
                                                   {"sgd_nesterov", sgd(0.9)},
                                                   {"sgd_decay", sgd(0.9)},
                                                   {"adam", adam("adam")},
                                                   {"adam_decay", adam("adam")},
                                                   {"adamw", adam("adamw")}};
  cases["sgd_dampening"].dampening = 0.5;
  cases["sgd_nesterov"].nesterov = true;
  cases["sgd_decay"].nesterov = true;
  cases["sgd_decay"].weight_decay = 0.01;
  OptimizerOptions& decay = cases["adam_decay"];
  decay.beta1 = 0.8;
  decay.beta2 = 0.99;
  decay.epsilon = 1e-6;
  decay.weight_decay = 0.1;
  cases["adamw"].weight_decay = 0.1;
  return cases;
}

TEST(Golden, OptimizersAgreeOverFiveSteps) {
  const GoldenFile file("optimizers.safetensors");
  std::set<std::string> names = {"start", "gradients"};
  for (const auto& [name, options] : optimizer_cases()) {
    SCOPED_TRACE(name);
    names.insert(name);
    Layout layout;
    layout.add("a", {3, 5});
    layout.add("b", {9});
    ParameterArena arena(layout);
    const Array start = file.get("start");
    arena.parameter(0).copy_from(start.slice(0, 0, 15).reshape({3, 5}));
    arena.parameter(1).copy_from(start.slice(0, 15, 24));
    Result<std::unique_ptr<Optimizer>> optimizer = make_optimizer(options, arena);
    ASSERT_TRUE(optimizer.ok());
    for (int step = 0; step < 5; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      const Array gradient = file.get("gradients").select(0, step);
      arena.gradient(0).copy_from(gradient.slice(0, 0, 15).reshape({3, 5}));
      arena.gradient(1).copy_from(gradient.slice(0, 15, 24));
      optimizer.value()->step();
      const Array want = file.get(name).select(0, step);
      expect_close(arena.parameter(0), want.slice(0, 0, 15).reshape({3, 5}), 1e-6);
      expect_close(arena.parameter(1), want.slice(0, 15, 24), 1e-6);
    }
  }
  EXPECT_EQ(names, file.cases());
}

}  // namespace
}  // namespace weft::golden_test
