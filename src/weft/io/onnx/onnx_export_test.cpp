// The oracle of exported models is the importer, which ONNX's own tests check (tests/onnx); that
// the bytes are a model to others was checked with onnx.checker of ONNX 1.12.
#include "weft/io/onnx_export.h"

#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/op_trace.h"
#include "weft/base/rng.h"
#include "weft/io/onnx_import.h"
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/norm.h"
#include "weft/nn/recurrent.h"
#include "weft/nn/zoo.h"
#include "weft/op/in_place.h"
#include "weft/op/ops.h"

namespace weft::onnx_export_test {
namespace {

using testing::HasSubstr;

constexpr double kTolerance = 1e-5;

Array normal_values(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  Array values = Array::empty(shape);
  for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal());
  return values;
}

Array tokens(const Shape& shape, std::int64_t vocabulary, std::uint64_t seed) {
  Rng rng(seed);
  Array values = Array::empty(shape, DType::kI64);
  for (std::int64_t& value : values.flat<std::int64_t>()) {
    value = static_cast<std::int64_t>(rng.uniform() * static_cast<double>(vocabulary));
  }
  return values;
}

// Norms and biases that are not 1 and 0, so that a mixed-up one is seen.
void shake(Module& module) {
  std::uint64_t seed = 1000;
  for (const NamedValue& value : module.values()) {
    Array own = value.value;
    const Array noise = normal_values(own.shape(), ++seed);
    for (std::int64_t i = 0; i < own.size(); ++i) {
      own.data<float>()[i] += 0.1F * std::abs(noise.data<float>()[i]);
    }
  }
}

ModelOptions images(std::int64_t channels, std::int64_t side) {
  ModelOptions options;
  options.channels = channels;
  options.height = side;
  options.width = side;
  return options;
}

ModelOptions texts() {
  ModelOptions options;
  options.vocabulary = 40;
  options.context = 12;
  options.layers = 2;
  options.embedding_width = 32;
  options.hidden_units = 24;
  options.heads = 4;
  options.kv_heads = 2;
  return options;
}

ModelOptions options_for(const ModelDef& model) {
  if (model.input == ModelInput::kTokens) return texts();
  const bool is_residual = std::string_view(model.name).starts_with("resnet");
  return is_residual ? images(3, 32) : images(1, 28);
}

Array input_for(const ModelDef& model, const ModelOptions& options, std::int64_t rows,
                std::uint64_t seed) {
  if (model.input == ModelInput::kTokens) {
    return tokens({rows, options.context}, options.vocabulary, seed);
  }
  return normal_values({rows, options.channels, options.height, options.width}, seed);
}

TEST(OnnxExport, EveryModelOfTheZooGivesTheSameOutputsAgain) {
  for (const ModelDef* const def : model_table()) {
    const ModelOptions options = options_for(*def);
    const std::unique_ptr<Module> model = make_model(def->name, options).value();
    shake(*model);
    const Result<OnnxModel> onnx = export_onnx(*model, input_for(*def, options, 1, 1));
    ASSERT_TRUE(onnx.ok()) << def->name << ": " << onnx.status().message();
    EXPECT_TRUE(model->is_training()) << "the mode is put back";
    const Result<double> off = onnx_difference(*model, *onnx, input_for(*def, options, 4, 2));
    ASSERT_TRUE(off.ok()) << def->name << ": " << off.status().message();
    EXPECT_LT(*off, kTolerance) << def->name;
    EXPECT_EQ((*onnx->graph.inputs[0].shape)[0].name, "batch") << def->name;
    std::set<std::string> names;
    for (const OnnxTensor& tensor : onnx->graph.initializers) names.insert(tensor.name);
    for (const NamedValue& value : model->values()) {
      EXPECT_TRUE(names.contains(value.name)) << def->name << " lacks " << value.name;
    }
  }
}

TEST(OnnxExport, GivesTheSameBytesEachTime) {
  const std::unique_ptr<Module> model = make_model("lenet", images(1, 28)).value();
  const Array sample = normal_values({1, 1, 28, 28}, 3);
  EXPECT_EQ(onnx_bytes(export_onnx(*model, sample).value()),
            onnx_bytes(export_onnx(*model, sample).value()));
}

// A module of one function.
class Body : public Module {
 public:
  explicit Body(std::function<Tensor(const Tensor&)> body) : body_(std::move(body)) {}
  Tensor forward(const Tensor& x) override { return body_(x); }

 private:
  std::function<Tensor(const Tensor&)> body_;
};

double difference_of(Module& module, const Shape& shape) {
  Shape one = shape;
  one[0] = 1;
  const Result<OnnxModel> onnx = export_onnx(module, normal_values(one, 4));
  if (!onnx.ok()) ADD_FAILURE() << onnx.status().message();
  if (!onnx.ok()) return 1.0;
  const Result<double> off = onnx_difference(module, *onnx, normal_values(shape, 5));
  if (!off.ok()) ADD_FAILURE() << off.status().message();
  return off.ok() ? *off : 1.0;
}

double difference_of_body(std::function<Tensor(const Tensor&)> body, const Shape& shape) {
  Body module(std::move(body));
  return difference_of(module, shape);
}

TEST(OnnxExport, SaysActivationsAndArithmetic) {
  const std::vector<std::function<Tensor(const Tensor&)>> bodies = {
      [](const Tensor& x) { return gelu(x) + gelu(x, GeluForm::kTanh); },
      [](const Tensor& x) { return silu(x) * mish(x); },
      [](const Tensor& x) { return log_sigmoid(x) - softplus(x); },
      [](const Tensor& x) { return softsign(x) / (abs(x) + 1.0); },
      [](const Tensor& x) { return leaky_relu(x, 0.2) + elu(x, 1.5); },
      [](const Tensor& x) { return hardtanh(x, -0.5, 0.75) + clamp(x, -1, 0.1); },
      [](const Tensor& x) { return 2.0 / (exp(x) + 1.0) + log(square(x) + 0.5); },
      [](const Tensor& x) { return maximum(sin(x), cos(x)) + minimum(erf(x), sqrt(abs(x))); },
      [](const Tensor& x) { return pow(abs(x) + 0.1, 1.7) + floor(x) - ceil(neg(x)); },
      [](const Tensor& x) { return sigmoid(x) + tanh(x) * 3.0; },
      [](const Tensor& x) { return rsqrt(abs(x) + 1.0) - reciprocal(square(x) + 1.0); },
      [](const Tensor& x) { return sign(x) + round(x * 4.0) - relu(x); },
      [](const Tensor& x) { return softmax(x, 1) + log_softmax(x, -1); },
      [](const Tensor& x) { return mean(x, {2}, true) + sum(x, {1}, true); },
  };
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_LT(difference_of_body(bodies[i], {3, 4, 5}), kTolerance) << "body " << i;
  }
}

TEST(OnnxExport, SaysViewsWithAnOpenBatch) {
  const auto body = [](const Tensor& x) {
    const Tensor parts =
        concat({slice(x, 1, 1, 3), slice(x, 1, std::nullopt, std::nullopt, -2)}, 1);
    const Tensor turned = permute(parts, {0, 2, 1});
    return flatten(transpose(turned, 1, 2), 1) +
           expand(reshape(mean(x, {1, 2}), {-1, 1}), {x.dim(0), 20});
  };
  EXPECT_LT(difference_of_body(body, {3, 4, 5}), kTolerance);
}

TEST(OnnxExport, SaysPoolingsConvolutionsAndNorms) {
  Sequential layers;
  layers.add<Conv2d>("conv", Conv2dShape{.inputs = 4,
                                         .outputs = 6,
                                         .kernel = {3, 2},
                                         .stride = {2, 1},
                                         .padding = {1, 0},
                                         .groups = 2});
  layers.add<GroupNorm>("group", 3, 6);
  layers.add<InstanceNorm>("instance", 6);
  layers.add<AvgPool2d>("pool", 2);
  layers.initialize(1);
  shake(layers);
  EXPECT_LT(difference_of(layers, {2, 4, 9, 9}), kTolerance);
  const auto pools = [](const Tensor& x) {
    return adaptive_max_pool2d(x, {2, 2}) + adaptive_avg_pool2d(x, {2, 2}) +
           max_pool2d(x, {.kernel = {3, 3}, .stride = {3, 3}, .ceil_mode = true});
  };
  EXPECT_LT(difference_of_body(pools, {2, 3, 6, 6}), kTolerance);
}

TEST(OnnxExport, SaysRecurrentLayers) {
  const RecurrentShape shape{.inputs = 5, .width = 7, .layers = 2, .bidirectional = true};
  LSTM lstm_layers(shape);
  GRU gru_layers(shape);
  RNN rnn_layers(shape);
  for (Module* const layers :
       {static_cast<Module*>(&lstm_layers), static_cast<Module*>(&gru_layers),
        static_cast<Module*>(&rnn_layers)}) {
    layers->initialize(3);
    // The first axis is time; as the axis that stays open it is as good as any.
    EXPECT_LT(difference_of(*layers, {6, 1, 5}), kTolerance);
  }
}

TEST(OnnxExport, SaysChoicesComparisonsAndConstants) {
  const Array places = Array::from(std::vector<std::int64_t>{3, 0}, {2});
  const std::vector<std::function<Tensor(const Tensor&)>> bodies = {
      [](const Tensor& x) { return where(gt(x, 0.25), x, neg(x)) + masked_fill(x, lt(x, 0), 7.0); },
      [](const Tensor& x) {
        const Tensor both = logical_and(ge(x, -1.0), le(x, x * 0.5));
        const Tensor any = logical_or(eq(x, 0.0), logical_not(ne(x, 0.5)));
        return cast(logical_xor(both, any), DType::kF32) + x;
      },
      [](const Tensor& x) {
        return reshape(max(x, {2}), {-1, 4, 1}) - min(x, {1}, true);
      },
      [](const Tensor& x) {
        const std::vector<Tensor> parts = split(x, std::vector<std::int64_t>{1, 4}, 2);
        return concat({parts[1], parts[0]}, 2) + triu(x, 1) - tril(x, -1);
      },
      [&places](const Tensor& x) { return index_select(x, 1, places); },
      [](const Tensor& x) {
        const Tensor ramp = trace_constant(arange(0.0, 5.0));
        const Tensor rows = trace_constant(Tensor(Array::full({x.dim(0), 4, 5}, 3.0)));
        return x * ramp + rows;
      },
      [](const Tensor& x) {
        const Tensor first = trace_constant(Tensor(Array::full({1, 1, 5}, 0.5)));
        return concat({expand(first, {x.dim(0), 1, 5}), x}, 1);
      },
  };
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_LT(difference_of_body(bodies[i], {3, 4, 5}), kTolerance) << "body " << i;
  }
}

TEST(OnnxExport, SaysWritesOfWholeTensors) {
  const auto body = [](const Tensor& x) {
    Tensor y = x * 2.0;
    const Tensor before = relu(y);
    add_(y, x, -0.5);
    mul_(y, before);
    div_(y, 3.0);
    add_(y, 1.0);
    Tensor z = y + 0.0;
    copy_(z, mean(y, {1}, true));
    return z + y;
  };
  EXPECT_LT(difference_of_body(body, {3, 4}), kTolerance);
}

TEST(OnnxExport, SaysComputationsOfSeveralInputsAndOutputs) {
  Array weight = normal_values({4, 4}, 7);
  OnnxComputation computation;
  computation.run = [&](std::span<const Array> in) {
    const Tensor y = matmul(Tensor(in[0]), Tensor(weight));
    return std::vector<Array>{(y + Tensor(in[1])).array(), sum(y, {1}).array()};
  };
  computation.values = {{"w", ParameterKind::kWeight, weight}};
  const std::vector<Array> samples = {normal_values({1, 4}, 8), normal_values({1, 1}, 9)};
  OnnxSignature signature{.inputs = {"a", "b"}, .outputs = {"y", "s"}};
  const OnnxModel onnx = export_onnx(computation, samples, signature).value();
  EXPECT_EQ(onnx.graph.initializers.at(0).name, "w");
  const OnnxProgram program = OnnxProgram::make(parse_onnx(onnx_bytes(onnx)).value()).value();
  const std::vector<Array> given = {normal_values({5, 4}, 10), normal_values({5, 1}, 11)};
  const std::vector<Array> got = program.run(given).value();
  const std::vector<Array> want = computation.run(given);
  ASSERT_EQ(got.size(), 2U);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].shape(), want[i].shape());
    for (std::int64_t j = 0; j < got[i].size(); ++j) {
      EXPECT_NEAR(got[i].data<float>()[j], want[i].data<float>()[j], 1e-5);
    }
  }
  signature.has_batch = false;
  const OnnxModel fixed = export_onnx(computation, samples, signature).value();
  EXPECT_EQ((*fixed.graph.inputs[0].shape)[0].size, 1);
  signature.outputs = {"y"};
  EXPECT_THAT(export_onnx(computation, samples, signature).status().message(),
              HasSubstr("expected 1 outputs, got 2"));
  signature.outputs = {"y", "a"};
  EXPECT_THAT(export_onnx(computation, samples, signature).status().message(),
              HasSubstr("names of inputs and outputs that differ"));
  EXPECT_THAT(export_onnx(computation, {samples.data(), 1}, signature).status().message(),
              HasSubstr("a sample for each of 2 inputs"));
}

TEST(OnnxExport, RefusesWhatShowsMemoryThatWasWrittenInPart) {
  const auto refused = [](std::function<Tensor(const Tensor&)> body) {
    Body module(std::move(body));
    return export_onnx(module, normal_values({1, 4}, 6)).status().message();
  };
  EXPECT_THAT(refused([](const Tensor& x) {
                Tensor y = x * 2.0;
                write_part_(y, y.array().slice(1, 0, 2), slice(x, 1, 2, 4));
                return y + 1.0;
              }),
              HasSubstr("written in part"));
  EXPECT_THAT(refused([](const Tensor& x) {
                Tensor y = x * 2.0;
                const Tensor view = slice(y, 1, 0, 2);
                add_(y, 1.0);
                return view + 1.0;
              }),
              HasSubstr("another view"));
}

TEST(OnnxExport, RefusesWhatItCannotSay) {
  const auto refused = [](std::function<Tensor(const Tensor&)> body) {
    Body module(std::move(body));
    return export_onnx(module, normal_values({1, 4}, 6)).status().message();
  };
  EXPECT_THAT(refused([](const Tensor& x) { return cumsum(x, 1); }),
              HasSubstr("docs/onnx.md), got \"cumsum\""));
  EXPECT_THAT(refused([](const Tensor& x) { return Tensor(x.array().clone()) + x; }),
              HasSubstr("computed otherwise"));
  EXPECT_THAT(refused([](const Tensor& x) { return matmul(x, x); }), HasSubstr("matmul"));
  Body module([](const Tensor& x) { return x; });
  EXPECT_THAT(export_onnx(module, Array::zeros({0, 4})).status().message(),
              HasSubstr("expected a sample [N, ...]"));
}

TEST(OnnxExport, FindsAModelThatDecidesFromValues) {
  Body module([](const Tensor& x) { return x.array().data<float>()[0] > 0 ? x + 1.0 : x * 2.0; });
  const OnnxModel onnx = export_onnx(module, Array::full({1, 4}, 1.0)).value();
  EXPECT_LT(onnx_difference(module, onnx, Array::full({3, 4}, 2.0)).value(), kTolerance);
  EXPECT_GT(onnx_difference(module, onnx, Array::full({3, 4}, -2.0)).value(), 0.1);
}

}  // namespace
}  // namespace weft::onnx_export_test
